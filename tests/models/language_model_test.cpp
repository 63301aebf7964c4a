// Language models and classifiers: states carried on, files, text from them.

#include "tegula/models/text/language_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/models.h"
#include "tegula/models/text/text_classifier.h"
#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tegula/text/token_windows.h"
#include "tegula/text/tokens/tokenizer_texts.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using Tokens = std::vector<std::int64_t>;

models::LstmLanguageModel small_lstm() {
  manual_seed(5);
  models::LstmLanguageModel net({.vocabulary = 11, .embedding = 6, .hidden = 12, .layers = 2});
  for (const Parameter& p : parameters(net)) p.assign(p.read() * 2.0);  // scores that differ
  eval(net);
  return net;
}

Tokens some_tokens(std::int64_t n) {
  Tokens out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i * i * 7 % 11);
  return out;
}

TEST(LstmLanguageModel, CarriesItsStateFromBatchToBatch) {
  models::LstmLanguageModel net = small_lstm();
  const Tokens text = some_tokens(2 * 12 + 1);  // two streams of three windows of four
  const auto whole = net.hidden(tensor(Tokens(text.begin(), text.begin() + 12), {1, 12})).output.to_host();
  for (const bool training : {true, false}) {
    models::CarriedLstm carried(net, 2, 2);
    if (training) train(carried);
    else eval(carried);
    auto step = jit([&](const Tensor& x, const Tensor& begins) { return carried(x, begins); });
    const text::Streams streams(std::make_shared<const text::Ids>(text), 2, 4, 12);
    for (std::int64_t k = 0; k < 6; ++k) {  // two passes: the second begins anew
      const auto a = streams.get(2 * k), b = streams.get(2 * k + 1);
      const auto got = step(stack({from_array(a[0]), from_array(b[0])}), stack({from_array(a[1]), from_array(b[1])})).to_host();
      for (std::size_t i = 0; i < 4 * 12; ++i) ASSERT_NEAR(got[i], whole[static_cast<std::size_t>(k % 3) * 48 + i], 1e-5) << training << k;
    }
  }
}

TEST(LstmLanguageModel, GradientsEndWhereABatchBegins) {
  models::LstmLanguageModel net = small_lstm();
  models::CarriedLstm carried(net, 1, 1);
  const Tensor x = tensor(some_tokens(4), {1, 4}), first = ones({1}), later = zeros({1});
  eval(carried(x, first));
  const nn::Recurrent before = net.hidden(x);
  const Tensor h = before.h.to_host().empty() ? before.h : from_array(before.h.to_array()), c = from_array(before.c.to_array());
  const auto got = grad(sum(carried(x, later)), net.lstm.direction(0).weight_hh).to_host();
  const auto expected = grad(sum(net.hidden(x, {.h = h, .c = c}).output), net.lstm.direction(0).weight_hh).to_host();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
}

