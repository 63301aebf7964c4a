// tegula train bert --questions and tegula answer, from outside.

#include <gtest/gtest.h>

#include "tegula/io/file.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

void write(const std::string& path, const std::string& text) { io::write_atomically(path, testing::bytes_of(text)); }

/// SQuAD's form of: what colour is a thing of which the text says it? With `unanswered` the text speaks of another thing in every fourth one.
std::string questions(int count, bool unanswered) {
  const char *things[] = {"cat", "dog", "box", "mat"}, *colours[] = {"red", "blue"};
  std::string text = R"({"version": "x", "data": [{"title": "t", "paragraphs": [)";
  for (int i = 0; i < count; ++i) {
    const std::string a = things[i % 4], b = things[(i + 1 + i / 4 % 3) % 4], of_a = colours[i / 16 % 2], of_b = colours[i / 32 % 2];
    const std::string context = a + " " + of_a + " and " + b + " " + of_b;
    const bool none = unanswered && i % 4 == 3;
    text += (i ? "," : "") + std::string(R"({"context": ")") + context + R"(", "qas": [{"id": "q)" + std::to_string(i) +
            R"(", "question": "what colour is the )" + (none ? "sky" : b) + R"(", "answers": [)";
    if (!none) text += R"({"text": ")" + of_b + R"(", "answer_start": )" + std::to_string(context.size() - of_b.size()) + "}";
    text += "]}]}";
  }
  return text + "]}]}";
}

Ran train(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"train",
                                     "bert",
                                     folder / "train.json",
                                     "--questions",
                                     "--validation",
                                     folder / "train.json",
                                     "--width",
                                     "32",
                                     "--layers",
                                     "2",
                                     "--heads",
                                     "2",
                                     "--length",
                                     "20",
                                     "--stride",
                                     "8",
                                     "--dropout",
                                     "0",
                                     "--batch",
                                     "16",
                                     "--epochs",
                                     "50",
                                     "--lr",
                                     "0.004",
                                     "--out",
                                     folder / "m",
                                     "--plot",
                                     folder / "c.png"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return tegula_cli(arguments);
}

/// The number behind a word of the output.
double number_behind(const std::string& text, const std::string& word) {
  const auto at = text.find(word);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + word.size()));
}

TEST(AnswerCommands, LearnWhereAnswersStandAndFindThem) {
  const TemporaryFolder folder;
  write(folder / "train.json", questions(64, false));
  const Ran learnt = train(folder, {"--test", folder / "train.json"});
  ASSERT_EQ(learnt.status, 0) << learnt.err;
  EXPECT_GT(number_behind(learnt.out, "validation: exact match "), 90) << learnt.out;
  EXPECT_GT(number_behind(learnt.out, "\ntest: exact match "), 90) << learnt.out;
  EXPECT_HAS(learnt.out, " of 64 questions");
  const Ran measured = tegula_cli({"answer", folder / "m", folder / "train.json", "--out", folder / "answers.json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  EXPECT_GT(number_behind(measured.out, "exact match "), 90) << measured.out;
  EXPECT_HAS(testing::text_of(io::read_file(folder / "answers.json")), "\"q5\": \"");
  const Ran asked = tegula_cli({"answer", folder / "m", "--text", "dog red and box blue", "--question", "what colour is the box"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(asked.out, "blue\twhat colour is the box\n");
  EXPECT_HAS(tegula_cli({"summary", folder / "m"}).out, "m: bert-question-answering\n");
  // A model of questions begins another training, and what cannot be is said.
  EXPECT_EQ(train(folder, {"--from", folder / "m", "--epochs", "1"}).status, 0);
  EXPECT_HAS(train(folder, {"--classify"}).err, "--questions and --classify");
  EXPECT_HAS(tegula_cli({"answer", folder / "m", "--question", "who"}).err,
             "--question without --text and --context, expected one of them");
  EXPECT_HAS(tegula_cli({"answer", folder / "m"}).err, "no questions");
  EXPECT_HAS(tegula_cli({"classify", folder / "m", "a"}).err, "expected a classifier of texts");
  EXPECT_HAS(tegula_cli({"answer", folder / "train.json", "--question", "who", "--text", "me"}).err, "train.json");
}

TEST(AnswerCommands, SayWhereATextHasNoAnswer) {
  const TemporaryFolder folder;
  write(folder / "train.json", questions(64, true));
  const Ran learnt = train(folder, {});
  ASSERT_EQ(learnt.status, 0) << learnt.err;
  EXPECT_HAS(learnt.out, "48 with an answer ");
  EXPECT_GT(number_behind(learnt.out, ", 16 without one "), 90) << learnt.out;
  const Ran asked = tegula_cli({"answer", folder / "m", "--text", "dog red and box blue", "--question", "what colour is the sky"});
  EXPECT_EQ(asked.out, "(no answer)\twhat colour is the sky\n") << asked.err;
}

}  // namespace
}  // namespace tegula
