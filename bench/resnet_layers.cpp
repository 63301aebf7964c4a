// Convolution layers of ResNet-50 at batch 16, forward and backward (both gradients), against the sgemm rate.

#include "bench/measure.h"
#include "tegula/tegula.h"

using namespace tegula;

int main() {
  const double rate = bench::sgemm_rate();
  bench::report("sgemm.2048", rate / 1e9, "GFLOP/s");
  struct Layer {
    std::int64_t in, out, size, kernel;
    int stride;
  };
  for (const Layer& l : {Layer{3, 64, 224, 7, 2}, {64, 64, 56, 3, 1}, {64, 256, 56, 1, 1}, {128, 128, 28, 3, 1}, {256, 256, 14, 3, 1}, {512, 512, 7, 3, 1}}) {
    const int padding = static_cast<int>(l.kernel / 2);
    Tensor x = normal({16, l.in, l.size, l.size}), w = normal({l.out, l.in, l.kernel, l.kernel});
    const auto convolve = [&](Tensor x, Tensor w) { return conv2d(x, w, {.stride = l.stride, .padding = padding}); };
    Tensor g = normal(convolve(x, w).shape());
    eval(x, w, g);
    const double flops = 2.0 * static_cast<double>(g.numel() * l.in * l.kernel * l.kernel);
    const std::string name = "conv." + std::to_string(l.in) + "x" + std::to_string(l.size) + "." + std::to_string(l.out) + "." + std::to_string(l.kernel) +
                             "x" + std::to_string(l.kernel) + "s" + std::to_string(l.stride);
    auto forward = jit(convolve);
    double time = bench::wall([&] { forward(x, w); });
    bench::report(name + ".fwd", flops / time / 1e9, "GFLOP/s", flops / time / rate, "sgemm");
    auto backward = jit([&](Tensor x, Tensor w, Tensor g) { return vjp({convolve(x, w)}, {g}, {x, w}); });
    time = bench::wall([&] { backward(x, w, g); });
    bench::report(name + ".bwd", 2 * flops / time / 1e9, "GFLOP/s", 2 * flops / time / rate, "sgemm");
  }
}
