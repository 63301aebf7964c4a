// What a process waits for on a GPU: the device itself, the first training step (tracing, compiling, choosing algorithms), the steps
// until everything is captured, and the host's time per replayed step. Run it twice: $TEGULA_CACHE_DIR is cold, then warm.
// bench_start [batch [net]]: net is mnist-cnn (default) or mlp.

#include <cstring>

#include "bench/measure.h"
#include "tegula/models/mnist.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

double seconds() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Net>
void measure(std::int64_t batch) {
  const PrecisionScope arithmetic(Precision::tf32);
  const double begin = seconds();
  Net net;
  Tensor x = normal({batch, 1, 28, 28}), y = randint(0, 10, {batch});
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  const auto loss = [&] { return step(x, y).item(); };  // waits
  loss();
  bench::report("first step", seconds() - begin, "s");
  double last = seconds();
  for (int i = 0; i < 3; ++i) {
    loss();
    bench::report("step " + std::to_string(i + 2), (seconds() - last) * 1e3, "ms");
    last = seconds();
  }
  std::vector<double> host(256);
  for (double& time : host) {  // enqueued, not waited for: a step of the device is longer than one of the host
    const double at = seconds();
    step(x, y);
    time = seconds() - at;
  }
  default_device().synchronize();
  std::nth_element(host.begin(), host.begin() + 128, host.end());
  bench::report("host per replayed step", host[128] * 1e6, "us");
}

}  // namespace

int main(int argc, char** argv) {
  seconds();
  bench::choose_device();
  default_device().synchronize();
  bench::report("device", seconds(), "s");
  const std::int64_t batch = argc > 1 ? std::atoll(argv[1]) : 64;
  if (argc > 2 && std::strcmp(argv[2], "mlp") == 0) measure<models::MnistMlp>(batch);
  else measure<models::MnistCnn>(batch);
}
