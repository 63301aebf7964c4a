// The time of sequences, in processor seconds (of all threads together: other processes do not count): the lines that bench/peers/sequences_torch.py
// prints for "speed".

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/language_model.h"
#include "tegula/tegula.h"

namespace {

using namespace tegula;
/// Processor seconds of the fastest of some runs.
double fastest(int runs, const std::function<void()>& f) {
  f(), f(), f();
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t begin = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

void lstm() {
  nn::LSTM layer(256, 256, {.layers = 2});
  const Tensor x = normal({64, 32, 256});
  eval(x);
  auto step = jit([&](const Tensor& input) {
    std::vector<Wrt> all{input};
    for (const Parameter& p : parameters(layer)) all.emplace_back(p);
    return grad(sum(layer(input).output), all);
  });
  std::printf("LSTM 2x256 T64 B32 forward+backward: %.1f ms\n", 1e3 * fastest(15, [&] { step(x); }));
}

void gpt() {
  models::Gpt2 net({.vocabulary = 65, .width = 128, .layers = 4, .heads = 4, .context = 64});
  optim::AdamW adam(parameters(net), {.beta2 = 0.99, .weight_decay = 0.1});
  auto step = jit([&](const Tensor& x) {
    const Tensor loss = models::next_token_loss(net.hidden(x), net.wte.weight, x);
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  const Tensor x = randint(0, 65, {12, 64});
  eval(x);
  std::printf("GPT 4x128 T64 B12 step: %.1f ms\n", 1e3 * fastest(25, [&] { step(x).item(); }));
}

void decode() {
  models::Gpt2 net({.vocabulary = 65, .width = 384, .layers = 6, .heads = 6, .context = 256});
  eval(net);
  models::TextGenerator generate(net);
  const double seconds = fastest(3, [&] { generate(std::vector<std::int64_t>{0}, {.max_new_tokens = 201}); });
  std::printf("GPT 6x384 decoding, 200 tokens: %.0f tokens/s\n", 200 / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "lstm" || what.empty()) lstm();
  if (what == "gpt" || what.empty()) gpt();
  if (what == "decode" || what.empty()) decode();
}
