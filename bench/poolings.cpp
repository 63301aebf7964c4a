// Poolings of channels-last and row-major images on a GPU, forward and backward; medians of replays in microseconds, and the share of a copy's rate that their bytes are.
// TEGULA_TUNE=tiles takes tile programs (ops/products/pooling_tiles.h) where the device has calls. Usage: bench_poolings

#include <tegula/tegula.h>

#include <cstdio>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"

using namespace tegula;

namespace {

struct Problem {
  const char* name;
  std::int64_t batch, channels, size, window, stride, padding;
  DType dtype;
  bool channels_last, mean = false;
};
const Problem kProblems[] = {
    {"ResNet's, bf16", 64, 64, 112, 3, 2, 1, bf16, true},     {"ResNet's, f32", 64, 64, 112, 3, 2, 1, f32, true},
    {"VGG's, bf16", 64, 128, 112, 2, 2, 0, bf16, true},       {"VGG's, f32, rows", 64, 128, 112, 2, 2, 0, f32, false},
    {"MNIST's, f32, rows", 256, 32, 24, 2, 2, 0, f32, false}, {"Inception's, bf16", 64, 192, 35, 3, 1, 1, bf16, true},
    {"means, bf16", 64, 192, 35, 3, 1, 1, bf16, true, true},  {"means, f32, rows", 64, 64, 56, 2, 2, 0, f32, false, true}};

Tensor pooled(const Problem& p, const Tensor& x) {
  const Tensor images = p.channels_last ? permute(x, {0, 3, 1, 2}) : x;
  const Tensor y = p.mean ? avg_pool2d(images, p.window, {.stride = p.stride, .padding = p.padding})
                          : max_pool2d(images, p.window, {.stride = p.stride, .padding = p.padding});
  return p.channels_last ? permute(y, {0, 2, 3, 1}) : y;
}

void measure(const Problem& p) {
  const Shape shape = p.channels_last ? Shape{p.batch, p.size, p.size, p.channels} : Shape{p.batch, p.channels, p.size, p.size};
  const Tensor x = normal(shape, 0, 1, {.dtype = p.dtype}), y = pooled(p, x), dy = normal(y.shape(), 0, 1, {.dtype = p.dtype});
  const BenchOptions options{.warmup = 10, .rep = 40, .clear_cache = true};
  const auto time = [&](auto&& f, const std::vector<Tensor>& in) { return do_bench_cudagraph(f, in, options).median() * 1e3; };
  const double forward = time([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{pooled(p, in[0])}; }, {x});
  const double both = time(
      [&](const std::vector<Tensor>& in) {
        const Tensor out = pooled(p, in[0]);
        return std::vector<Tensor>{out, vjp({out}, {in[1]}, {in[0]})[0]};
      },
      {x, dy});
  const auto bytes = static_cast<double>(x.numel() + y.numel()) * static_cast<double>(size_of(p.dtype));
  std::printf("%-20s forward %8.1f us (%5.0f GB/s), and backward %8.1f us\n", p.name, forward, bytes / forward * 1e-3, both);
  std::fflush(stdout);
}

}  // namespace

int main() {
  bench::choose_device();
  for (const Problem& p : kProblems) measure(p);
}
