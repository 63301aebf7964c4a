// Answers to questions: SQuAD's files and measures, windows over a text, BERT's head.

#include "tegula/text/squad.h"

#include <gtest/gtest.h>

#include <map>

#include "tegula/models/text/answers.h"
#include "tegula/nn/state.h"
#include "tegula/optim/optimizers.h"
#include "tegula/tegula.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/wordpiece.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

Question question(const std::string& id, const std::string& context, std::vector<std::string> answers) {
  Question out{id, "what?", context, std::move(answers), {}};
  for (const std::string& answer : out.answers) out.begins.push_back(context.find(answer));
  return out;
}

TEST(Squad, AnswersAreNormalisedAsByItsScript) {
  // The results of normalize_answer in evaluate-v1.1.py and v2.0.
  EXPECT_EQ(normalized_answer("   Rock    n  Roll."), "rock n roll");
  EXPECT_EQ(normalized_answer("The Denver Broncos!"), "denver broncos");
  EXPECT_EQ(normalized_answer("an  A the"), "");
  EXPECT_EQ(normalized_answer("Another theory, a-b"), "another theory ab");
  EXPECT_EQ(normalized_answer("10,000 (ten thousand)"), "10000 ten thousand");
  EXPECT_EQ(normalized_answer("Ünïcode\u00a0Äpfel"), "ünïcode äpfel");
  EXPECT_EQ(normalized_answer("the–end"), "–end");  // no ASCII: a dash stays, and ends a word
}

TEST(Squad, F1IsThatOfTheWordsInCommon) {
  EXPECT_EQ(exact_match("Denver Broncos", "The Denver Broncos"), 1);
  EXPECT_EQ(exact_match("1999", "1976"), 0);
  EXPECT_DOUBLE_EQ(answer_f1("rock", "rock n roll"), 0.5);  // 1 of 1, 1 of 3
  EXPECT_DOUBLE_EQ(answer_f1("in the late 1990s", "on the late 1990s"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(answer_f1("to be or not to be", "to be"), 0.5);  // each word as often as it comes: 2 of 6, 2 of 2
  EXPECT_EQ(answer_f1("", ""), 1);
  EXPECT_EQ(answer_f1("the", ""), 1);
  EXPECT_EQ(answer_f1("", "x"), 0);
}

TEST(Squad, ScoresAreThosePublishedForTheMetricsExamples) {
  // The examples of the metric cards of Hugging Face for SQuAD v2: 2 of 3 right, Beyonce without its accent has no word in common.
  const std::vector<Question> questions{question("56e10a3be3433e1400422b22", "in 1976", {"1976"}),
                                        question("56d2051ce7d4791d0090260b", "Beyoncé and Bruno Mars", {"Beyoncé and Bruno Mars"}),
                                        question("5733b5344776f419006610e1", "of climate change", {"climate change"})};
  const AnswerScores scores = score_answers(
      questions,
      {{"56e10a3be3433e1400422b22", "1976"}, {"56d2051ce7d4791d0090260b", "Beyonce"}, {"5733b5344776f419006610e1", "climate change"}});
  EXPECT_NEAR(scores.exact, 66.66666666666667, 1e-12);
  EXPECT_NEAR(scores.f1, 66.66666666666667, 1e-12);
  EXPECT_EQ(scores.answered, 3);
  EXPECT_EQ(scores.missing, 0);
}

TEST(Squad, TheBestOfSeveralAnswersCountsAndSoDoesNone) {
  const std::vector<Question> questions{question("a", "gold and gold ribbon", {"gold", "gold ribbon"}), question("b", "nothing", {})};
  const AnswerScores scores = score_answers(questions, {{"a", "gold ribbon"}, {"b", ""}});
  EXPECT_EQ(scores.exact, 100);
  EXPECT_EQ(scores.unanswered, 1);
  EXPECT_EQ(score_answers(questions, {{"a", "gold"}, {"b", "nothing"}}).unanswered_exact, 0);
  EXPECT_EQ(score_answers(questions, {{"b", ""}}).missing, 1);
  EXPECT_ERROR(score_answers({}, {}), "no questions");
}

const std::string kFile = R"({"version": "v2.0", "data": [{"title": "x", "paragraphs": [{"context": "Äpfel sind rot, Birnen grün.", "qas": [
 {"id": "1", "question": "Was ist rot?", "answers": [{"text": "Äpfel", "answer_start": 0}, {"text": "Birnen", "answer_start": 16}], "is_impossible": false},
 {"id": "2", "question": "Und blau?", "answers": [], "is_impossible": true}]}]}]})";

TEST(Squad, AFileIsRead) {
  const auto questions = parse_squad(kFile, "x.json");
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].answers[1], "Birnen");
  EXPECT_EQ(questions[0].begins[1], 17u);  // bytes: Ä has two
  EXPECT_TRUE(questions[1].answers.empty());
  const auto changed = [](std::string part, std::string instead) {
    std::string text = kFile;
    return text.replace(text.find(part), part.size(), instead);
  };
  EXPECT_ERROR(parse_squad("{", "x.json"), "x.json");
  EXPECT_ERROR(parse_squad("[1]", "x.json"), "read_squad: got file x.json:  without the list data");
  EXPECT_ERROR(parse_squad(changed("\"question\": \"Und", "\"q\": \"Und"), "x.json"),
               "data[0].paragraphs[0].qas[1] without the text question");
  EXPECT_ERROR(parse_squad(changed("\"answer_start\": 16", "\"answer_start\": 15"), "x.json"), "qas[0].answers[1], which does not stand");
  EXPECT_ERROR(parse_squad(changed("\"answer_start\": 16", "\"answer_start\": -1"), "x.json"), "without a whole number answer_start");
  EXPECT_ERROR(parse_squad(changed("\"answer_start\": 16", "\"answer_start\": 99999999999"), "x.json"), "does not stand");
  EXPECT_ERROR(read_squad("not/there.json"), "not/there.json");
}

