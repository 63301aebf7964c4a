// Repeated all-reduces of many sizes, and trainings whose gradients are reduced, on as many ranks as are started:
//   tegula launch --devices 0,1 bench_collectives [prefix…]        the GPUs' own engine, or turns of the host with TEGULA_ENGINE=sockets
//   TEGULA_BENCH_DEVICE=cpu tegula launch -n 2 bench_collectives   at a hundredth of the size
// Started alone, it trains on one rank: the figure that scaling is measured against. Figures of the peers: bench/peers, issue 21.
//   gpt2-medium.shardN   350 M parameters with ZeRO's stage 0 (data parallel) and 3: tokens a second, and the memory a step holds on rank 0's
//                        card; .checkpoint: layers are computed again
//   block.tensor.WIDTH   four blocks of GPT-2 whose heads and features the ranks share out, forward and backward; .steps: between them they share
//                        out the steps; .halves: the batch goes through in two parts

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/support/gpu_times.h"
#include "tegula/dist.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/language_model.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

bool small;  // on the CPU
int count;
char** names;

using bench::repeated;
using bench::Runs;

bool wanted(const std::string& name) { return bench::selected(count, names, name); }

void report(const std::string& name, double value, const std::string& unit) {
  if (dist::world().rank() == 0) bench::report(name, value, unit);
}

/// Seconds of a run: the median of five series, whose length is rank 0's to say, since all ranks have to run as often.
double timed_together(const Runs& run) {
  using Clock = std::chrono::steady_clock;
  Device& device = default_device();
  const auto series = [&](int times) {
    device.synchronize();
    dist::barrier();
    const auto begin = Clock::now();
    run(times);
    device.synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count() / times;
  };
  for (int i = 0; i < 4; ++i) run(1);
  const double one = dist::broadcast(full({1}, series(3), f64)).to_host<double>()[0];
  const int times = std::clamp(static_cast<int>(0.1 / std::max(one, 1e-7)), 1, 2000);
  run(times);  // recorded
  std::vector<double> all;
  for (int i = 0; i < 5; ++i) all.push_back(series(times));
  std::ranges::sort(all);
  return all[2];
}

void all_reduces(DType dtype) {
  const int ranks = dist::world().size();
  for (std::int64_t bytes = 4 << 10; bytes <= (small ? std::int64_t{1} << 22 : std::int64_t{1} << 30); bytes *= bytes == 4 << 20 ? 16 : 4) {
    const std::string name = "all_reduce." + std::string(tegula::name(dtype)) + "." + std::to_string(bytes);
    if (!wanted(name) || ranks == 1) continue;
    constexpr int kChained = 4;
    auto step = jit([](Tensor x) {
      for (int i = 0; i < kChained; ++i) x = dist::all_reduce(x, dist::world(), dist::Reduction::Mean);
      return x;
    });
    const Tensor x = ones({bytes / static_cast<std::int64_t>(size_of(dtype))}, dtype);
    eval(x);
    const double seconds = timed_together(repeated(step, x)) / kChained;
    report(name, seconds * 1e6, "us");
    report(name + ".bus", static_cast<double>(bytes) / seconds * 2 * (ranks - 1) / ranks / 1e9, "GB/s");
  }
}

/// A training with the same batch on every rank's device as with one; `unit` a second, all ranks together.
template <class Net, class Optimizer, class LossOf>
void training(const std::string& name, Net& net, Optimizer& optimizer, LossOf loss_of, const Tensor& x, const Tensor& y, double each,
              const std::string& unit) {
  const dist::DataParallel parallel = dist::data_parallel(net);
  auto step = jit([&](Tensor x, Tensor y) {
    const Tensor loss = loss_of(x, y);
    optimizer.step(parallel.mean(grad(loss, parameters(net))));
    return loss;
  });
  eval(x, y);
  const double seconds = timed_together(repeated(step, x, y));
  const int ranks = dist::world().size();
  report(name + ".ranks" + std::to_string(ranks), each * ranks / seconds, unit);
  report(name + ".ranks" + std::to_string(ranks) + ".step", seconds * 1e6, "us");
}

void mnist_cnn() {
  if (!wanted("mnist-cnn.b64")) return;
  const PrecisionScope arithmetic(Precision::tf32);
  models::MnistCnn net;
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  training(
      "mnist-cnn.b64", net, adam, [&](const Tensor& x, const Tensor& y) { return cross_entropy(net(x), y); }, normal({64, 1, 28, 28}),
      randint(0, 10, {64}), 64, "img/s");
}

void gpt2(std::int64_t batch) {
  const std::string name = "gpt2.train.b" + std::to_string(batch);
  if (!wanted(name)) return;
  const PrecisionScope arithmetic(Precision::bf16);
  models::Gpt2Options options{.vocabulary = 50304};
  if (small) options = {.vocabulary = 300, .width = 64, .layers = 2, .heads = 2, .context = 64};
  models::Gpt2 net(options);
  const std::int64_t sequences = small ? 2 : batch, length = net.options().context;
  optim::AdamW adam(parameters(net), {.lr = 3e-4, .beta2 = 0.95, .weight_decay = 0.1});
  training(
      name, net, adam, [&](const Tensor& x, const Tensor& y) { return models::next_token_loss(net.hidden(x), net.wte.weight, y); },
      randint(0, net.options().vocabulary, {sequences, length}), randint(0, net.options().vocabulary, {sequences, length}),
      static_cast<double>(sequences * length), "tok/s");
}

