// tegula bench scaling: a training on more and more ranks of this machine, the cost of an exchange between them, and an extrapolation to many more.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "app/progress.h"
#include "tegula/compile/jit.h"
#include "tegula/core/buffer.h"
#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/exchange/exchange.h"
#include "tegula/dist/show/cost_model.h"
#include "tegula/dist/show/timeline.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/io/child.h"
#include "tegula/models/mnist.h"
#include "tegula/nn/module.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/data_parallel.h"

namespace tegula::app {
namespace {

using nlohmann::json;
using runtime::Timeline;
using runtime::TimelineEvent;

struct ScalingChoice : BenchChoice {
  std::vector<std::int64_t> ranks;
  std::int64_t batch = 64, per_host = 8;
  std::optional<double> latency, bandwidth;  // between hosts: µs, GB/s
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

double seconds_of(const TimelineEvent& exchange) { return static_cast<double>(exchange.end - exchange.met) * 1e-9; }

/// Seconds of all-reduces, from when all ranks have come, by their bytes.
json measure_exchanges(bool quick) {
  json out = json::array();
  for (std::int64_t count = 1; count <= (quick ? 1 << 18 : 1 << 21); count *= 8) {
    const dist::Collective what{dist::Kind::AllReduce, f32, {count}};
    std::vector<float> in(static_cast<std::size_t>(count), 1), sum(in.size());
    const auto scratch = allocate_host(dist::scratch_bytes(what, dist::world().size()));
    std::vector<double> times;
    Timeline timeline;
    const runtime::TimelineScope scope(&timeline);
    for (int i = 0; i < (quick ? 3 : 21); ++i)
      dist::carry_out(dist::world(), what, in.data(), sum.data(), scratch->data(), Line::current());
    for (const TimelineEvent& e : timeline.events()) times.push_back(seconds_of(e));
    out.push_back({{"bytes", 4 * count}, {"seconds", median(times)}});
  }
  return out;
}

/// The measurement of one rank; rank 0 prints it. Each has `batch` images a step.
void run_rank(const ScalingChoice& choice) {
  const dist::Group ranks = dist::world();
  manual_seed(1);
  models::MnistCnn net;
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  const dist::DataParallel parallel = dist::data_parallel(net);
  const Tensor x = normal({choice.batch, 1, 28, 28}), labels = randint(0, 10, {choice.batch});
  eval(x, labels);
  auto step = jit([&](const Tensor& images, const Tensor& targets) {
    const Tensor loss = cross_entropy(net(images), targets);
    adam.step(parallel.mean(grad(loss, parameters(net))));
    return loss;
  });
  const auto once = [&] {
    const std::int64_t begin = Timeline::now();
    step(x, labels).to_host();
    return static_cast<double>(Timeline::now() - begin) * 1e-9;
  };
  for (int i = 0; i < (choice.quick ? 2 : 10); ++i) once();
  std::vector<double> times;
  for (int i = 0; i < (choice.quick ? 3 : 100); ++i) times.push_back(once());
  Timeline timeline;
  {
    const runtime::TimelineScope scope(&timeline);
    for (int i = 0; i < (choice.quick ? 3 : 30); ++i) once();
  }
  const dist::Timelines all = dist::collect(timeline);
  json told{{"step", median(times)}, {"hidden", dist::share_hidden(all)}, {"bytes", 0}, {"exchange", 0.0}, {"messages", json::array()}};
  for (const dist::ExchangeRow& row : dist::exchange_rows(all)) {
    told["bytes"] = told["bytes"].get<std::int64_t>() + row.bytes;
    told["exchange"] = told["exchange"].get<double>() + row.seconds;
  }
  if (ranks.size() > 1) told["messages"] = measure_exchanges(choice.quick);
  if (ranks.rank() == 0) std::printf("%s\n", told.dump().c_str());
}

json run_ranks(const ScalingChoice& choice, std::int64_t ranks, int threads) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words{"env",
                                 "OMP_NUM_THREADS=" + std::to_string(threads),
                                 program,
                                 "launch",
                                 "-n",
                                 std::to_string(ranks),
                                 program,
                                 "bench",
                                 "scaling",
                                 "--batch",
                                 std::to_string(choice.batch)};
  if (choice.quick) words.emplace_back("--quick");
  const io::ChildResult result = io::run_child(words, {});
  const std::string text(reinterpret_cast<const char*>(result.output.data()), result.output.size());
  const json told = try_parse_json(text);
  if (result.exit_code != 0 || !told.is_object()) {
    throw Error(
        {.op = "tegula bench scaling",
         .got = std::to_string(ranks) + " ranks that ended with status " + std::to_string(result.exit_code) + ": " + result.messages,
         .expected = "their measurements"});
  }
  return told;
}

void run(ScalingChoice choice) {
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (choice.ranks.empty()) {
    for (std::int64_t n = 1; n <= std::max(2, processors) && n <= 64; n *= 2) choice.ranks.push_back(n);
  }
  const std::int64_t most = std::ranges::max(choice.ranks);
  const int threads = std::max(1, processors / static_cast<int>(most));
  Report report("scaling", {{"device", "device", 7},
                            {"ranks", "ranks", 6, 0},
                            {"seconds", "step ms", 10, 3, 1e3},
                            {"rate", "images/s", 10, 0},
                            {"efficiency", "efficiency %", 13, 1, 100},
                            {"exchange", "exchange ms", 12, 3, 1e3},
                            {"hidden", "hidden %", 9, 1, 100},
                            {"latency", "latency us", 11, 2, 1e6},
                            {"bandwidth", "GB/s", 8, 2, 1e-9}});
  report.note("work", "mnist-cnn, " + std::to_string(choice.batch) + " images a step and rank, " + std::to_string(threads) +
                          " threads each, " + std::to_string(processors) + " processors");
  if (most > processors) report.note("shared", "ranks share processors: steps are longer than they would be with one each");
  dist::ScalingCase simulated{.per_host = static_cast<int>(choice.per_host)};
  double alone = 0;
  for (const std::int64_t ranks : choice.ranks) {
    const json told = run_ranks(choice, ranks, threads);
    const double step = told.at("step");
    if (alone == 0) alone = step;
    double latency = NAN, rate = NAN;
    if (ranks > 1) {
      std::vector<dist::Measured> messages;
      for (const json& m : told.at("messages")) messages.push_back({m.at("bytes"), m.at("seconds")});
      const dist::LinkCost link = dist::fit_ring(messages, static_cast<int>(ranks));
      latency = link.latency, rate = link.bytes_per_second;
      if (ranks <= processors || simulated.bytes == 0)
        simulated = {alone, told.at("bytes"), told.at("hidden"), link, link, static_cast<int>(choice.per_host)};
    }
    report.add({"cpu", static_cast<double>(ranks), step, static_cast<double>(ranks * choice.batch) / step, alone / step,
                ranks > 1 ? told.at("exchange").get<double>() : NAN, ranks > 1 ? told.at("hidden").get<double>() : NAN, latency, rate});
  }
  if (simulated.bytes > 0) {
    if (choice.latency) simulated.between.latency = *choice.latency * 1e-6;
    if (choice.bandwidth) simulated.between.bytes_per_second = *choice.bandwidth * 1e9;
    std::printf("\n%s", dist::simulated_scaling(simulated).c_str());
  }
  finish(choice, report,
         {.title = "mnist-cnn, " + std::to_string(choice.batch) + " images a step and rank",
          .x_label = "ranks",
          .panels = {{.y_label = "images/s", .series = report.curves("ranks", "rate", {"device"}), .from_zero = true},
                     {.y_label = "ms a step", .series = report.curves("ranks", "seconds", {"device"}), .from_zero = true}},
          .x_scale = io::Scale::Log2});
}

}  // namespace

void add_bench_scaling(Command& bench) {
  auto choice = std::make_shared<ScalingChoice>();
  Command command = bench.command("scaling", "a training on 1, 2, 4 … ranks, what exchanges cost, and a simulation of more ranks");
  command.option("--ranks", choice->ranks, "how many, several may be given [1, 2, 4, … up to the processors]")
      .commas()
      .check(positive())
      .type("N");
  command.option("--batch", choice->batch, "images per step and rank").check(positive()).shows_default().type("N");
  command.option("--per-host", choice->per_host, "ranks of a host, in the simulation").check(positive()).shows_default().type("N");
  command.option("--latency", choice->latency, "of a message between hosts, in the simulation, in microseconds [as was measured here]")
      .check(positive_real())
      .type("US");
  command.option("--bandwidth", choice->bandwidth, "between hosts, in the simulation, in GB/s [as was measured here]")
      .check(positive_real())
      .type("X");
  add_options(command, *choice, WithPrecision::No);
  command.runs([choice] {
    if (std::getenv("TEGULA_LAUNCHED")) return run_rank(*choice);
    require_files(*choice);
    run(*choice);
  });
}

}  // namespace tegula::app