TEST(LstmGenerator, TakesTheGreatestScoreStepByStep) {
  const models::LstmLanguageModel net = small_lstm();
  models::LstmGenerator two(net, 2), one(net);
  const std::vector<Tokens> prompts{{5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const auto together = two(prompts, {.max_new_tokens = 12});
  for (std::size_t i = 0; i < 2; ++i) {
    Tokens text = prompts[i], expected;
    for (int k = 0; k < 12; ++k) {
      const Tensor scores = net(tensor(text, {1, static_cast<std::int64_t>(text.size())}));
      text.push_back(argmax(select(select(scores, 1, -1), 0, 0)).item<std::int64_t>());
      expected.push_back(text.back());
    }
    EXPECT_EQ(together[i].tokens, expected);
    EXPECT_EQ(one(prompts[i], {.max_new_tokens = 12}).tokens, expected);
  }
  EXPECT_ERROR(one(Tokens{}, {}), "an empty prompt");
  EXPECT_ERROR(one(Tokens{11}, {}), "one of the vocabulary's 11");
  EXPECT_ERROR(two(std::vector<Tokens>{{1}}, {.beams = 2}), "2 beams");
}

TEST(LanguageModel, TheLossOfALargeVocabularyIsTheSame) {
  manual_seed(2);
  const Tensor x = normal({2, 3, 8}), w = normal({9000, 8}), b = normal({9000}), y = randint(0, 9000, {2, 3});
  eval(x, w, b, y);
  const double expected = cross_entropy(reshape(linear(x, w, b), {6, 9000}), reshape(y, {6})).item<double>();
  EXPECT_NEAR(models::next_token_loss(x, w, y, b).item<double>(), expected, 1e-4 * expected);
  const Tensor few = slice(w, 0, {0, 20}), small = y - y + 3;
  EXPECT_NEAR(models::next_token_loss(x, few, small).item<double>(),
              cross_entropy(reshape(linear(x, few), {6, 20}), reshape(small, {6})).item<double>(), 1e-5);
}

TEST(LanguageModel, ComesBackFromItsFile) {
  const testing::TemporaryFolder folder;
  manual_seed(1);
  const std::string json = text::characters_json("abcdefgh\n");
  models::Gpt2 gpt({.vocabulary = 9, .width = 16, .layers = 2, .heads = 2, .context = 12, .dropout = 0.25});
  models::save_language_model(folder / "gpt", gpt, json);
  const models::LanguageModel back = models::load_language_model(folder / "gpt");
  EXPECT_EQ(back.kind(), "gpt2");
  EXPECT_EQ(back.context(), 12);
  EXPECT_EQ(back.parameters(), num_parameters(gpt));
  const auto& net = *std::get<std::unique_ptr<models::Gpt2>>(back.net);
  EXPECT_EQ(net.options().dropout, 0.25);
  eval(gpt);
  const Tensor tokens = tensor(Tokens{0, 3, 8, 2}, {1, 4});
  EXPECT_EQ(net(tokens).to_host(), gpt(tokens).to_host());
  EXPECT_ERROR(models::load(folder / "gpt"), "gpt2");
  models::save_language_model(folder / "wide", gpt, text::characters_json("abcdefghijklmnop"));
  EXPECT_ERROR(models::load_language_model(folder / "wide"), "a model of 9 tokens and a tokenizer of 16");
}

models::LanguageModel letters_model(std::int64_t context) {
  manual_seed(1);
  models::LanguageModel model{
      std::make_unique<models::Gpt2>(models::Gpt2Options{.vocabulary = 9, .width = 16, .layers = 1, .heads = 2, .context = context}),
      text::parse_tokenizer_json(text::characters_json("abcdefgh\n"), "test")};
  auto& net = *std::get<std::unique_ptr<models::Gpt2>>(model.net);
  for (const Parameter& p : parameters(net)) p.assign(p.read() * 5.0);  // scores that differ
  eval(net);
  return model;
}

TEST(TextWriter, GoesOnBehindItsContext) {
  const models::LanguageModel model = letters_model(8);
  const auto& net = *std::get<std::unique_ptr<models::Gpt2>>(model.net);
  // By hand: with all that is seen, of which the later half stays when it is full.
  Tokens seen = model.tokenizer.encode("abc"), expected;
  for (int k = 0; k < 20; ++k) {
    if (seen.size() == 8) seen.erase(seen.begin(), seen.end() - 4);
    seen.push_back(
        argmax(select(select(net(tensor(seen, {1, static_cast<std::int64_t>(seen.size())})), 1, -1), 0, 0)).item<std::int64_t>());
    expected.push_back(seen.back());
  }
  models::TextWriter write(model);
  std::string streamed;
  const models::Written written = write(
      "abc", {.tokens = 20, .sampling = {.temperature = 0}, .on_text = [&](std::size_t, std::string_view piece) { streamed += piece; }});
  EXPECT_EQ(written.text, model.tokenizer.decode(expected));
  EXPECT_EQ(streamed, written.text);
  EXPECT_EQ(written.tokens, 20);
  EXPECT_EQ(written.prompt_tokens, 3);
  EXPECT_EQ(write("", {.tokens = 0}).text, "");
  EXPECT_ERROR(write("abcdefgh", {}), "a prompt of 8 tokens, expected at most 7");
}

/// All prompts together give the same texts as each alone: those that stop early, those whose context is full sooner, and those that begin empty.
void expect_each_as_alone(const models::LanguageModel& model, const std::vector<std::string>& prompts, models::WriteOptions options) {
  options.sampling = {.temperature = 0};
  models::TextWriter together(model), alone(model);
  std::vector<std::string> streamed(prompts.size());
  options.on_text = [&](std::size_t i, std::string_view piece) { streamed[i] += piece; };
  const std::vector<models::Written> got = together.all(prompts, options);
  ASSERT_EQ(got.size(), prompts.size());
  options.on_text = {};
  std::size_t finished = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const models::Written one = alone(prompts[i], options);
    EXPECT_EQ(got[i].text, one.text) << prompts[i];
    EXPECT_EQ(streamed[i], one.text);
    EXPECT_EQ(got[i].tokens, one.tokens);
    EXPECT_EQ(got[i].prompt_tokens, one.prompt_tokens);
    EXPECT_EQ(got[i].finished, one.finished);
    finished += one.finished;
  }
  EXPECT_EQ(finished > 0, !options.stops.empty()) << "the stop strings of this test come in some of the texts";
  EXPECT_LT(finished, prompts.size());
}

TEST(TextWriter, GivesPromptsOfDifferentLengthsWhatEachGetsAlone) {
  const models::LanguageModel model = letters_model(12);
  const std::vector<std::string> prompts{"abcdefghab", "c", "", "hgfe", "bad"};
  expect_each_as_alone(model, prompts, {.tokens = 50});  // several contexts
  models::TextWriter write(model);
  const std::string first = write(prompts[0], {.tokens = 12, .sampling = {.temperature = 0}}).text;
  expect_each_as_alone(model, prompts, {.tokens = 50, .stops = {first.substr(4, 3)}});
  EXPECT_TRUE(write.all({}).empty());
  EXPECT_EQ(write.all({"a", "bc"}, {.tokens = 0})[1].text, "");
  EXPECT_ERROR(write.all({"a", "abcdefghabcd"}), "prompt 2 of 2, of 12 tokens, expected at most 11");

  models::LanguageModel lstm{std::make_unique<models::LstmLanguageModel>(small_lstm()),
                             text::parse_tokenizer_json(text::characters_json("abcdefghij\n"), "test")};
  expect_each_as_alone(lstm, {"abcdefghij", "", "ef", "jih"}, {.tokens = 30});
}

TEST(TextWriter, SaysWhatItsTokenizerLeavesOut) {
  const std::string path = ::testing::TempDir() + "/letters.safetensors";
  models::save_language_model(path, models::Gpt2({.vocabulary = 4, .width = 8, .layers = 1, .heads = 1, .context = 8}),
                              text::characters_json("ab c"));
  const models::LanguageModel model = models::load_language_model(path);
  models::TextWriter write(model);
  std::vector<std::string> warnings;
  set_warning_handler([&](const std::string& name, const std::string& text) { warnings.push_back(name + ": " + text); });
  write("ab c", {.tokens = 1});
  EXPECT_TRUE(warnings.empty());
  write("a\u00e9b", {.tokens = 1});
  set_warning_handler(nullptr);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "text.prompt: TextWriter: the model's tokenizer reads the prompt 'a\u00e9b' as 'ab'");
}

