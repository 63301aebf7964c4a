// The cost of joins and slices: training steps of nets that concatenate, as milliseconds of the processor (median of the runs) and steps of the plan.
// For before and after, build it in two trees and run them in turn, with OMP_NUM_THREADS=1. bench_joins [case [runs]]
// On $TEGULA_BENCH_DEVICE, if that is set, as wall time of replays; under $TEGULA_BENCH_PRECISION (fp32, tf32, bf16, …). TEGULA_BENCH_PLAN prints plans.
//
//   lstm   by hand: chunk of the gates, select of the inputs, T 32, B 32, H 128        lstm_long   the same, T 256, B 8, H 32
//   dense  a block of DenseNet: twelve layers, each reads the concatenation of all before (growth 12, 16 x 16, B 16)     dense_wide   growth 32
//   unet   two levels down and up again, skips joined along channels (32 x 32, B 8)
//   stack  64 results of a recurrence stacked

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "bench/support/gpu_times.h"
#include "bench/support/written_out_lstm.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

int g_runs = 21;

template <class Function>
void report(const char* name, Function function, const Tensor& x) {
  auto f = jit(function);
  const auto once = [&] {
    for (const Tensor& result : f(x)) eval(result);
  };
  for (int i = 0; i < 3; ++i) once();
  std::vector<double> times;
  for (int i = 0; i < g_runs; ++i) {
    if (default_device().traits().queues) {
      times.push_back(1e3 * bench::timed(bench::repeated(f, x)));
      continue;
    }
    const std::clock_t begin = std::clock();
    once();
    times.push_back(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(times);
  const std::string plan = f.print_plan();
  const auto lines = [&](const std::string& word) {
    int count = 0;
    for (auto at = plan.find(word); at != std::string::npos; at = plan.find(word, at + 1)) ++count;
    return count;
  };
  const auto arena = plan.rfind("arena ");
  std::printf("%-10s %9.3f ms  (least %.3f)  %5d steps, %d of them joins, %s", name, times[times.size() / 2], times[0],
              lines(". tile ") + lines(". call "), lines(". tile concat"), plan.substr(arena).c_str());
  std::fflush(stdout);
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", plan.c_str());
}

Tensor known(Tensor x) {
  eval(x);
  return x;
}

void lstm(const char* name, std::int64_t steps, std::int64_t batch, std::int64_t hidden) {
  const bench::WrittenOutLstm net{hidden};
  eval(net.in.read(), net.recurrent.read(), net.bias.read());
  report(
      name, [&](Tensor x) { return grad(net(x), std::vector<Wrt>{x, net.in, net.recurrent, net.bias}); },
      known(normal({batch, steps, hidden})));
}

Tensor convolved(const Tensor& x, const Variable& w) { return conv2d(x, w.read(), {.padding = {1}}); }

void dense(const char* name, std::int64_t growth) {
  constexpr std::int64_t layers = 12;
  const std::int64_t channels = 2 * growth;
  std::vector<Variable> weights;
  for (std::int64_t l = 0; l < layers; ++l) weights.emplace_back(known(normal({growth, channels + l * growth, 3, 3}) * 0.05));
  report(
      name,
      [&](Tensor x) {
        std::vector<Tensor> all{x};
        for (const Variable& w : weights) all.push_back(convolved(relu(concat(all, 1)), w));
        return grad(mean(tegula::square(concat(all, 1))), std::vector<Wrt>(weights.begin(), weights.end()));
      },
      known(normal({16, channels, 16, 16})));
}

void unet() {
  constexpr std::int64_t width = 16;
  const auto weight = [](std::int64_t out, std::int64_t in) { return Variable(known(normal({out, in, 3, 3}) * 0.05)); };
  std::vector<Variable> w{weight(width, 4), weight(2 * width, width), weight(4 * width, 2 * width), weight(2 * width, 6 * width),
                          weight(width, 3 * width)};
  const auto up = [](const Tensor& x) { return repeat_interleave(repeat_interleave(x, 2, 2), 2, 3); };
  report(
      "unet",
      [&](Tensor x) {
        const Tensor a = relu(convolved(x, w[0])), b = relu(convolved(max_pool2d(a, 2), w[1])), c = relu(convolved(max_pool2d(b, 2), w[2]));
        const Tensor d = relu(convolved(concat({up(c), b}, 1), w[3])), e = convolved(concat({up(d), a}, 1), w[4]);
        return grad(mean(tegula::square(e)), std::vector<Wrt>(w.begin(), w.end()));
      },
      known(normal({8, 4, 32, 32})));
}

void stacked() {
  Variable w(known(normal({64, 256}))), square(known(normal({256, 256}) * 0.05));
  report(
      "stack",
      [&](Tensor x) {
        std::vector<Tensor> all;
        Tensor h = x;
        for (int t = 0; t < 64; ++t) {
          h = tanh(h * w.read() + matmul(h, square.read()));
          all.push_back(h);
        }
        const Tensor y = stack(all, 1);
        return grad(mean(y * y * y), std::vector<Wrt>{w, square});
      },
      known(normal({64, 256})));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  if (argc > 2) g_runs = std::atoi(argv[2]);
  if (std::getenv("TEGULA_BENCH_DEVICE")) bench::choose_device();
  const char* const precision = std::getenv("TEGULA_BENCH_PRECISION");
  const PrecisionScope arithmetic(precision_of(precision ? precision : "fp32").value());
  const auto wanted = [&](const char* name) { return only.empty() || only == name; };
  if (wanted("lstm")) lstm("lstm", 32, 32, 128);
  if (wanted("lstm_long")) lstm("lstm_long", 256, 8, 32);
  if (wanted("dense")) dense("dense", 12);
  if (wanted("dense_wide")) dense("dense_wide", 32);
  if (wanted("unet")) unet();
  if (wanted("stack")) stacked();
}
