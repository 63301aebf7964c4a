// Peak memory of training: MB of the process, less those before the net was made, and ms of a step. One net a process:
// bench_memory resnet50|mnist-cnn|lstm SIZE. bench/peers/memory_torch.py is the same in PyTorch.

#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "bench/measure.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

/// The peak of the process so far.
double peak_megabytes() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1024;
}

template <class Net>
void train(const std::string& name, const Shape& shape) {
  const double before = peak_megabytes();
  Net net;
  optim::SGD sgd(parameters(net), {.lr = 1e-3, .momentum = 0.9});
  auto step = jit([&](Tensor x, Tensor y) {
    const Tensor loss = cross_entropy(net(x), y);
    sgd.step(grad(loss, parameters(net)));
    return loss;
  });
  const Tensor x = normal(shape), y = zeros({shape[0]}, i64);
  eval(x, y);
  const double seconds = bench::wall([&] { step(x, y); }, 0.0, 1);
  bench::report(name, peak_megabytes() - before, "MB");
  bench::report(name, 1e3 * seconds, "ms");
}

struct Recurrent {
  nn::LSTM lstm{64, 64, {.batch_first = true}};
  Tensor operator()(Tensor x) { return mean(lstm(x).output, 1); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: bench_memory resnet50|mnist-cnn|lstm SIZE\n"), 2;
  const std::string net = argv[1];
  const std::int64_t size = std::atoll(argv[2]);
  const std::string name = net + "." + std::to_string(size);
  if (net == "resnet50") train<models::ResNet50>(name, {size, 3, 224, 224});
  if (net == "mnist-cnn") train<models::MnistCnn>(name, {size, 1, 28, 28});
  if (net == "lstm") train<Recurrent>(name, {16, size, 64});
}
