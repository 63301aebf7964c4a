// Work that is bound by memory: a chain of elementwise ops, softmax, layer norm, cross-entropy; as shares of the copy bandwidth.

#include "bench/measure.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

Tensor chain(Tensor x) { return clamp(tanh(sqrt(abs(x * 1.1 + 0.3)) * x - 0.5), -0.9, 0.9) * 2.0 + x; }
Tensor cheap(Tensor x) { return clamp(maximum(abs(x * 1.1 + 0.3), x) * x - 0.5, -0.9, 0.9) * 2.0 + x; }

double copy_bandwidth;

template <class F>
void measure(const std::string& name, double bytes, F f) {
  const double rate = bytes / bench::wall([&] { f(); });
  bench::report(name, rate / 1e9, "GB/s", rate / copy_bandwidth, "copy");
}

void rows(std::int64_t count, std::int64_t length) {
  const std::string shape = std::to_string(count) + "x" + std::to_string(length);
  Tensor x = normal({count, length}), g = normal({count, length}), y = randint(0, length, {count});
  eval(x, g, y);
  const double bytes = 2.0 * 4 * static_cast<double>(count * length);
  auto soft = jit([](Tensor x) { return softmax(x, -1); });
  measure("softmax." + shape, bytes, [&] { soft(x); });
  auto norm = jit([&](Tensor x) { return layer_norm(x, {length}); });
  measure("layernorm." + shape, bytes, [&] { norm(x); });
  auto norm_backward = jit([&](Tensor x, Tensor g) { return vjp({layer_norm(x, {length})}, {g}, {x})[0]; });
  measure("layernorm.bwd." + shape, 1.5 * bytes, [&] { norm_backward(x, g); });
  auto loss = jit([](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(x, y);
    return std::pair(loss, grad(loss, x));
  });
  measure("cross_entropy.fwdbwd." + shape, bytes, [&] { loss(x, y); });
}

}  // namespace

int main(int argc, char** argv) {
  copy_bandwidth = bench::copy_rate();
  bench::report("copy.512MiB", copy_bandwidth / 1e9, "GB/s");
  for (const int megabytes : {1, 128}) {
    const std::string size = std::to_string(megabytes) + "MiB";
    Tensor x = normal({std::int64_t{megabytes} << 18});
    eval(x);
    const double bytes = 2.0 * static_cast<double>(megabytes) * (1 << 20);
    auto nine = jit(chain);
    if (bench::selected(argc, argv, "chain9." + size)) measure("chain9." + size, bytes, [&] { nine(x); });
    auto nine_cheap = jit(cheap);
    if (bench::selected(argc, argv, "cheap9." + size)) measure("cheap9." + size, bytes, [&] { nine_cheap(x); });
  }
  if (bench::selected(argc, argv, "rows")) {
    rows(8192, 1024);
    rows(512, 32768);
    rows(131072, 64);
  }
}
