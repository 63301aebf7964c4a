// Training steps of the nets for texts, where kernels do nothing (tests/support/paper.h): every kernel that they need can be made. With the
// commands' options: dropout, lengths, padding, smoothed labels, clipped gradients.

#include <gtest/gtest.h>

#include "tegula/models/text/bert.h"
#include "tegula/models/text/language_model.h"
#include "tegula/models/text/seq2seq.h"
#include "tegula/models/text/text_classifier.h"
#include "tegula/models/text/transformer.h"
#include "tegula/tegula.h"
#include "tests/support/paper.h"

namespace tegula {
namespace {

class TextsOnPaper : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::on_paper()) GTEST_SKIP() << "this device computes";
  }
};

constexpr Precision kPrecisions[]{Precision::fp32, Precision::tf32, Precision::bf16};

/// Three steps, the last of them a replay, and a pass of evaluation. `loss` of two tensors of integers.
template <class Net, class LossOf>
void train_text_on_paper(Net& net, const Tensor& x, const Tensor& y, const LossOf& loss) {
  for (const Precision precision : kPrecisions) {
    const PrecisionScope scope(precision);
    optim::AdamW adam(parameters(net), {.weight_decay = 0.01});
    auto step = jit([&](Tensor inputs, Tensor labels) {
      const Tensor l = loss(inputs, labels);
      adam.step(optim::clip_grad_norm(grad(l, parameters(net)), 1.0).gradients);
      return l;
    });
    train(net);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(step(x, y).shape(), Shape{});
    eval(net);
    EXPECT_EQ(loss(x, y).template to_host<double>().size(), 1u);
  }
}

Tensor smoothed_loss(const Tensor& scores, const Tensor& labels) {
  return cross_entropy(reshape(cast(scores, f32), {-1, scores.size(-1)}), flatten(labels), {.ignore_index = 0, .label_smoothing = 0.1});
}
Tensor tokens(std::int64_t rows, std::int64_t length) { return randint(1, 100, {rows, length}); }

TEST_F(TextsOnPaper, LanguageModels) {
  models::Gpt2 gpt({.vocabulary = 100, .width = 128, .layers = 2, .heads = 4, .context = 64, .dropout = 0.2});
  train_text_on_paper(gpt, tokens(8, 64), tokens(8, 64),
                      [&](const Tensor& x, const Tensor& y) { return models::next_token_loss(gpt.hidden(x), gpt.wte.weight, y); });
  models::LstmLanguageModel lstm({.vocabulary = 100, .embedding = 64, .hidden = 128, .layers = 2, .dropout = 0.2});
  train_text_on_paper(lstm, tokens(8, 12), tokens(8, 12), [&](const Tensor& x, const Tensor& y) { return smoothed_loss(lstm(x), y); });
}

TEST_F(TextsOnPaper, Translators) {
  const Tensor lengths = randint(1, 12, {8});
  models::Transformer transformer({.source_vocabulary = 100,
                                   .target_vocabulary = 100,
                                   .width = 64,
                                   .heads = 4,
                                   .hidden = 128,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .context = 64,
                                   .norm_first = true,
                                   .tied = models::Tied::All});
  train_text_on_paper(transformer, tokens(8, 12), tokens(8, 12),
                      [&](const Tensor& x, const Tensor& y) { return smoothed_loss(transformer(x, y, lengths), y); });
  for (const auto alignment : {models::Alignment::Additive, models::Alignment::General}) {
    models::Seq2Seq lstm(
        {.source_vocabulary = 100, .target_vocabulary = 100, .embedding = 64, .hidden = 64, .dropout = 0.3, .alignment = alignment});
    train_text_on_paper(lstm, tokens(8, 12), tokens(8, 12),
                        [&](const Tensor& x, const Tensor& y) { return smoothed_loss(lstm(x, y, lengths), y); });
  }
}

TEST_F(TextsOnPaper, BertAndClassifiers) {
  const models::BertOptions sizes{.vocabulary = 100, .width = 64, .layers = 2, .heads = 4, .hidden = 256, .context = 64};
  const Tensor lengths = randint(1, 24, {8}), places = randint(0, 24, {8, 4});
  models::BertForMaskedLM masked(sizes);
  train_text_on_paper(masked, tokens(8, 24), tokens(8, 4),
                      [&](const Tensor& x, const Tensor& y) { return smoothed_loss(masked.at(x, places), y); });
  const Tensor classes = randint(0, 2, {8});
  const auto train_classifier = [&](auto& net, const auto& scores) {
    train_text_on_paper(net, tokens(8, 24), classes,
                        [&](const Tensor& x, const Tensor& y) { return cross_entropy(cast(scores(x), f32), y); });
  };
  models::BertForSequenceClassification bert(sizes, 2);
  train_classifier(bert, [&](const Tensor& x) { return bert(x, {.lengths = lengths}); });
  models::TransformerClassifier transformer({.vocabulary = 100, .width = 64});
  train_classifier(transformer, [&](const Tensor& x) { return transformer(x, lengths); });
  models::LstmClassifier lstm({.vocabulary = 100, .embedding = 64, .hidden = 64});
  train_classifier(lstm, [&](const Tensor& x) { return lstm(x, lengths); });
}

}  // namespace
}  // namespace tegula
