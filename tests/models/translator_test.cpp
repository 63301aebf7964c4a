// Translators from text to text: their training, their files, and broken files.

#include "tegula/models/text/translator.h"

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tests/io/files.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using models::Translator;

std::string words(std::initializer_list<const char*> list) {
  std::vector<std::string> tokens = models::translation_tokens();
  tokens.insert(tokens.end(), list.begin(), list.end());
  return text::word_tokenizer_json(text::Vocabulary(tokens), "<unk>", models::translation_tokens());
}
const std::string& german() {
  static const std::string json = words({"ein", "hund", "katze", "rot", "blau", "und"});
  return json;
}
const std::string& english() {
  static const std::string json = words({"a", "dog", "cat", "red", "blue", "and", "."});
  return json;
}

Translator translator(bool lstm, std::int64_t context = 20) {
  manual_seed(2);
  if (lstm)
    return {models::Seq2Seq({.source_vocabulary = 10, .target_vocabulary = 11, .embedding = 16, .hidden = 16, .dropout = 0}), german(),
            english()};
  return {models::Transformer({.source_vocabulary = 10,
                               .target_vocabulary = 11,
                               .width = 16,
                               .heads = 2,
                               .hidden = 32,
                               .encoder_layers = 1,
                               .decoder_layers = 1,
                               .context = context,
                               .dropout = 0,
                               .norm_first = true}),
          german(), english()};
}

const std::vector<std::string> kSources = {"ein hund", "ein rot hund", "ein blau katze und ein hund", "ein katze",
                                           "ein blau hund und ein rot katze"};
const std::vector<std::string> kTargets = {"a dog.", "a dog red.", "a cat blue and a dog.", "a cat.", "a dog blue and a cat red."};

TEST(Translator, LearnsAndSurvivesItsFile) {
  for (const bool lstm : {false, true}) {
    Translator net = translator(lstm);
    std::vector<text::Ids> sources, targets;
    for (std::size_t i = 0; i < kSources.size(); ++i)
      sources.push_back(net.encode_source(kSources[i])), targets.push_back(net.encode_target(kTargets[i]));
    const text::TokenPairs pairs(sources, targets, models::kBegin, models::kEnd);
    optim::Adam adam(parameters(net), {.lr = 1e-2});
    const auto loss = [](const Tensor& scores, const Tensor& labels) {
      return cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}), {.ignore_index = models::kPadding});
    };
    const auto count = [](const Tensor&, const Tensor& labels) { return sum(cast(labels != models::kPadding, f32)); };
    Trainer trainer(net, adam, loss, {.epochs = 150, .batch = 5, .count = Loss(count), .inputs = 3, .lengths = pairs.lengths()});
    const History history = trainer.fit(pairs);
    EXPECT_LT(history.back().train_loss, 0.1) << lstm;

    std::vector<std::string> asked = kSources;
    asked.insert(asked.begin() + 1, "");  // an empty line stays one
    const auto check = [&](Translator& one) {
      for (const std::int64_t beams : {1, 3}) {
        const auto got = one.translate(asked, {.beams = beams, .batch = 2});
        ASSERT_EQ(got.size(), asked.size());
        EXPECT_EQ(got[1].text, "");
        for (std::size_t i = 0; i < kSources.size(); ++i) EXPECT_EQ(got[i == 0 ? 0 : i + 1].text, kTargets[i]) << lstm << " " << beams;
      }
    };
    check(net);
    const testing::TemporaryFolder folder;
    net.save(folder / "net.safetensors");
    Translator again = Translator::load(folder / "net.safetensors");
    check(again);
    EXPECT_EQ(again.describe().kind, lstm ? "translation-lstm" : "translation-transformer");
    EXPECT_EQ(again.describe().numbers, net.describe().numbers);

    const auto one = again.translate(std::vector<std::string>{kSources[2]})[0];
    const Tensor map = again.attention(one);  // a row for each token of the target and its end
    EXPECT_EQ(map.shape(), (Shape{8, 7}));
    for (const double row : sum(map, 1).to_host<double>()) EXPECT_NEAR(row, 1, 1e-5);
    EXPECT_EQ(again.source_tokens(one.source).back(), "</s>");
  }
}

