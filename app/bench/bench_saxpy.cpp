// tegula bench saxpy: y = a x + y, which is nothing but traffic to memory.

#include <memory>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "app/progress.h"
#include "tegula/compile/jit.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/random.h"

namespace tegula::app {
namespace {

void run(const BenchChoice& choice) {
  Report report("saxpy", {{"device", "device", 7},
                          {"n", "n", 10, 0},
                          {"seconds", "time µs", 11, 2, 1e6},
                          {"bandwidth", "GB/s", 9, 1, 1e-9},
                          {"share", "% of copy", 9, 1, 100}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    // The limit is measured properly even where the experiment is not: against a wrong one every share is nonsense.
    const double copy =
        choice.quick ? runtime::copy_rate(*device, std::size_t{64} << 20, {.seconds = 0.1, .batches = 5}) : runtime::copy_rate(*device);
    report.note(device->name() + " copy", format("%.1f GB/s read and written", copy / 1e9));
    for (std::int64_t n = 1 << 10; n <= (choice.quick ? 1 << 12 : 1 << 26); n *= 4) {
      const Tensor x = uniform({n});
      Variable y = uniform({n});
      eval(x, y.read());
      auto saxpy = jit([&] { y = 0.5 * x + y; });
      const double seconds = runtime::measure(*device, [&] { saxpy(); }, choice.measuring()).median;
      const double rate = 3 * sizeof(float) * static_cast<double>(n) / seconds;  // x and y are read, y is written
      report.add({device->name(), static_cast<double>(n), seconds, rate, share_of(rate, copy)});
    }
  }
  finish(choice, report,
         {.title = "y = a x + y on n floats",
          .x_label = "n",
          .panels = {{.y_label = "GB/s, read and written",
                      .series = report.curves("n", "bandwidth", {"device"}),
                      .y_scale = io::Scale::Log10}},
          .x_scale = io::Scale::Log10});
}

}  // namespace

void add_bench_saxpy(Command& bench) {
  auto choice = std::make_shared<BenchChoice>();
  Command command = bench.command("saxpy", "memory bandwidth of y = a x + y against its length");
  add_options(command, *choice, WithPrecision::No);
  command.runs([choice] {
    require_files(*choice);
    run(*choice);
  });
}

}  // namespace tegula::app
