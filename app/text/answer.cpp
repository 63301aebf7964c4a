// tegula answer: answers to questions about a text, by a model of tegula train bert --questions.

#include "app/text/answer.h"

#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/models/text/answers.h"
#include "tegula/text/lines.h"

namespace tegula::app {
namespace {

constexpr const char* kAnswer = "tegula answer";

struct AnswerChoice {
  std::string model, context, text, out;
  std::vector<std::string> files, questions;
  models::AnswerFinder::Options options;
};

/// Questions about one text.
std::vector<text::Question> asked(const AnswerChoice& choice) {
  if (choice.context.empty() == choice.text.empty())
    throw Error({.op = kAnswer,
                 .got = "--question " + std::string(choice.text.empty() ? "without" : "with both") + " --text and --context",
                 .expected = "one of them"});
  const std::string context = choice.text.empty() ? text::read_text(choice.context, kAnswer) : choice.text;
  std::vector<text::Question> out;
  for (const std::string& one : choice.questions)
    out.push_back({.id = std::to_string(out.size()), .text = one, .context = context, .answers = {}, .begins = {}});
  return out;
}

/// Writes the predictions as SQuAD's own script reads them.
void write_predictions(const std::string& path, const std::map<std::string, std::string>& predictions) {
  const std::string text = nlohmann::json(predictions).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  io::write_atomically(path, std::as_bytes(std::span(text)), kAnswer);
}

void run_answer(const AnswerChoice& choice) {
  if (choice.files.empty() == choice.questions.empty())
    throw Error({.op = kAnswer,
                 .got = choice.files.empty() ? "no questions" : "files of questions and --question",
                 .expected = "files of SQuAD, or --question with --text or --context"});
  if (!choice.out.empty()) io::require_writable(choice.out, kAnswer);
  const models::AnswerFinder model = models::AnswerFinder::load(choice.model);
  std::vector<text::Question> questions;
  if (choice.files.empty()) questions = asked(choice);
  for (const std::string& file : choice.files)
    for (text::Question& one : text::read_squad(file)) questions.push_back(std::move(one));
  const auto answers = model.answer(questions, choice.options);
  if (!choice.out.empty()) write_predictions(choice.out, answers);
  if (!choice.files.empty()) {
    std::printf("%s\n", answer_scores_text(text::score_answers(questions, answers)).c_str());
    return;
  }
  for (const text::Question& one : questions) {
    const std::string& answer = answers.at(one.id);
    std::printf("%s\t%s\n", answer.empty() ? "(no answer)" : printable(answer).c_str(), printable(one.text).c_str());
  }
}

}  // namespace

std::string answer_scores_text(const text::AnswerScores& s) {
  std::string text = format("exact match %.2f %%, F1 %.2f of %lld questions", s.exact, s.f1, static_cast<long long>(s.total));
  if (s.unanswered > 0)
    text += format("; %lld with an answer %.2f %%, F1 %.2f, %lld without one %.2f %%", static_cast<long long>(s.answered), s.answered_exact,
                   s.answered_f1, static_cast<long long>(s.unanswered), s.unanswered_exact);
  return text;
}

void add_answer(Command& app) {
  auto choice = std::make_shared<AnswerChoice>();
  Command command = app.command("answer", "answers to questions about a text, where they stand in it");
  command.option("model", choice->model, "a model of tegula train bert --questions").required().type("MODEL");
  command.option("files", choice->files, "questions with texts and answers (SQuAD's .json): prints exact match and F1").type("FILE");
  command.option("--question", choice->questions, "about the text; may be given several times").check(not_empty()).type("QUESTION");
  command.option("--context", choice->context, "the file of that text").check(not_empty()).type("FILE");
  command.option("--text", choice->text, "the text itself").check(not_empty()).type("TEXT");
  command.option("--longest", choice->options.longest, "tokens of an answer").check(positive()).shows_default().type("N");
  command.option("--batch", choice->options.batch, "parts of texts side by side").check(positive()).shows_default().type("N");
  command.option("--out", choice->out, "the answers by the questions' ids, as JSON").check(not_empty()).type("FILE");
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_answer(*choice); });
}

}  // namespace tegula::app
