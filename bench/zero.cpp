// Peak memory of a rank with ZeRO's stages: MB of the process, less those before the net was made, while it trains a small GPT with Adam and two
// batches a step; and ms of a step. tegula launch -n 4 bench_zero STAGE; every rank has its own line.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench/measure.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/tegula.h"
#include "tegula/text.h"

using namespace tegula;

namespace {

constexpr std::int64_t kVocabulary = 512, kContext = 64;

/// "VmHWM", the peak, or "VmRSS", now; of the process.
double megabytes(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what + ":")) return std::atof(line.c_str() + what.size() + 1) / 1024;
  return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

data::ArrayDataset sentences(std::int64_t count) {
  HostArray tokens = HostArray::empty(i64, {count, kContext}), next = HostArray::empty(i64, {count, kContext});
  for (std::int64_t i = 0; i < count * kContext; ++i) {
    tokens.values<std::int64_t>()[static_cast<std::size_t>(i)] = i * i % kVocabulary;
    next.values<std::int64_t>()[static_cast<std::size_t>(i)] = (i + 1) * (i + 1) % kVocabulary;
  }
  return {tokens, next};
}

Tensor token_loss(const Tensor& scores, const Tensor& labels) { return cross_entropy(flatten(scores, 0, 1), flatten(labels)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: tegula launch -n RANKS bench_zero 0|1|2|3\n"), 2;
  const dist::Group ranks = dist::world();
  manual_seed(1);
  const data::ArrayDataset set = sentences(16 * ranks.size());
  const double before = megabytes("VmRSS");
  struct Net {
    models::Gpt2 gpt{{.vocabulary = kVocabulary, .width = 512, .layers = 8, .heads = 8, .context = kContext}};
    Tensor operator()(const Tensor& tokens) { return gpt(tokens); }
  } net;
  const double parameters_mb = 4e-6 * static_cast<double>(num_parameters(net));
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  Trainer trainer(net, adam, token_loss,
                  {.epochs = 2, .batch = 2 * ranks.size(), .accumulate = 2, .group = ranks, .shard = std::atoi(argv[1])});
  double peak = 0, seconds = 0;
  auto begin = std::chrono::steady_clock::now();
  trainer.on_step = [&](const StepReport& step) {
    if (step.epoch == 2 && step.batch == 2) {  // all is in its place
      trim_host_pool();
      forget_peak();
      begin = std::chrono::steady_clock::now();
    }
    if (step.epoch == 2 && step.batch == step.batches) {
      peak = megabytes("VmHWM") - before;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(step.batches / 2 - 1);
    }
    return Go::On;
  };
  trainer.fit(set);
  const auto all = dist::all_gather(tensor({static_cast<float>(peak), static_cast<float>(seconds)}, {1, 2}), ranks).to_host();
  if (ranks.rank() != 0) return 0;
  for (std::size_t r = 0; 2 * r < all.size(); ++r)
    bench::report("stage " + std::string(argv[1]) + ", rank " + std::to_string(r) + " of " + std::to_string(ranks.size()), all[2 * r],
                  "MB");
  bench::report("a step", 1e3 * all[1], "ms");
  bench::report("parameters", parameters_mb, "MB");
}
