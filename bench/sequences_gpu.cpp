// Sequence models and words on the GPU, as bench/peers time them in PyTorch. `bench_sequences_gpu [prefix…]`; on another device with TEGULA_BENCH_DEVICE (the
// CPU runs everything at a hundredth of the size). TEGULA_BENCH_PLAN=1 prints the plans.

#include "bench/support/gpu_times.h"
#include "tegula/models/text/generate.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/language_model.h"

using namespace tegula;

namespace {

using bench::repeated;
using bench::timed;

bool small;  // a dry run on the CPU
int count;
char** names;

bool wanted(const std::string& name) { return bench::selected(count, names, name); }
std::int64_t scaled(std::int64_t n, std::int64_t by) { return small ? std::max<std::int64_t>(n / by, 1) : n; }

template <class F>
void print_plan(Jit<F>& step) {
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", step.print_plan().c_str());
}

/// Forward in operations; backward, two and a half times as many, from the time of both less that of the first.
void attention(std::int64_t width, std::int64_t length, bool causal) {
  const std::string at = std::string(causal ? ".causal" : ".full") + ".d" + std::to_string(width) + ".t" + std::to_string(length);
  if (!wanted("attention.forward" + at) && !wanted("attention.backward" + at)) return;
  const std::int64_t batch = std::max<std::int64_t>(1, 16384 / length), heads = scaled(2048 / width, 32), rows = scaled(length, 64);
  const auto drawn = [&] {
    const Tensor x = cast(normal({batch, heads, rows, width}), bf16);
    eval(x);
    return x;
  };
  const Tensor q = drawn(), k = drawn(), v = drawn(), dy = drawn();
  auto forward = jit([=](Tensor q, Tensor k, Tensor v) { return scaled_dot_product_attention(q, k, v, {.causal = causal}); });
  const double first = timed(repeated(forward, q, k, v));
  auto both = jit([=](Tensor q, Tensor k, Tensor v, Tensor dy) {
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal});
    std::vector<Tensor> all = vjp({y}, {dy}, {q, k, v});
    all.push_back(y);
    return all;
  });
  const double second = timed(repeated(both, q, k, v, dy)) - first;
  const double operations = 4.0 * static_cast<double>(batch * heads * rows * rows * width) * (causal ? 0.5 : 1);
  bench::report("attention.forward" + at, operations / first / 1e12, "TFLOP/s");
  bench::report("attention.backward" + at, 2.5 * operations / second / 1e12, "TFLOP/s");
  print_plan(both);
}

template <class Layer>
void recurrent(const std::string& kind, std::int64_t hidden, int layers, std::int64_t steps, std::int64_t batch) {
  for (const auto& [precision, name] : {std::pair(Precision::fp16, "fp16"), {Precision::bf16, "bf16"}, {Precision::tf32, "tf32"}}) {
    const std::string at = "." + std::to_string(layers) + "x" + std::to_string(hidden) + ".t" + std::to_string(steps) + ".b" +
                           std::to_string(batch) + "." + name;
    if (!wanted(kind + ".forward" + at) && !wanted(kind + ".both" + at)) continue;
    const PrecisionScope scope(precision);
    const std::int64_t width = scaled(hidden, 16), length = scaled(steps, 8);
    const Layer layer(width, width, {.layers = layers});
    const Tensor x = normal({length, scaled(batch, 8), width}), dy = normal({length, scaled(batch, 8), width});
    eval(x, dy);
    auto forward = jit([&](Tensor x) { return layer(x).output; });
    bench::report(kind + ".forward" + at, timed(repeated(forward, x)) * 1e3, "ms");
    auto both = jit([&](Tensor x, Tensor dy) {
      std::vector<Wrt> all{x};
      for (const Parameter& p : parameters(layer)) all.emplace_back(p);
      return vjp({layer(x).output}, {dy}, all);
    });
    bench::report(kind + ".both" + at, timed(repeated(both, x, dy)) * 1e3, "ms");
    print_plan(both);
  }
}

models::Gpt2Options gpt2_124m(DType dtype) {
  if (small) return {.vocabulary = 300, .width = 64, .layers = 2, .heads = 2, .context = 64, .dtype = dtype};
  return {.vocabulary = 50304, .dtype = dtype};
}