TEST(Translator, GivesASentenceWhatItGetsAlone) {
  Translator net = translator(false, 64);  // which has not learnt to end
  const std::vector<std::string> sentences = {"ein hund", "ein rot hund und ein blau katze und ein rot hund und ein hund", "ein katze"};
  for (const std::int64_t beams : {1, 3}) {
    const auto together = net.translate(sentences, {.beams = beams});
    for (std::size_t i = 0; i < sentences.size(); ++i)
      EXPECT_EQ(net.translate(std::vector<std::string>{sentences[i]}, {.beams = beams})[0].text, together[i].text) << i << ", " << beams;
  }
}

TEST(Translator, RefusesTokenizersOfAnotherSize) {
  const models::Seq2SeqOptions options{.source_vocabulary = 10, .target_vocabulary = 11, .embedding = 4, .hidden = 4};
  EXPECT_HAS_MESSAGE(Translator(models::Seq2Seq(options), english(), english()), "a source tokenizer of 11 tokens");
  EXPECT_HAS_MESSAGE(Translator(models::Seq2Seq(options), german(), german()), "a target tokenizer of 10 tokens");
  EXPECT_HAS_MESSAGE(Translator(models::Seq2Seq(options), "{", english()), "the source's tokenizer");
  const std::string other = text::word_tokenizer_json(text::Vocabulary({"a", "<unk>"}), "<unk>", {"<unk>"});
  EXPECT_HAS_MESSAGE(Translator(models::Seq2Seq(options), other, english()), "without <pad> as token 0");
  Translator small = translator(false);
  EXPECT_HAS_MESSAGE(
      small.translate(std::vector<std::string>{"ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein ein"}),
      "a source of 21 tokens, expected at most the net's context of 20");
}

TEST(Translator, RefusesFilesThatAreNoneOfItsOwn) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "net.safetensors";
  const Translator net = translator(true);
  const models::ModelDescription good = net.describe();
  const auto written = [&](const models::ModelDescription& description) {
    net.save(path);
    const models::ModelFile file = models::read_model_file(path);
    models::write_model_file(path, description, file.state);
    return message_of([&] { Translator::load(path); });
  };
  EXPECT_EQ(written(good), "");
  models::ModelDescription bad = good;
  bad.kind = "gpt";
  EXPECT_NE(written(bad).find("a model of kind gpt"), std::string::npos);
  bad = good, bad.numbers["hidden"] = 17;  // a model of another size
  EXPECT_NE(written(bad).find("encoder.weight_ih_l0"), std::string::npos) << written(bad);
  bad = good, bad.numbers["hidden"] = 1e300;
  EXPECT_NE(written(bad).find("hidden = 1e+300, expected 1 to 65536"), std::string::npos) << written(bad);
  bad = good, bad.numbers["layers"] = 1.5;
  EXPECT_NE(written(bad).find("layers = 1.5, expected a whole number"), std::string::npos) << written(bad);
  bad = good, bad.numbers.erase("tied");
  EXPECT_NE(written(bad).find("no number \"tied\""), std::string::npos) << written(bad);
  bad = good, bad.texts.erase("target_tokenizer");
  EXPECT_NE(written(bad).find("no text \"target_tokenizer\""), std::string::npos) << written(bad);
  bad = good, bad.texts["source_tokenizer"] = "[1";
  EXPECT_NE(written(bad).find(path), std::string::npos) << written(bad);
  io::Metadata metadata = models::metadata_of(good);
  metadata["tegula.number.hidden"] = "sixteen";
  io::write_safetensors(path, {}, metadata);
  EXPECT_HAS_MESSAGE(Translator::load(path), "tegula.number.hidden \"sixteen\", expected a number");
  io::write_safetensors(path, {}, {});
  EXPECT_HAS_MESSAGE(Translator::load(path), "no entry tegula.model");
  EXPECT_HAS_MESSAGE(Translator::load(folder / "nothing"), "nothing");
}

}  // namespace
}  // namespace tegula
