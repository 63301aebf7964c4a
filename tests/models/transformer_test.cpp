// The translation transformer: it learns a task, and its generator solves it.

#include "tegula/models/text/transformer.h"

#include <gtest/gtest.h>

#include "tegula/tegula.h"

namespace tegula {
namespace {

using Tokens = std::vector<std::int64_t>;

models::TransformerOptions small() {
  return {.source_vocabulary = 12,
          .target_vocabulary = 12,
          .width = 32,
          .heads = 2,
          .hidden = 64,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .context = 16,
          .dropout = 0,
          .norm_first = true};
}

TEST(Transformer, LearnsToTurnSequencesAround) {
  manual_seed(1);
  models::Transformer net(small());
  optim::Adam adam(parameters(net), {.lr = 5e-3});
  auto step = jit([&](Tensor source) {  // (N, 5) of 3 … 11; 1 begins a target and 2 ends it
    const std::int64_t n = source.size(0);
    const Tensor target = concat({ones({n, 1}, i64), flip(source, {1}), full({n, 1}, 2)}, 1);
    const Tensor scores = net(source, slice(target, 1, {0, -1}));
    const Tensor loss = cross_entropy(reshape(scores, {n * 6, 12}), reshape(slice(target, 1, {1, {}}), {n * 6}));
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  float loss = 9;
  for (int i = 0; i < 400; ++i) loss = step(randint(3, 12, {64, 5})).item();
  EXPECT_LT(loss, 0.2f);
  eval(net);
  const Tensor test = randint(3, 12, {8, 5});
  const auto host = test.to_host<std::int64_t>();
  std::vector<Tokens> sources, expected;
  for (std::ptrdiff_t i = 0; i < 8; ++i) {
    sources.emplace_back(host.begin() + 5 * i, host.begin() + 5 * i + 5);
    expected.emplace_back(sources.back().rbegin(), sources.back().rend());
  }
  for (const std::int64_t beams : {1, 4}) {
    models::TranslationGenerator translate(net, 8, 6, {.beams = beams, .max_new_tokens = 10});
    const auto got = translate(sources);
    int right = 0;
    for (std::size_t i = 0; i < 8; ++i) right += got[i].tokens == expected[i];
    EXPECT_GE(right, 7) << beams << " beams";
    EXPECT_EQ(translate({sources[3]})[0].tokens, got[3].tokens);
  }
}

TEST(Transformer, DoesNotLookBehindTheEndOfASource) {
  models::Transformer net(small());
  const Tensor target = tensor<std::int64_t>({1, 4, 5}, {1, 3}), lengths = tensor<std::int64_t>({2});
  const auto a = net(tensor<std::int64_t>({3, 4, 5}, {1, 3}), target, lengths).to_host();
  const auto b = net(tensor<std::int64_t>({3, 4, 9}, {1, 3}), target, lengths).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(Transformer, SharesItsEmbeddingsAsItIsTold) {
  models::TransformerOptions options = small();
  const auto size = [&](models::Tied tied) {
    options.tied = tied;
    return num_parameters(models::Transformer(options));
  };
  EXPECT_EQ(size(models::Tied::Target) - size(models::Tied::All), 12 * 32);
  EXPECT_EQ(size(models::Tied::None) - size(models::Tied::Target), 12 * 32 + 12);
  options.source_vocabulary = 13;
  EXPECT_THROW(size(models::Tied::All), Error);
}

}  // namespace
}  // namespace tegula