/// With sums between the layers in f32, or in bf16.
void gpt2_training(std::int64_t batch, bool half_residual) {
  const std::string name = (half_residual ? "gpt2.train.half_residual.b" : "gpt2.train.b") + std::to_string(batch);
  if (!wanted(name)) return;
  const PrecisionScope arithmetic(Precision::bf16);
  models::Gpt2Options options = gpt2_124m(f32);
  if (half_residual) options.residual = bf16;
  models::Gpt2 net(options);
  const std::int64_t length = net.options().context, sequences = scaled(batch, 16);
  optim::AdamW adam(parameters(net), {.lr = 3e-4, .beta2 = 0.95, .weight_decay = 0.1});
  auto step = jit([&](Tensor x, Tensor y) {
    const Tensor loss = models::next_token_loss(net.hidden(x), net.wte.weight, y);
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  const Tensor x = randint(0, net.options().vocabulary, {sequences, length}), y = randint(0, net.options().vocabulary, {sequences, length});
  eval(x, y);
  const std::size_t before = default_device().memory().bytes_in_use;
  const double seconds = timed(repeated(step, x, y));
  bench::report(name, static_cast<double>(sequences * length) / seconds, "tok/s");
  const auto all = default_device().memory();
  bench::report(name + ".memory", static_cast<double>(all.bytes_in_use + all.bytes_cached - before) / 1e9, "GB");
  bench::report(name + ".loss", step(x, y).template item<float>(), "nats");
  print_plan(step);
}

void gpt2_decoding(std::int64_t batch) {
  const std::string name = "gpt2.decode.b" + std::to_string(batch);
  if (!wanted(name) && !(batch == 1 && wanted("gpt2.prefill"))) return;
  models::Gpt2 net(gpt2_124m(bf16));
  eval(net);
  models::TextGenerator generate(net, batch);
  const std::int64_t tokens = scaled(256, 16), prompt = scaled(512, 16);
  if (wanted(name)) {
    const std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(batch), {0});
    const double seconds = bench::wall([&] { generate(prompts, {.max_new_tokens = tokens}); }, 1.0, 2);
    bench::report(name, static_cast<double>(batch * tokens) / seconds, "tok/s");
  }
  if (batch == 1 && wanted("gpt2.prefill")) {
    const std::vector<std::int64_t> text(static_cast<std::size_t>(prompt), 7);
    bench::report("gpt2.prefill.t512", 1e3 * bench::wall([&] { generate(text, {.max_new_tokens = 1}); }, 0.5), "ms");
  }
}

/// BERT-base's layers, in training with f32 weights, in inference with halves.
void encoder(std::int64_t length, std::int64_t batch) {
  const std::string name = "bert_base.T" + std::to_string(length) + ".B" + std::to_string(batch);
  const std::int64_t width = scaled(768, 12), layers = scaled(12, 6), rows = scaled(batch, 16), places = scaled(length, 8);
  const auto net = [&](DType dtype, nn::FeedForwardActivation activation = nn::FeedForwardActivation::Gelu) {
    return nn::TransformerEncoder(
        layers, width, small ? 2 : 12,
        {.dim_feedforward = 4 * width, .dropout = 0, .activation = activation, .batch_first = true, .dtype = dtype});
  };
  const Tensor x = normal({rows, places, width});
  eval(x);
  if (wanted(name + ".train.bf16")) {
    const PrecisionScope arithmetic(Precision::bf16);
    auto encode = net(f32);
    optim::AdamW adam(parameters(encode), {.lr = 1e-4});
    auto step = jit([&](Tensor x) {
      const Tensor loss = mean(square(encode(x)));
      adam.step(grad(loss, parameters(encode)));
      return loss;
    });
    bench::report(name + ".train.bf16", timed(repeated(step, x)) * 1e3, "ms");
    print_plan(step);
  }
  // PyTorch's encoder infers with the tanh form, though told the exact one (docs/benchmarks_sequences.md).
  for (const auto activation : {nn::FeedForwardActivation::Gelu, nn::FeedForwardActivation::GeluTanh}) {
    const std::string infers = name + (activation == nn::FeedForwardActivation::Gelu ? ".infer.fp16" : ".infer_tanh.fp16");
    if (!wanted(infers)) continue;
    auto encode = net(f16, activation);
    eval(encode);
    const Tensor half = cast(x, f16);
    eval(half);
    auto run = jit([&](Tensor x) { return encode(x); });
    bench::report(infers, timed(repeated(run, half)) * 1e3, "ms");
    print_plan(run);
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
  const double seconds = timed(repeated(step, centre, asked));
  bench::report(name, static_cast<double>(batch) / seconds / 1e6, "M pairs/s");
  print_plan(step);
}

}  // namespace

int main(int argc, char** argv) {
  count = argc, names = argv;
  bench::choose_device();
  small = default_device().number() == 0 || std::getenv("TEGULA_BENCH_SMALL");
  using bench::attempt;
  for (const std::int64_t batch : {32, 4, 16}) {
    for (const bool half_residual : {false, true}) attempt("gpt2.train", [&] { gpt2_training(batch, half_residual); });
  }
  for (const std::int64_t batch : {1, 32}) attempt("gpt2.decode", [&] { gpt2_decoding(batch); });
  for (const std::int64_t width : {64, 128}) {
    for (const std::int64_t length : {512, 1024, 4096, 16384}) {
      for (const bool causal : {true, false}) attempt("attention", [&] { attention(width, length, causal); });
    }
  }
  for (const auto& [hidden, layers, steps, batch] :
       {std::tuple<int, int, int, int>{256, 1, 32, 64}, {512, 2, 100, 128}, {1024, 2, 128, 64}}) {
    attempt("lstm", [&] { recurrent<nn::LSTM>("lstm", hidden, layers, steps, batch); });
  }
  for (const auto& [length, batch] : {std::pair<int, int>{128, 64}, {512, 32}}) attempt("bert_base", [&] { encoder(length, batch); });
  attempt("word2vec", word2vec);
}
