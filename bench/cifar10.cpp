// CIFAR-10 by an airbench-style network, data on the device: wall time of the training and accuracy, for each run with another seed.
// bench_cifar10 DIR [epochs [runs]], DIR with the binary files; device in TEGULA_BENCH_DEVICE (cuda). bench/peers/cifar10_torch.py is
// the same in PyTorch.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "bench/measure.h"
#include "tegula/data/cifar.h"
#include "tegula/models/airbench.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

constexpr std::int64_t kSize = 32, kShift = 2, kPadded = kSize + 2 * kShift, kEvaluated = 2000;
constexpr double kMomentum = 0.85, kLossSmoothing = 0.2;
// Rates per example, as in the paper: for sums of losses, decoupled from the batch size.
constexpr double kRate = 11.5, kDecay = 0.0153, kBiasFactor = 64;

/// (N, 3, 32, 32), each channel of the training set with mean 0 and deviation 1.
Tensor normalised(const HostArray& images) {
  const Tensor mean = tensor({0.4914f, 0.4822f, 0.4465f}), deviation = tensor({0.2470f, 0.2435f, 0.2616f});
  return (from_array(images) - reshape(mean, {3, 1, 1})) / reshape(deviation, {3, 1, 1});
}

class Race {
 public:
  Race(const std::string& dir, std::int64_t epochs) : epochs_(epochs) {
    const auto [train, test] = data::cifar10(dir);
    count_ = train.size();
    batch_ = std::min<std::int64_t>(1024, count_);
    const Tensor images = normalised(train.images);
    net_.initialise(images.to_array());
    const PadWidth border{kShift, kShift}, none{0, 0};
    padded_ = flatten(pad(images, {none, none, border, border}, {.mode = PadMode::Reflect}));
    labels_ = from_array(train.labels);
    test_images_ = normalised(test.images);
    test_labels_ = from_array(test.labels);
    eval(padded_, labels_, test_images_, test_labels_);
    const double scale = 1024 * (1 + 1 / (1 - kMomentum));
    rate_ = kRate / scale;
    const double decay = kDecay * static_cast<double>(batch_) / scale;
    weights_ = std::make_unique<optim::SGD>(
        net_.weights(), optim::SGDOptions{.lr = rate_, .momentum = kMomentum, .weight_decay = decay / rate_, .nesterov = true});
    biases_ = std::make_unique<optim::SGD>(
        net_.biases(),
        optim::SGDOptions{
            .lr = rate_ * kBiasFactor, .momentum = kMomentum, .weight_decay = decay / (rate_ * kBiasFactor), .nesterov = true});
    for (const Parameters& list : {nn::state(net_), weights_->state(), biases_->state()}) {
      for (const Parameter& p : list) start_.emplace_back(p, p.read().to_array());
    }
  }

  struct Result {
    double seconds, accuracy;
  };
  Result run(std::uint64_t seed) {
    for (const auto& [parameter, value] : start_) parameter.assign(from_array(value));
    manual_seed(seed);
    done_ = 0;
    flips_ = uniform({count_}) < 0.5;
    train(net_);
    eval(flips_.read());
    default_device().synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t epoch = 0; epoch < epochs_; ++epoch) {
      order_ = permutation(count_);
      if (epoch > 0) flips_ = !flips_.read();
      for (std::int64_t i = 0; i < count_ / batch_; ++i) step_();
    }
    default_device().synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return {seconds, accuracy()};
  }

 private:
  /// The batch, flipped and shifted: one gather from the padded images.
  Tensor augmented(const Tensor& samples) {
    const Shape each{batch_, 1, 1, 1};
    const Tensor flip = reshape(take(flips_.read(), samples, 0), each);
    const Tensor down = randint(0, 2 * kShift + 1, each), right = randint(0, 2 * kShift + 1, each);
    const Tensor row = reshape(arange(kSize), {kSize, 1}) + down, column = arange(kSize);
    const Tensor at = where(flip, kSize - 1 - column, column) + right;
    const Tensor channel = reshape(samples, each) * 3 + reshape(arange(3), {3, 1, 1});
    return take(padded_, (channel * kPadded + row) * kPadded + at, 0);
  }

  Tensor step() {
    const std::int64_t per_epoch = count_ / batch_;
    const Tensor n = done_.read();
    done_ = n + 1;
    const Tensor progress = cast(n, f64) / static_cast<double>(per_epoch * epochs_);
    const double start = 0.2, end = 0.07, peak = 0.23;  // a triangle
    const Tensor factor = where(progress < peak, start + (1 - start) / peak * progress, 1 + (end - 1) / (1 - peak) * (progress - peak));
    weights_->lr = rate_ * factor;
    biases_->lr = rate_ * kBiasFactor * factor;
    const Tensor samples = take(order_.read(), remainder(n, per_epoch) * batch_ + arange(batch_), 0);
    const Tensor x = augmented(samples);
    const Tensor loss = cross_entropy(cast(net_(x), f32), take(labels_, samples, 0), {.label_smoothing = kLossSmoothing}) * batch_;
    Parameters all = weights_->parameters();
    const std::size_t split = all.size();
    all.insert(all.end(), biases_->parameters().begin(), biases_->parameters().end());
    const std::vector<Tensor> gradients = grad(loss, all);
    weights_->step({gradients.begin(), gradients.begin() + static_cast<std::ptrdiff_t>(split)});
    biases_->step({gradients.begin() + static_cast<std::ptrdiff_t>(split), gradients.end()});
    return loss;
  }

  double accuracy() {
    eval(net_);
    std::int64_t right = 0;
    const std::int64_t images = test_labels_.shape()[0];
    for (std::int64_t i = 0; i < images; i += kEvaluated) {
      const std::int64_t end = std::min(i + kEvaluated, images);
      const Tensor guess = predict_(slice(test_images_, 0, Slice{.begin = i, .end = end}));
      right += sum(cast(guess == slice(test_labels_, 0, Slice{.begin = i, .end = end}), i64)).item<std::int64_t>();
    }
    return static_cast<double>(right) / static_cast<double>(images);
  }

  models::Airbench net_;
  std::int64_t epochs_, count_ = 0, batch_ = 0;
  Tensor padded_, labels_, test_images_, test_labels_;
  Variable order_, flips_, done_{Tensor(0)};
  std::vector<std::pair<Parameter, HostArray>> start_;
  double rate_ = 0;
  std::unique_ptr<optim::SGD> weights_, biases_;
  Jit<std::function<Tensor()>> step_ = jit(std::function<Tensor()>([this] { return step(); }));
  Jit<std::function<Tensor(Tensor)>> predict_ = jit(std::function<Tensor(Tensor)>([this](Tensor x) { return argmax(net_(x), 1); }));
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: bench_cifar10 DIR [epochs [runs]]\n");
    return 2;
  }
  bench::choose_device();
  const PrecisionScope arithmetic(Precision::bf16);
  const std::int64_t epochs = argc > 2 ? std::atoll(argv[2]) : 8, runs = argc > 3 ? std::atoll(argv[3]) : 3;
  Race race(argv[1], epochs);
  for (std::int64_t i = 0; i <= runs; ++i) {  // the first run compiles
    const auto [seconds, accuracy] = race.run(static_cast<std::uint64_t>(i));
    std::printf("%s %lld epochs: %8.3f s, accuracy %.4f\n", i == 0 ? "compiling," : "cifar10,  ", static_cast<long long>(epochs), seconds,
                accuracy);
    std::fflush(stdout);
  }
}