TEST(TextClassifier, PaddingChangesNothing) {
  manual_seed(4);
  models::LstmClassifier lstm({.vocabulary = 20, .classes = 3, .embedding = 6, .hidden = 5, .layers = 2});
  models::TransformerClassifier transformer(
      {.vocabulary = 20, .classes = 3, .width = 8, .heads = 2, .hidden = 16, .layers = 2, .context = 16});
  eval(lstm), eval(transformer);
  const Tensor bare = tensor(Tokens{3, 1, 4}, {1, 3}), padded = tensor(Tokens{3, 1, 4, 7, 7, 9, 9, 9}, {1, 8}),
               length = tensor(Tokens{3}, {1});
  const auto check = [&](auto& net) {
    const auto a = net(bare, length).to_host(), b = net(padded, length).to_host();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
    EXPECT_ERROR(net(bare, tensor(Tokens{3, 3}, {2})), "lengths of shape (2,)");
  };
  check(lstm), check(transformer);
}

TEST(TextClassifier, ComesBackFromItsFile) {
  const testing::TemporaryFolder folder;
  manual_seed(4);
  const std::string json = text::words_json(text::Vocabulary({"<pad>", "<unk>", "soup", "rain"}), "<unk>");
  models::LstmClassifier lstm({.vocabulary = 4, .embedding = 6, .hidden = 5});
  models::TransformerClassifier transformer({.vocabulary = 4, .width = 8, .heads = 2, .hidden = 16, .layers = 1, .context = 16});
  eval(lstm), eval(transformer);
  const auto check = [&](const std::string& path, const auto& net) {
    models::save_text_classifier(path, net, json, {"food", "weather"});
    const models::TextClassifier back = models::load_text_classifier(path);
    EXPECT_EQ(back.classes, (std::vector<std::string>{"food", "weather"}));
    const auto got = back.probabilities({"Rain on soup", ""}).to_host();
    const auto expected = softmax(net(tensor(Tokens{3, 1, 2, 0, 0, 0}, {2, 3}), tensor(Tokens{3, 1}, {2})), 1).to_host();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
  };
  check(folder / "lstm", lstm), check(folder / "transformer", transformer);
  EXPECT_ERROR(models::load_language_model(folder / "lstm"), "a language model");
}

TEST(TextClassifier, IsABertThatWasFineTuned) {
  const testing::TemporaryFolder folder;
  const std::string json =
      text::wordpiece_tokenizer_json(text::Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "soup"}), text::Case::Lower);
  const models::BertOptions options{.vocabulary = 7, .width = 8, .layers = 1, .heads = 2, .hidden = 12, .context = 8};
  models::BertForSequenceClassification net(options, 3);
  eval(net);
  models::ModelDescription description = models::describe(options, models::kBertClassifierKind);
  description.texts = {{"tokenizer", json}, {"classes", "food\nnone\nweather"}};
  models::write_model_file(folder / "bert", description, state_dict(net));
  const models::TextClassifier back = models::load_text_classifier(folder / "bert");
  EXPECT_EQ(back.classes, (std::vector<std::string>{"food", "none", "weather"}));
  EXPECT_EQ(back.longest(), 8);
  const auto got = back.probabilities({"Rain", "soup soup soup soup soup soup soup soup"}).to_host();
  const Tensor tokens = tensor(Tokens{2, 5, 3, 0, 0, 0, 0, 0, 2, 6, 6, 6, 6, 6, 6, 3}, {2, 8});  // the frame stays
  const auto expected = softmax(net(tokens, {.lengths = tensor(Tokens{3, 8}, {2})}), 1).to_host();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
  description.texts["classes"] = "food\nweather";
  models::write_model_file(folder / "bert", description, state_dict(net));
  EXPECT_ERROR(models::load_text_classifier(folder / "bert"), "classifier.weight");
}

}  // namespace
}  // namespace tegula
