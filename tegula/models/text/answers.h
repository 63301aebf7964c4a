#pragma once
// Answers in a text by BERT: where the answer to a question begins and ends (Devlin et al., 2019, section 4.2).

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/models/text/bert.h"
#include "tegula/text/squad.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::models {

/// Scores (B, T) of each token as the first and as the last of the answer; padding has the least number. Parameters have Hugging Face's names ("qa_outputs.weight").
class BertForQuestionAnswering {
 public:
  explicit BertForQuestionAnswering(const BertOptions& options = {});
  std::vector<Tensor> operator()(Arg tokens, const BertInput& input = {}) const;

  Bert bert;
  nn::Linear qa_outputs;
  static constexpr auto fields = nn::fields<&BertForQuestionAnswering::bert, &BertForQuestionAnswering::qa_outputs>;
};
/// The mean of both cross-entropies, of scores as above and places (B) of the first and last token.
Tensor answer_loss(const std::vector<Tensor>& scores, const std::vector<Tensor>& places);

struct AnswerWindowOptions {
  std::int64_t length = 384;  // tokens of a window: the frame, the question and a part of the context
  std::int64_t stride = 128;  // tokens from a window's beginning to the next one's
  std::int64_t question = 64;  // tokens of a question, which is cut behind them
};

/// Questions with their contexts as windows of one length: a sample is {tokens (T), types (T), length (), first (), last ()}, all i64; first and last are those of the answer, or 0, the
/// [CLS], where the window does not hold it. A context is cut at white space, and each of its words into tokens, so that tokens know their place in it.
class AnswerWindows {
 public:
  /// Throws Error for a tokenizer without [CLS] and [SEP], and lengths that leave no room for a context.
  AnswerWindows(std::vector<text::Question> questions, const text::Tokenizer& tokenizer, const AnswerWindowOptions& options = {});

  std::int64_t size() const { return static_cast<std::int64_t>(windows_.size()); }
  data::Sample get(std::int64_t i) const;
  const std::vector<text::Question>& questions() const { return questions_; }

  struct BestOptions {
    std::int64_t longest = 30;  // tokens of an answer
    bool may_be_unanswered = false;  // "" where [CLS] scores higher than every answer
  };
  /// The best answer of each question by its id, of scores (windows, T) of first and last tokens.
  std::map<std::string, std::string> best(const Tensor& first, const Tensor& last, const BestOptions& options) const;
  std::map<std::string, std::string> best(const Tensor& first, const Tensor& last) const { return best(first, last, {}); }

 private:
  struct Span {
    std::size_t begin, end;  // bytes of the context
  };
  struct Window {
    std::size_t question;  // its number
    text::Ids tokens;  // [CLS] question [SEP] context [SEP]
    std::size_t context_at;  // where the context begins among the tokens
    std::vector<Span> words;  // of each token of the context: the word it belongs to
    std::int64_t first, last;
  };
  std::vector<text::Question> questions_;
  std::vector<Window> windows_;
  std::int64_t length_;
};

/// The kind of a question answering model in files.
inline constexpr const char* kBertAnswersKind = "bert-question-answering";

/// A model with its tokenizer and windows, as `tegula train bert --questions` writes it.
class AnswerFinder {
 public:
  /// Throws Error when the file holds something else.
  static AnswerFinder load(const std::string& path);

  struct Options {
    std::int64_t longest = 30;  // tokens of an answer
    std::int64_t batch = 32;  // windows side by side
  };
  /// The answer to each question by its id; "" where the model was taught that there may be none, and finds none.
  std::map<std::string, std::string> answer(std::vector<text::Question> questions, const Options& options) const;
  std::map<std::string, std::string> answer(std::vector<text::Question> questions) const { return answer(std::move(questions), {}); }

  std::unique_ptr<BertForQuestionAnswering> net;
  text::Tokenizer tokenizer;
  AnswerWindowOptions windows;
  bool may_be_unanswered = false;
};

}  // namespace tegula::models
