// Convolution layers of ResNet-50 at batch 16, forward and backward (both gradients), against the sgemm rate. Activations stay in one
// layout from the arguments to the results, as they do inside a network; each figure is that of the faster of the two layouts.

#include "bench/measure.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

struct Layer {
  std::int64_t in, out, size, kernel;
  int stride;
};

/// Seconds of forward and backward.
struct Times {
  double forward, backward;
};

Times measure(const Layer& l, bool channels_last) {
  const int padding = static_cast<int>(l.kernel / 2);
  // Tensors are row-major: a channels-last activation is one of shape (N, H, W, C) that the convolution sees permuted.
  const auto inside = [&](Tensor x) { return channels_last ? permute(x, {0, 3, 1, 2}) : x; };
  const auto outside = [&](Tensor x) { return channels_last ? permute(x, {0, 2, 3, 1}) : x; };
  const auto convolve = [&](Tensor x, Tensor w) { return outside(conv2d(inside(x), w, {.stride = l.stride, .padding = padding})); };
  Tensor x = channels_last ? normal({16, l.size, l.size, l.in}) : normal({16, l.in, l.size, l.size}),
         w = normal({l.out, l.in, l.kernel, l.kernel});
  Tensor g = normal(convolve(x, w).shape());
  eval(x, w, g);
  auto forward = jit(convolve);
  auto backward = jit([&](Tensor x, Tensor w, Tensor g) { return vjp({convolve(x, w)}, {g}, {x, w}); });
  return {bench::wall([&] { forward(x, w); }, 0.7), bench::wall([&] { backward(x, w, g); }, 0.7)};
}

}  // namespace

int main(int argc, char** argv) {
  const double rate = bench::sgemm_rate();
  bench::report("sgemm.2048", rate / 1e9, "GFLOP/s");
  for (const Layer& l : {Layer{3, 64, 224, 7, 2},
                         {64, 64, 56, 3, 1},
                         {64, 256, 56, 1, 1},
                         {128, 128, 28, 3, 1},
                         {256, 256, 14, 3, 1},
                         {512, 512, 7, 3, 1}}) {
    const std::string name = "conv." + std::to_string(l.in) + "x" + std::to_string(l.size) + "." + std::to_string(l.out) + "." +
                             std::to_string(l.kernel) + "x" + std::to_string(l.kernel) + "s" + std::to_string(l.stride);
    if (!bench::selected(argc, argv, name)) continue;
    const Times first = measure(l, false), last = measure(l, true);
    const std::int64_t out = (l.size - 1) / l.stride + 1;
    const double flops = 2.0 * static_cast<double>(16 * out * out * l.out * l.in * l.kernel * l.kernel);
    const auto report = [&](const std::string& pass, double operations, double a, double b) {
      const double time = std::min(a, b);
      bench::report(name + pass, operations / time / 1e9, "GFLOP/s", operations / time / rate,
                    a < b ? "sgemm, channels first" : "sgemm, channels last");
    };
    report(".fwd", flops, first.forward, last.forward);
    report(".bwd", 2 * flops, first.backward, last.backward);
  }
}
