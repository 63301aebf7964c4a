// The CPU's library calls, each as GFLOP/s and as a share of the rate of a 2048 x 2048 f32 product on the same threads in the same
// run. Best of repeated runs: other processes only make a run slower. Usage: bench_library [matmul] [cnn] [resnet] [pooling]

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tegula/core/buffer.h"
#include "tegula/cpu/calls/library.h"

namespace {

using namespace tegula;
using runtime::Convolution;
using runtime::ConvolutionPass;

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The best time of at least five runs and about 0.3 s.
double best_seconds(const std::function<void()>& f) {
  f();
  double best = 1e9, sum = 0;
  for (int run = 0; run < 5 || sum < 0.3; ++run) {
    const double t = seconds_of(f);
    best = std::min(best, t);
    sum += t;
  }
  return best;
}

Ref<Buffer> random_floats(std::int64_t count) {
  auto buffer = allocate_host(static_cast<std::size_t>(count) * 8);  // enough for f64 too
  auto* values = static_cast<float*>(buffer->data());
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return buffer;
}

double time_call(const runtime::Call& call, const std::vector<void*>& buffers, int threads) {
  const auto scratch = allocate_host(call.scratch_bytes() + 64);
  return best_seconds([&] { call.run(buffers, {.scratch = scratch->data(), .threads = threads}); });
}

double sgemm_rate = 0;

void report(const std::string& name, double flops, double seconds) {
  std::printf("%-50s %10.2f us %8.1f GFLOP/s %5.2f\n", name.c_str(), seconds * 1e6, flops / seconds / 1e9, flops / seconds / sgemm_rate);
  std::fflush(stdout);
}

double matmul_seconds(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed, DType dtype, int threads) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return Layout{{rows, columns}, transposed ? Strides{1, rows} : Strides{columns, 1}};
  };
  const auto a = random_floats(m * k), b = random_floats(k * n), c = random_floats(m * n);
  const auto call =
      host::make_matmul(runtime::Matmul::of(dtype, matrix(m, k, a_transposed), matrix(k, n, b_transposed), matrix(m, n, false)));
  return time_call(*call, {a->data(), b->data(), c->data()}, threads);
}

void matmuls(int threads) {
  const auto line = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, int count, DType dtype = f32) {
    const std::string text = "matmul " + std::string(name(dtype)) + " " + std::to_string(m) + "x" + std::to_string(n) + "x" +
                             std::to_string(k) + (ta ? " T" : " N") + (tb ? "T" : "N") + " threads " + std::to_string(count);
    report(text, 2.0 * static_cast<double>(m * n * k), matmul_seconds(m, n, k, ta, tb, dtype, count));
  };
  line(2048, 2048, 2048, false, false, threads, bf16);
  line(2048, 2048, 2048, false, false, threads, f16);
  line(1024, 1024, 1024, false, false, threads, f64);
  // An MLP 784-h-10 forward and backward: x·W, xᵀ·dy, dy·Wᵀ.
  for (const std::int64_t hidden : {16, 128}) {
    for (const std::int64_t batch : {1, 64, 1024}) {
      const int count = batch * hidden < 16384 ? 1 : threads;
      line(batch, hidden, 784, false, false, count);
      line(784, hidden, batch, true, false, count);
      line(batch, 10, hidden, false, false, 1);
      line(batch, hidden, 10, false, true, 1);
    }
  }
  for (const std::int64_t batch : {64, 1024}) {  // the CNN's first dense layer
    line(batch, 200, 1568, false, true, threads);
    line(batch, 1568, 200, false, false, threads);
    line(200, 1568, batch, true, false, threads);
  }
}

Layout activations(std::int64_t n, std::int64_t c, std::int64_t size, bool channels_last) {
  Layout layout = Layout::dense({n, c, size, size});
  if (channels_last) layout.strides = {c * size * size, 1, size * c, c};
  return layout;
}

struct Layer {
  std::int64_t c, size, k, kernel, stride, low;
};