void resnet50() {
  if (!wanted("resnet50.train.b256") || small) return;
  const PrecisionScope arithmetic(Precision::bf16);
  models::ResNet50 net;
  optim::SGD sgd(parameters(net), {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
  training(
      "resnet50.train.b256", net, sgd, [&](const Tensor& x, const Tensor& y) { return cross_entropy(cast(net(x), f32), y); },
      normal({256, 3, 224, 224}), randint(0, 1000, {256}), 256, "img/s");
}

/// MB in use on this rank's card, by all processes; 0 where there is none.
double megabytes_on_card() {
  auto* const card = default_device().communicates();
  if (!card || small) return 0;
  std::FILE* const asked =
      ::popen(("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i " + card->identity()).c_str(), "r");
  if (!asked) return 0;
  double megabytes = 0;
  if (std::fscanf(asked, "%lf", &megabytes) != 1) megabytes = 0;
  ::pclose(asked);
  return megabytes;
}

/// `checkpoint`: layers are computed again in the backward pass, so that the state is most of the memory. The engine's own memory is
/// allocated before.
void sharded(int shard, std::int64_t batch, bool checkpoint) {
  const std::string name = "gpt2-medium.shard" + std::to_string(shard) + ".b" + std::to_string(batch) + (checkpoint ? ".checkpoint" : "");
  if (!wanted(name) || dist::world().size() == 1) return;
  eval(dist::all_reduce(ones({1 << 20}), dist::world()));
  default_device().synchronize();
  const double before = megabytes_on_card();
  const PrecisionScope arithmetic(Precision::bf16);
  models::Gpt2Options options{.vocabulary = 50304, .width = 1024, .layers = 24, .heads = 16};
  if (small) options = {.vocabulary = 300, .width = 64, .layers = 2, .heads = 2, .context = 64};
  options.checkpoint_layers = checkpoint;
  models::Gpt2 net(options);
  const std::int64_t length = net.options().context;
  const dist::DataParallel parallel = dist::data_parallel(net, {.shard = shard});
  optim::AdamW adam(parallel.parameters(), {.lr = 3e-4, .beta2 = 0.95, .weight_decay = 0.1});
  auto step = jit([&](Tensor x, Tensor y) {
    const Tensor loss = models::next_token_loss(net.hidden(x), net.wte.weight, y);
    adam.step(parallel.mean(grad(loss, parallel.leaves())));
    parallel.publish();
    return loss;
  });
  const Tensor x = randint(0, net.options().vocabulary, {batch, length}), y = randint(0, net.options().vocabulary, {batch, length});
  eval(x, y);
  const int ranks = dist::world().size();
  const double seconds = timed_together([&](int times) {
    for (int i = 0; i < times; ++i) step(x, y);
  });
  report(name + ".ranks" + std::to_string(ranks), static_cast<double>(batch * length * ranks) / seconds, "tok/s");
  report(name + ".ranks" + std::to_string(ranks) + ".memory", megabytes_on_card() - before, "MB");
}

/// Four blocks alone: the time that halving a rank's products saves, less the time of the exchanges. With `halves` of the batch, one computes
/// while the other's sums travel.
void tensor_parallel(std::int64_t width, dist::Steps steps, int halves) {
  const std::string name =
      "block.tensor." + std::to_string(width) + (steps == dist::Steps::Shared ? ".steps" : "") + (halves > 1 ? ".halves" : "");
  if (!wanted(name)) return;
  const PrecisionScope arithmetic(Precision::bf16);
  const std::int64_t batch = small ? 4 : 16, length = small ? 32 : 1024, blocks = 4;
  models::Gpt2Options options{.vocabulary = 256,
                              .width = small ? 64 : width,
                              .layers = blocks,
                              .heads = small ? 2 : width / 64,
                              .context = length,
                              .residual = bf16};
  models::Gpt2 net(options);
  const int ranks = dist::world().size();
  dist::tensor_parallel(net, models::gpt2_plan(steps), {.step_axis = 0});  // samples are steps as good as any
  const Tensor x = cast(normal({steps == dist::Steps::Shared ? batch / ranks : batch, length, net.options().width}), bf16);
  const Parameters weights = parameters(net.h);
  auto step = jit([&](const Tensor& in) {
    std::vector<Tensor> parts = chunk(in, halves, 0);
    for (models::gpt2::Block& block : net.h) {
      for (Tensor& part : parts) part = block(part, nullptr, 0);
    }
    Tensor loss = sum(cast(parts[0], f32));
    for (int k = 1; k < halves; ++k) loss = loss + sum(cast(parts[static_cast<std::size_t>(k)], f32));
    std::vector<Tensor> results = grad(loss, weights);
    results.push_back(loss);
    return results;
  });
  eval(x);
  const double seconds = timed_together(repeated(step, x));
  report(name + ".ranks" + std::to_string(ranks), seconds * 1e6 / blocks, "us");
}

}  // namespace

int main(int argc, char** argv) {
  count = argc, names = argv;
  bench::choose_device();
  small = !default_device().traits().queues;
  for (const DType dtype : {f32, bf16}) bench::attempt("all_reduce", [&] { all_reduces(dtype); });
  bench::attempt("mnist-cnn", mnist_cnn);
  for (const std::int64_t batch : {32, 4}) bench::attempt("gpt2", [&] { gpt2(batch); });
  bench::attempt("resnet50", resnet50);
  for (const std::int64_t batch : {32, 8, 1}) {
    for (const int shard : {0, 3}) {
      for (const bool checkpoint : {false, true}) bench::attempt("gpt2-medium", [&] { sharded(shard, batch, checkpoint); });
    }
  }
  for (const std::int64_t width : {768, 1280, 2048, 4096}) {
    bench::attempt("block", [&] { tensor_parallel(width, dist::Steps::Whole, 1); });
    bench::attempt("block", [&] { tensor_parallel(width, dist::Steps::Whole, 2); });
    for (const int parts : {1, 2}) bench::attempt("block", [&] { tensor_parallel(width, dist::Steps::Shared, parts); });
  }
}
