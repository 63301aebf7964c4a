// Every model that the library knows goes through a graph file into another process: the same bits, gradients and kernels.
#include <gtest/gtest.h>

#include <cstdio>

#include "tegula/models.h"
#include "tegula/text.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tests/support/elsewhere.h"

namespace tegula {
namespace {

using test::expect_same_elsewhere;
using test::numbers;

/// Integers below `most`.
Tensor tokens(const Shape& shape, std::int64_t most) { return remainder(reshape(arange(numel(shape)), shape) * 7 + 3, most); }

template <class Net>
void expect_net_elsewhere(Net& net, const std::vector<Tensor>& x) {
  eval(net);
  expect_same_elsewhere(
      [&](const std::vector<Tensor>& in) {
        if constexpr (requires { net(in[0]); })
          if (in.size() == 1) return std::vector<Tensor>{net(in[0])};
        if constexpr (requires { net(in[0], in[1]); })
          if (in.size() == 2) return std::vector<Tensor>{net(in[0], in[1])};
        if constexpr (requires { net(in[0], in[1], in[2]); }) return std::vector<Tensor>{net(in[0], in[1], in[2])};
        throw std::logic_error("a net of other inputs");
      },
      x, parameters(net));
}

TEST(ModelsElsewhere, EveryModelOfTheRegistry) {
  for (const models::Entry& entry : models::all()) {
    SCOPED_TRACE(std::string(entry.name));
    auto model = models::make(entry.name);
    Shape shape{3};
    for (const std::int64_t size : entry.input) shape.push_back(size);
    expect_net_elsewhere(model.net, {numbers(shape)});
  }
}

TEST(ModelsElsewhere, ResNet50) {
  models::ResNet50 net{.classes = 10};
  expect_net_elsewhere(net, {numbers({1, 3, 32, 32})});
}

TEST(ModelsElsewhere, Airbench) {
  models::Airbench net;
  expect_net_elsewhere(net, {numbers({2, 3, 32, 32})});
}

TEST(ModelsElsewhere, AFileOfAClassifierOfPictures) {
  const char* const path = "elsewhere-pictures.model";
  models::ImageClassifier trained({.classes = 3, .size = 16, .width = 8, .stages = 2});
  trained.fit_colours(abs(numbers({4, 3, 16, 16})));
  models::save_image_classifier(path, trained, {"a", "b", "c"});
  const models::NamedImageClassifier file = models::load_image_classifier(path);
  expect_net_elsewhere(*file.net, {abs(numbers({2, 3, 16, 16}))});
}

TEST(ModelsElsewhere, ANetOfATable) {
  models::TableNet net(3, {4, 2}, 2, {.hidden = 8});
  expect_net_elsewhere(net, {concat({numbers({6, 3}), cast(tokens({6, 2}, 2), f32)}, 1)});
}

TEST(ModelsElsewhere, Bert) {
  const models::BertOptions options{.vocabulary = 50, .width = 32, .layers = 2, .heads = 4, .hidden = 64, .context = 16};
  models::BertForMaskedLM masked(options);
  expect_net_elsewhere(masked, {tokens({2, 12}, 50)});
  models::BertForSequenceClassification classifier(options, 3);
  expect_net_elsewhere(classifier, {tokens({2, 12}, 50)});
}

TEST(ModelsElsewhere, LanguageModels) {
  models::Llama llama({.vocabulary = 50, .width = 32, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 48, .context = 16});
  expect_net_elsewhere(llama, {tokens({2, 12}, 50)});
  models::LstmLanguageModel lstm({.vocabulary = 50, .embedding = 8, .hidden = 16});
  expect_net_elsewhere(lstm, {tokens({2, 12}, 50)});
}

TEST(ModelsElsewhere, ClassifiersOfTexts) {
  models::LstmClassifier lstm({.vocabulary = 50, .classes = 3, .embedding = 8, .hidden = 16});
  expect_net_elsewhere(lstm, {tokens({3, 9}, 50), tokens({3}, 8) + 1});
  models::TransformerClassifier transformer({.vocabulary = 50, .classes = 3, .width = 16, .heads = 4, .hidden = 32, .context = 12});
  expect_net_elsewhere(transformer, {tokens({3, 9}, 50), tokens({3}, 8) + 1});
}

/// A tokenizer of so many words.
std::string tokenizer(std::int64_t vocabulary) {
  std::vector<std::string> words = models::translation_tokens();
  while (std::ssize(words) < vocabulary) words.push_back("w" + std::to_string(words.size()));
  return text::word_tokenizer_json(text::Vocabulary(words), "<unk>", models::translation_tokens());
}

TEST(ModelsElsewhere, FilesOfTranslators) {
  const char* const path = "elsewhere-translator.model";
  const std::vector<Tensor> x{tokens({2, 7}, 40), tokens({2, 5}, 50), tensor<std::int64_t>({7, 4})};
  models::Translator(models::Seq2Seq({.source_vocabulary = 40, .target_vocabulary = 50, .embedding = 8, .hidden = 16}), tokenizer(40),
                     tokenizer(50))
      .save(path);
  models::Translator lstm = models::Translator::load(path);
  expect_net_elsewhere(lstm, x);
  models::Translator(models::Transformer({.source_vocabulary = 40,
                                          .target_vocabulary = 50,
                                          .width = 16,
                                          .heads = 4,
                                          .hidden = 32,
                                          .encoder_layers = 2,
                                          .decoder_layers = 2,
                                          .context = 12}),
                     tokenizer(40), tokenizer(50))
      .save(path);
  models::Translator transformer = models::Translator::load(path);
  expect_net_elsewhere(transformer, x);
}

TEST(ModelsElsewhere, Translators) {
  models::Seq2Seq lstm({.source_vocabulary = 40, .target_vocabulary = 50, .embedding = 8, .hidden = 16});
  expect_net_elsewhere(lstm, {tokens({2, 7}, 40), tokens({2, 5}, 50)});
  models::Transformer transformer({.source_vocabulary = 40,
                                   .target_vocabulary = 50,
                                   .width = 16,
                                   .heads = 4,
                                   .hidden = 32,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .context = 12});
  expect_net_elsewhere(transformer, {tokens({2, 7}, 40), tokens({2, 5}, 50)});
}

}  // namespace
}  // namespace tegula
