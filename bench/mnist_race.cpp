// MNIST to 99 %: wall time of a whole training run with all data on the device, and the test accuracy, for several seeds. Compiling is
// over before the clock starts. bench_mnist_race DIR [batch [epochs [rate [precision [runs]]]]]; device in TEGULA_BENCH_DEVICE (cuda).

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/measure.h"
#include "tegula/data/mnist.h"
#include "tegula/models/mnist.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

Tensor standardised(const HostArray& images) { return (from_array(images) - 0.1307) / 0.3081; }

/// From a quarter of the rate to the whole at a fifth of the run, then linearly to nothing.
Tensor rate_at(const Tensor& progress, double rate) {
  const double peak = 0.2;
  return rate * where(progress < peak, 0.25 + 0.75 / peak * progress, (1 - progress) / (1 - peak));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: bench_mnist_race DIR [batch [epochs [rate [precision [runs]]]]]\n");
    return 2;
  }
  bench::choose_device();
  const std::int64_t batch = argc > 2 ? std::atoll(argv[2]) : 512;
  const double epochs = argc > 3 ? std::atof(argv[3]) : 2, rate = argc > 4 ? std::atof(argv[4]) : 4e-3;
  const PrecisionScope arithmetic(precision_of(argc > 5 ? argv[5] : "tf32").value_or(Precision::tf32));
  const int runs = argc > 6 ? std::atoi(argv[6]) : 5;

  const auto [train_set, test_set] = data::mnist(argv[1]);
  const Tensor images = standardised(train_set.images), labels = from_array(train_set.labels);
  const Tensor test_images = standardised(test_set.images), test_labels = from_array(test_set.labels);
  eval(images, labels, test_images, test_labels);
  const std::int64_t count = train_set.size(), per_epoch = count / batch;
  const auto steps = static_cast<std::int64_t>(epochs * static_cast<double>(per_epoch));

  const models::Options options{.batch_norm = std::getenv("BN") != nullptr};
  models::MnistCnn net{options};
  auto adam = optim::Adam(parameters(net), {.lr = rate});
  Variable order(arange(count)), done(Tensor(0));
  std::vector<std::pair<Parameter, HostArray>> start;
  for (const Parameter& p : adam.state()) start.emplace_back(p, p.read().to_array());
  auto step = jit([&] {
    const Tensor n = done.read();
    done = n + 1;
    adam.lr = rate_at(cast(n, f64) / static_cast<double>(steps), rate);
    const Tensor samples = take(order.read(), remainder(n, per_epoch) * batch + arange(batch), 0);
    const Tensor loss = cross_entropy(net(take(images, samples, 0)), take(labels, samples, 0), {.label_smoothing = 0.1});
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  auto right = jit([&](Tensor x, Tensor y) { return sum(cast(argmax(net(x), 1) == y, i64)); });

  for (int run = 0; run <= runs; ++run) {
    manual_seed(static_cast<std::uint64_t>(run));
    const models::MnistCnn fresh{options};
    const Parameters from = nn::state(fresh), to = nn::state(net);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].assign(from[i].read());
    for (const auto& [parameter, value] : start) parameter.assign(from_array(value));
    done = 0;
    train(net);
    for (const Parameter& p : to) eval(p.read());
    default_device().synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) {
      if (i % per_epoch == 0) order = permutation(count);
      step();
    }
    default_device().synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    eval(net);
    std::int64_t correct = 0;
    for (std::int64_t i = 0; i < test_set.size(); i += 2000) {
      correct += right(slice(test_images, 0, Slice{.begin = i, .end = i + 2000}), slice(test_labels, 0, Slice{.begin = i, .end = i + 2000}))
                     .item<std::int64_t>();
    }
    std::printf("%s batch %lld, %lld steps: %8.1f ms, accuracy %.4f\n", run == 0 ? "compiling," : "mnist,    ",
                static_cast<long long>(batch), static_cast<long long>(steps), seconds * 1e3,
                static_cast<double>(correct) / static_cast<double>(test_set.size()));
    std::fflush(stdout);
  }
}