/// Prints forward, backward-data and backward-weight in the layout that the library prefers; returns operations and seconds of all three.
std::pair<double, double> convolution(const Layer& l, std::int64_t n, int threads) {
  const std::int64_t out = (l.size + 2 * l.low - l.kernel) / l.stride + 1;
  Convolution d{.input = {f32, activations(n, l.c, l.size, false)},
                .weight = {f32, Layout::dense({l.k, l.c, l.kernel, l.kernel})},
                .output = {f32, activations(n, l.k, out, false)},
                .stride = {l.stride, l.stride},
                .dilation = {1, 1},
                .pad_low = {l.low, l.low},
                .pad_high = {l.low, l.low}};
  const bool last = host::convolution_prefers_channels_last(d);
  d.input.layout = activations(n, l.c, l.size, last), d.output.layout = activations(n, l.k, out, last);
  const auto x = random_floats(numel(d.input.layout.shape)), w = random_floats(numel(d.weight.layout.shape)),
             y = random_floats(numel(d.output.layout.shape));
  const double flops = 2.0 * static_cast<double>(numel(d.output.layout.shape) * l.c * l.kernel * l.kernel);
  double total = 0;
  for (const auto pass : {ConvolutionPass::Forward, ConvolutionPass::BackwardData, ConvolutionPass::BackwardWeight}) {
    d.pass = pass;
    const auto call = host::make_convolution(d);
    std::vector<void*> buffers{x->data(), w->data(), y->data()};
    if (pass == ConvolutionPass::BackwardData) buffers = {y->data(), w->data(), x->data()};
    if (pass == ConvolutionPass::BackwardWeight) buffers = {x->data(), y->data(), w->data()};
    const double seconds = time_call(*call, buffers, threads);
    total += seconds;
    report(call->describe() + (last ? " channels last" : ""), flops, seconds);
  }
  return {3 * flops, total};
}

void cnn(int threads) {
  for (const std::int64_t batch : {64, 1024}) {
    double flops = 0, seconds = 0;
    for (const Layer& layer : {Layer{1, 28, 12, 3, 1, 1}, Layer{12, 28, 24, 6, 2, 2}, Layer{24, 14, 32, 6, 2, 2}}) {
      const auto [f, s] = convolution(layer, batch, threads);
      flops += f, seconds += s;
    }
    report("all convolutions of mnist-cnn, batch " + std::to_string(batch), flops, seconds);
  }
}

void resnet(int threads) {
  for (const Layer& layer :
       {Layer{3, 224, 64, 7, 2, 3}, Layer{64, 56, 64, 3, 1, 1}, Layer{64, 56, 256, 1, 1, 0}, Layer{256, 56, 64, 1, 1, 0},
        Layer{128, 28, 128, 3, 1, 1}, Layer{256, 14, 256, 3, 1, 1}, Layer{512, 7, 512, 3, 1, 1}}) {
    convolution(layer, 16, threads);
  }
}

void pooling(int threads) {
  for (const bool last : {false, true}) {
    for (const bool backward : {false, true}) {
      runtime::Pooling d{.backward = backward,
                         .input = {f32, activations(16, 64, 112, last)},
                         .output = {f32, activations(16, 64, 56, last)},
                         .window = {3, 3},
                         .stride = {2, 2},
                         .dilation = {1, 1},
                         .pad_low = {1, 1},
                         .pad_high = {1, 1}};
      const auto x = random_floats(numel(d.input.layout.shape)), y = random_floats(numel(d.output.layout.shape)),
                 dx = random_floats(numel(d.input.layout.shape));
      const auto call = host::make_pooling(d);
      std::vector<void*> buffers{x->data(), y->data()};
      if (backward) buffers.push_back(dx->data());
      const double seconds = time_call(*call, buffers, threads);
      const double bytes = 4.0 * static_cast<double>(numel(d.input.layout.shape) * (backward ? 2 : 1) + numel(d.output.layout.shape));
      std::printf("%-70s %10.2f us %6.1f GB/s\n", (call->describe() + (last ? " channels last" : "")).c_str(), seconds * 1e6,
                  bytes / seconds / 1e9);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> sections(argv + 1, argv + argc);
  const auto want = [&](const char* section) { return sections.empty() || sections.contains(section); };
  const int threads = std::min(2, omp_get_max_threads());
  const double seconds = matmul_seconds(2048, 2048, 2048, false, false, f32, threads);
  sgemm_rate = 2.0 * 2048 * 2048 * 2048 / seconds;
  std::printf("%d threads; the last column is the share of the first line\n", threads);
  report("matmul f32 2048x2048x2048", 2.0 * 2048 * 2048 * 2048, seconds);
  if (want("matmul")) matmuls(threads);
  if (want("cnn")) cnn(threads);
  if (want("resnet")) resnet(threads);
  if (want("pooling")) pooling(threads);
}
