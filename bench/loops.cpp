// Loops over time, one length a process: times of the first call, of a training step and of a loop's step, and memory. bench_loops BODY T, BODY one of
//   lstm      nn::LSTM: a scan of 4 nodes a step on a GPU (a product and a program, forward and backward)
//   stack     two LSTM layers in one body: 11 nodes a step
//   written   the LSTM of one layer written out by hand, step by step
//   last      the same, with only the last state read; scanned: nn::LSTM, with only the last state read
// TEGULA_LOOPS=steps keeps loops as calls on a GPU, =written writes all of them out. On $TEGULA_BENCH_DEVICE (cuda): 256 wide, batches of 64, tf32; on the CPU
// 64 wide, batches of 16. bench/peers/loops_torch.py is the same in PyTorch.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>

#include "bench/measure.h"
#include "bench/support/gpu_times.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

bool on_cpu() { return default_device().number() == 0; }

/// Time of all threads on the CPU, where other processes may run; time of the clock on a GPU.
double now() {
  if (on_cpu()) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// On the CPU the process's peak, on a GPU what its pool holds.
double megabytes() {
  if (!on_cpu()) {
    const auto all = default_device().memory();
    return static_cast<double>(all.bytes_in_use + all.bytes_cached) / 1e6;
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1024;
}

/// Two layers, whose steps one loop takes one after another.
struct Stack {
  std::int64_t width;
  nn::LSTMCell first{width, width}, second{width, width};

  Tensor operator()(const Tensor& x) const {
    const Tensor zero = zeros({x.size(1), x.size(2)});
    const Scanned all = scan(
        [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& in) {
          const auto one = first(in[0], {carry[0], carry[1]}), two = second(one.h, {carry[2], carry[3]});
          return Scanned{{one.h, one.c, two.h, two.c}, {two.h}};
        },
        {zero, zero, zero, zero}, {x});
    return all.ys[0];
  }
};

struct Layer {
  std::int64_t width;
  nn::LSTM lstm{width, width};
  Tensor operator()(const Tensor& x) const { return lstm(x).output; }
};

struct ByHand {
  std::int64_t width;
  nn::LSTMCell cell{width, width};
  Tensor operator()(const Tensor& x) const {
    nn::detail::CellState state{};
    std::vector<Tensor> all;
    for (std::int64_t t = 0; t < x.size(0); ++t) {
      state = cell(select(x, 0, t), {state.h, state.c});
      all.push_back(state.h);
    }
    return stack(all);
  }
};

/// The same of which only the last state is read.
struct LastByHand {
  std::int64_t width;
  nn::LSTMCell cell{width, width};
  Tensor operator()(const Tensor& x) const {
    nn::detail::CellState state{};
    for (std::int64_t t = 0; t < x.size(0); ++t) state = cell(select(x, 0, t), {state.h, state.c});
    return state.h;
  }
};
struct LastOfScan {
  std::int64_t width;
  nn::LSTM lstm{width, width};
  Tensor operator()(const Tensor& x) const { return lstm(x).h; }
};

/// A training step's nodes on a device that queues: the plan's steps, and those of loops as often as they run.
double nodes_of(const std::string& plan) {
  double nodes = 0;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    if (line.find('|') != std::string::npos || line.find(". ") == std::string::npos) continue;  // a loop's body, or no step
    long long times = 0, steps = 0;
    const auto loop = line.find("[");
    const bool is_loop = loop != std::string::npos && std::sscanf(line.c_str() + loop, "[%lld x %lld steps]", &times, &steps) == 2;
    nodes += is_loop ? static_cast<double>(times * steps) : 1;
  }
  return nodes;
}

template <class Net>
void train(const std::string& name, std::int64_t length) {
  const std::int64_t width = on_cpu() ? 64 : 256, batch = on_cpu() ? 16 : 64;
  const Tensor x = normal({length, batch, width});
  eval(x);
  Net net{width};
  optim::SGD sgd(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x) {
    const Tensor loss = mean(square(net(x)));
    sgd.step(grad(loss, parameters(net)));
    return loss;
  });
  const double before = megabytes();
  double begin = now();
  step(x).item();
  bench::report(name + ".first", now() - begin, "s");
  double seconds = 1e9;
  if (on_cpu()) {
    step(x).item();  // compares two traces
    for (int i = 0; i < 5; ++i) {
      begin = now();
      step(x).item();
      seconds = std::min(seconds, now() - begin);
    }
  } else {
    seconds = bench::timed(bench::repeated(step, x));
  }
  const auto steps = static_cast<double>(length);
  bench::report(name, 1e3 * seconds, "ms");
  bench::report(name + ".step", 1e6 * seconds / steps, "us");
  bench::report(name + ".nodes", nodes_of(step.print_plan()) / steps, "a step");
  bench::report(name + ".memory", megabytes() - before, "MB");
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", step.print_plan().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: bench_loops lstm|stack|written|last|scanned T\n"), 2;
  bench::choose_device();
  const PrecisionScope precision(on_cpu() ? Precision::fp32 : Precision::tf32);
  const std::string body = argv[1];
  const std::int64_t length = std::atoll(argv[2]);
  const char* loops = std::getenv("TEGULA_LOOPS");
  const std::string name = "loops." + body + (loops ? std::string(".") + loops : "") + ".t" + std::to_string(length);
  if (body == "lstm") train<Layer>(name, length);
  if (body == "stack") train<Stack>(name, length);
  if (body == "written") train<ByHand>(name, length);
  if (body == "last") train<LastByHand>(name, length);
  if (body == "scanned") train<LastOfScan>(name, length);
}
