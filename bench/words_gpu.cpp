// A GPU's work on words, under the names that the peers' script (sequences_h200.py: encoder, word2vec) gives the same: BERT-base's layers in training (bf16, AdamW)
// and inference (fp16), a step of word2vec. `bench_words_gpu [prefix…]`; on another device with TEGULA_BENCH_DEVICE (the CPU runs everything small). TEGULA_BENCH_PLAN=1 prints plans.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tegula/nn/sequences/transformer.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

bool small;
int count;
char** names;
bool wanted(const std::string& name) { return bench::selected(count, names, name); }

/// Median of five batches of `runs` steps, one after another in as few graphs as possible, in seconds a step.
double timed(const std::function<void(int)>& run, int runs) {
  using Clock = std::chrono::steady_clock;
  Device& device = default_device();
  run(1), run(1), run(runs), run(runs);
  device.synchronize();
  std::vector<double> times(5);
  for (double& time : times) {
    const auto begin = Clock::now();
    run(runs);
    device.synchronize();
    time = std::chrono::duration<double>(Clock::now() - begin).count() / runs;
  }
  std::ranges::nth_element(times, times.begin() + 2);
  return times[2];
}

template <class F>
void print_plan(Jit<F>& step) {
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s\n", step.print_plan().c_str());
}

void encoder(std::int64_t length, std::int64_t batch) {
  const std::string name = "bert_base.T" + std::to_string(length) + ".B" + std::to_string(batch);
  const std::int64_t width = small ? 32 : 768, layers = small ? 1 : 12, heads = small ? 2 : 12;
  if (small) length = 8, batch = 2;
  const nn::TransformerOptions options{
      .dim_feedforward = 4 * width, .dropout = 0, .activation = nn::FeedForwardActivation::Gelu, .batch_first = true};
  const Tensor x = normal({batch, length, width});
  eval(x);
  if (wanted(name + ".train.bf16")) {
    const PrecisionScope scope(Precision::bf16);
    nn::TransformerEncoder net(layers, width, heads, options);
    optim::AdamW adam(parameters(net), {.lr = 1e-3});
    auto step = jit([&](Tensor in) {
      const Tensor loss = mean(square(cast(net(in), f32)));
      adam.step(grad(loss, parameters(net)));
      return loss;
    });
    bench::report(name + ".train.bf16", 1e3 * timed([&](int times) { step.repeat(times, x); }, small ? 1 : 10), "ms");
    print_plan(step);
  }
  if (wanted(name + ".infer.fp16")) {
    const PrecisionScope scope(Precision::fp16);
    nn::TransformerEncoder net(layers, width, heads, options);
    eval(net);
    const Tensor half = cast(x, f16);
    eval(half);
    auto infer = jit([&](Tensor in) { return net(in); });
    bench::report(name + ".infer.fp16", 1e3 * timed([&](int times) { infer.repeat(times, half); }, small ? 1 : 20), "ms");
    print_plan(infer);
  }
}

/// Skip-gram with negative sampling: of each pair the centre's row, and those of the word that is there (the first) and five others. Only these rows change.
void word2vec() {
  const std::string name = "word2vec.skip_gram.V50000.d128.n5.B8192";
  if (!wanted(name)) return;
  const std::int64_t words = small ? 100 : 50000, size = small ? 8 : 128, batch = small ? 16 : 8192;
  constexpr std::int64_t kAsked = 6;
  constexpr double kRate = 0.025;
  Variable centres(uniform({words, size}, -0.5 / double(size), 0.5 / double(size))), contexts(zeros({words, size}));
  const Tensor centre = randint(0, words, {batch}), asked = randint(0, words, {batch, kAsked});
  eval(centre, asked);
  auto step = jit([&](Tensor at, Tensor others) {
    const Tensor x = unsqueeze(take(centres, at, 0), 1), y = take(contexts, others, 0);  // (B, 1, D), (B, 6, D)
    const Tensor label = cast(arange(kAsked) == 0, f32);  // (6)
    const Tensor error = unsqueeze((label - sigmoid(sum(x * y, -1))) * kRate, 2);  // (B, 6, 1)
    centres = index_add(centres, 0, at, sum(error * y, 1));
    contexts = index_add(contexts, 0, flatten(others), reshape(error * x, {batch * kAsked, size}));
  });
  const double seconds = timed([&](int times) { step.repeat(times, centre, asked); }, small ? 1 : 200);
  bench::report(name, static_cast<double>(batch) / seconds / 1e6, "M pairs/s");
  print_plan(step);
}

}  // namespace

int main(int argc, char** argv) {
  count = argc, names = argv;
  bench::choose_device();
  small = &default_device() == &cpu();
  word2vec();
  encoder(128, 64);
  encoder(512, 32);
}
