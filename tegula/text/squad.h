#pragma once
// Questions with answers in a text: SQuAD's files and measures (Rajpurkar et al., 2016; with questions that have no answer, 2018).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::text {

struct Question {
  std::string id, text, context;
  std::vector<std::string> answers;    // as several people gave them; none: the text has no answer
  std::vector<std::size_t> begins;     // of each in the context, in bytes
};
/// A file of SQuAD 1.1 or 2.0 (train-v2.0.json). Throws Error, naming the file and the entry, for text that is no such JSON, and answers that do not stand in the
/// context where the file says.
std::vector<Question> read_squad(const std::string& path);
std::vector<Question> parse_squad(std::string_view json, std::string_view name);

/// The answer as SQuAD's script compares it: in lower case, without ASCII punctuation and the words a, an, the, one blank between words.
std::string normalized_answer(std::string_view answer);
/// 1 where prediction and answer are alike after that, else 0.
double exact_match(std::string_view prediction, std::string_view answer);
/// The harmonic mean of precision and recall of the words in common, each as often as it comes; with no words on one side, whether there are none on the other.
double answer_f1(std::string_view prediction, std::string_view answer);

/// Scores in percent, over questions; of several answers the best counts. A prediction "" says that there is no answer.
struct AnswerScores {
  double exact = 0, f1 = 0;
  std::int64_t total = 0, missing = 0;  // questions, and those among them without a prediction, which count as 0
  double answered_exact = 0, answered_f1 = 0;  // of questions that have an answer …
  std::int64_t answered = 0;
  double unanswered_exact = 0;  // … and of the questions that have none
  std::int64_t unanswered = 0;
};
/// `predictions` by the questions' ids. Throws Error for no questions.
AnswerScores score_answers(std::span<const Question> questions, const std::map<std::string, std::string>& predictions);

}  // namespace tegula::text