Tokenizer small_tokenizer() {
  TextMap<std::int64_t> counts;
  for (const char* word :
       {"the", "cat", "sat", "on", "mat", "where", "did", "sit", "who", "dog", "red", "blue", "is", "what", "colour", "box", "and"})
    counts[word] = 100;
  return parse_tokenizer_json(wordpiece_tokenizer_json(train_wordpiece(counts, {.vocabulary = 400}), Case::Lower), "t");
}

TEST(AnswerWindows, HoldTheAnswerWhereItIs) {
  const Tokenizer tokenizer = small_tokenizer();
  const std::string context = "the cat sat on the mat and the dog sat on the box";
  std::vector<Question> questions{question("q", context, {"the box"})};
  questions[0].text = "where did the dog sit";
  const models::AnswerWindows set(questions, tokenizer, {.length = 16, .stride = 4, .question = 5});
  ASSERT_EQ(set.size(), 3);  // 8 tokens of 13 in each, from 0, 4 and 8 on
  const std::vector<std::int64_t> first{0, 0, 7 + 3}, last{0, 0, 7 + 4};
  for (std::int64_t i = 0; i < 3; ++i) {
    const data::Sample sample = set.get(i);
    EXPECT_EQ(sample[3].values<std::int64_t>()[0], first[std::size_t(i)]) << i;
    EXPECT_EQ(sample[4].values<std::int64_t>()[0], last[std::size_t(i)]) << i;
    EXPECT_EQ(sample[0].values<std::int64_t>()[0], tokenizer.id("[CLS]"));
    EXPECT_EQ(sample[1].values<std::int64_t>()[6], 0);
    EXPECT_EQ(sample[1].values<std::int64_t>()[7], 1);
  }
  // Scores that point at the answer give its text; beyond `longest`, or where [CLS] is higher, they do not.
  std::vector<float> begins(3 * 16, -5), ends(3 * 16, -5);
  begins[2 * 16 + 10] = 3, ends[2 * 16 + 11] = 4, ends[2 * 16 + 8] = 9;  // an end before the beginning counts nothing
  const auto best = [&](const models::AnswerWindows::BestOptions& options) {
    return set.best(tensor(begins, {3, 16}), tensor(ends, {3, 16}), options).at("q");
  };
  EXPECT_EQ(best({}), "the box");
  EXPECT_NE(best({.longest = 1}), "the box");
  EXPECT_EQ(best({.may_be_unanswered = true}), "the box");
  for (const std::size_t window : {0, 1, 2}) begins[window * 16] = 30;
  EXPECT_EQ(best({.may_be_unanswered = true}), "");
  EXPECT_EQ(best({}), "the box");
  EXPECT_ERROR(set.best(zeros({3, 15}), zeros({3, 15})), "scores (3, 15) and (3, 15), expected (3, 16) of both");
  EXPECT_ERROR(models::AnswerWindows(questions, tokenizer, {.length = 8, .question = 5}), "room for a question");
}

TEST(BertForQuestionAnswering, LearnsWhereAnswersStand) {
  // The answer to "where is the …" is the word behind the thing's name.
  const Tokenizer tokenizer = small_tokenizer();
  std::vector<Question> questions;
  const std::vector<std::string> things{"cat", "dog", "box", "mat"}, colours{"red", "blue"};
  for (std::size_t i = 0; i < 64; ++i) {
    const std::string &a = things[i % 4], &b = things[(i + 1 + i / 4 % 3) % 4], &of_a = colours[i / 16 % 2], &of_b = colours[i / 32];
    const std::string context = a + " " + of_a + " and " + b + " " + of_b;
    Question one{std::to_string(i), "what colour is the " + b, context, {of_b}, {context.size() - of_b.size()}};
    questions.push_back(one);
  }
  const models::AnswerWindows set(questions, tokenizer, {.length = 20, .stride = 8, .question = 8});
  manual_seed(3);
  models::BertForQuestionAnswering net(
      {.vocabulary = tokenizer.size(), .width = 32, .layers = 2, .heads = 2, .hidden = 64, .context = 32, .dropout = 0});
  struct Answering {
    models::BertForQuestionAnswering& net;
    std::vector<Tensor> operator()(const Tensor& tokens, const Tensor& types, const Tensor& lengths) const {
      return net(tokens, {.lengths = lengths, .token_types = types});
    }
    void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(net, visitor, path); }
  } answering{net};
  optim::AdamW adam(parameters(net), {.lr = 3e-3});
  Trainer trainer(answering, adam, Loss(models::answer_loss), {.epochs = 40, .batch = 16, .inputs = 3, .progress = Progress::No});
  trainer.fit(set);
  const auto scores = trainer.evaluator().predict_all(set);
  const AnswerScores measured = score_answers(questions, set.best(scores[0], scores[1]));
  EXPECT_GT(measured.exact, 90);
  EXPECT_GE(measured.f1, measured.exact);
  // Hugging Face's names, and padding.
  const auto state = state_dict(net);
  EXPECT_TRUE(std::ranges::any_of(state, [](const NamedTensor& t) { return t.name == "qa_outputs.weight"; }));
  load(net, models::bert_state(state));
  const auto padded = net(zeros({1, 4}, i64), {.lengths = tensor({2}, {1})});
  EXPECT_EQ(padded[0].to_host<double>()[3], -1e9);
}

}  // namespace
}  // namespace tegula::text
