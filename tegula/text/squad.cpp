#include "tegula/text/squad.h"

#include <algorithm>
#include <cstddef>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

using Json = nlohmann::json;

constexpr const char* kReadSquad = "read_squad";

/// One file, for its complaints.
class SquadFile {
 public:
  explicit SquadFile(std::string_view name) : name_(name) {}

  std::vector<Question> questions(const Json& file) const {
    std::vector<Question> out;
    each(file, "data", "", [&](const Json& article, const std::string& of_article) {
      each(article, "paragraphs", of_article, [&](const Json& paragraph, const std::string& of_paragraph) {
        const std::string context = text(paragraph, "context", of_paragraph);
        each(paragraph, "qas", of_paragraph, [&](const Json& one, const std::string& where) {
          Question question{text(one, "id", where), text(one, "question", where), context, {}, {}};
          each(one, "answers", where, [&](const Json& answer, const std::string& of_answer) {
            question.answers.push_back(text(answer, "text", of_answer));
            question.begins.push_back(begin_of(answer, question, of_answer));
          });
          out.push_back(std::move(question));
        });
      });
    });
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const {
    throw Error({.op = kReadSquad, .got = "file " + printable(name_ + ": " + got), .expected = expected});
  }
  template <class F>
  void each(const Json& of, const char* list, const std::string& where, F f) const {
    const auto found = of.is_object() ? of.find(list) : of.end();
    if (!of.is_object() || found == of.end() || !found->is_array()) refuse(where + " without the list " + list, "a file of SQuAD");
    std::size_t i = 0;
    for (const Json& one : *found) f(one, where + (where.empty() ? "" : ".") + list + "[" + std::to_string(i++) + "]");
  }
  std::string text(const Json& of, const char* key, const std::string& where) const {
    const auto found = of.is_object() ? of.find(key) : of.end();
    if (!of.is_object() || found == of.end() || !found->is_string()) refuse(where + " without the text " + key, "a file of SQuAD");
    return found->get<std::string>();
  }
  /// The file counts characters, the result bytes.
  std::size_t begin_of(const Json& answer, const Question& question, const std::string& where) const {
    const auto found = answer.find("answer_start");
    const std::string& said = question.answers.back();
    if (found == answer.end() || !found->is_number_integer() || found->get<std::int64_t>() < 0)
      refuse(where + " without a whole number answer_start", "a file of SQuAD");
    std::size_t at = 0;
    for (std::int64_t left = found->get<std::int64_t>(); left > 0 && at < question.context.size(); --left)
      at += front_character(std::string_view(question.context).substr(at)).bytes;
    if (question.context.compare(at, said.size(), said) != 0)
      refuse(where + ", which does not stand at its answer_start: " + said.substr(0, 60), "a part of the context");
    return at;
  }

  std::string name_;
};

/// True for the characters of Python's string.punctuation.
bool is_ascii_punctuation(char32_t code) {
  return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
}

/// The words of a normalised answer.
std::vector<std::string> answer_words(std::string_view answer) {
  std::string kept;
  for_each_character(lowercase(answer), [&](char32_t code, std::string_view bytes) {
    if (!is_ascii_punctuation(code)) kept += bytes;
  });
  // Articles end where a letter or digit does, which need not be at a blank: "the–end".
  std::vector<std::string> words{""};
  std::string run;  // of letters and digits
  const auto finish_run = [&] {
    if (run == "a" || run == "an" || run == "the") words.emplace_back();
    else words.back() += run;
    run.clear();
  };
  for_each_character(kept, [&](char32_t code, std::string_view bytes) {
    if (is_letter(code) || is_number(code)) {
      run += bytes;
      return;
    }
    finish_run();
    if (is_space(code)) words.emplace_back();
    else words.back() += bytes;
  });
  finish_run();
  std::erase(words, "");
  return words;
}

}  // namespace

std::vector<Question> parse_squad(std::string_view json, std::string_view name) {
  return SquadFile(name).questions(parse_json(json, kReadSquad, name));
}

std::vector<Question> read_squad(const std::string& path) {
  const io::Bytes bytes = io::read_file(path, {.op = kReadSquad});
  return parse_squad({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string normalized_answer(std::string_view answer) {
  std::string out;
  for (const std::string& word : answer_words(answer)) out += (out.empty() ? "" : " ") + word;
  return out;
}

double exact_match(std::string_view prediction, std::string_view answer) {
  return normalized_answer(prediction) == normalized_answer(answer) ? 1 : 0;
}

double answer_f1(std::string_view prediction, std::string_view answer) {
  const std::vector<std::string> said = answer_words(prediction), wanted = answer_words(answer);
  if (said.empty() || wanted.empty()) return said.empty() && wanted.empty() ? 1 : 0;
  std::map<std::string_view, std::int64_t> left;
  for (const std::string& word : wanted) ++left[word];
  double common = 0;
  for (const std::string& word : said) {
    const auto found = left.find(word);
    if (found != left.end() && found->second > 0) --found->second, common += 1;
  }
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(said.size()), recall = common / static_cast<double>(wanted.size());
  return 2 * precision * recall / (precision + recall);
}

AnswerScores score_answers(std::span<const Question> questions, const std::map<std::string, std::string>& predictions) {
  if (questions.empty()) throw Error({.op = "score_answers", .got = "no questions", .expected = "at least one"});
  AnswerScores scores;
  for (const Question& question : questions) {
    std::vector<std::string> answers;
    for (const std::string& answer : question.answers) {
      if (!normalized_answer(answer).empty()) answers.push_back(answer);
    }
    const bool has_answer = !answers.empty();
    if (!has_answer) answers.emplace_back();
    double exact = 0, f1 = 0;
    if (const auto found = predictions.find(question.id); found != predictions.end()) {
      for (const std::string& answer : answers) {
        exact = std::max(exact, exact_match(found->second, answer));
        f1 = std::max(f1, answer_f1(found->second, answer));
      }
    } else {
      ++scores.missing;
    }
    ++scores.total;
    scores.exact += exact, scores.f1 += f1;
    if (has_answer) ++scores.answered, scores.answered_exact += exact, scores.answered_f1 += f1;
    else ++scores.unanswered, scores.unanswered_exact += exact;
  }
  const auto percent = [](double& sum, std::int64_t count) {
    if (count > 0) sum *= 100 / static_cast<double>(count);
  };
  percent(scores.exact, scores.total), percent(scores.f1, scores.total);
  percent(scores.answered_exact, scores.answered), percent(scores.answered_f1, scores.answered);
  percent(scores.unanswered_exact, scores.unanswered);
  return scores;
}

}  // namespace tegula::text
