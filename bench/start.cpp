// The start of a process on a GPU: the device itself, the first training step (tracing, compiling, choosing algorithms), the steps
// until everything is captured, and the host's time per replayed step. Run it twice: $TEGULA_CACHE_DIR is cold, then warm.
// bench_start [batch [net [label]]]: net is mnist-cnn (default), mlp or resnet50, the label ends the names of the cases ("cold").

#include <string>

#include "bench/measure.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

double seconds() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// `images`: (N, C, H, W).
template <class Net>
void measure(const Shape& images, int classes, Precision precision, const std::string& at) {
  const PrecisionScope arithmetic(precision);
  const double begin = seconds();
  Net net;
  Tensor x = normal(images), y = randint(0, classes, {images[0]});
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(cast(net(x), f32), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  const auto loss = [&] { return step(x, y).item(); };  // waits
  loss();
  bench::report("first_step" + at, seconds() - begin, "s");
  double last = seconds();
  for (int i = 0; i < 3; ++i) {
    loss();
    bench::report("step_" + std::to_string(i + 2) + at, (seconds() - last) * 1e3, "ms");
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
  bench::report("host_per_step" + at, host[128] * 1e6, "us");
}

}  // namespace

int main(int argc, char** argv) {
  seconds();
  bench::choose_device();
  default_device().synchronize();
  bench::report("device_start", seconds(), "s");
  const std::int64_t batch = argc > 1 ? std::atoll(argv[1]) : 64;
  const std::string net = argc > 2 ? argv[2] : "mnist-cnn";
  const std::string at = "." + net + ".b" + std::to_string(batch) + (argc > 3 ? "." + std::string(argv[3]) : "");
  if (net == "resnet50") measure<models::ResNet50>({batch, 3, 224, 224}, 1000, Precision::bf16, at);
  else if (net == "mlp") measure<models::MnistMlp>({batch, 1, 28, 28}, 10, Precision::tf32, at);
  else measure<models::MnistCnn>({batch, 1, 28, 28}, 10, Precision::tf32, at);
}
