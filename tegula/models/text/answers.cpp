#include "tegula/models/text/answers.h"

#include <algorithm>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/data/dataset.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/unicode.h"

namespace tegula::models {
namespace {

constexpr double kNoPlace = -1e9;  // the score of padding: far below all others, and finite, so that 0 times it is 0

HostArray whole_numbers(const std::vector<std::int64_t>& values, const Shape& shape) {
  return HostArray::from(std::span<const std::int64_t>(values), shape);
}

}  // namespace

BertForQuestionAnswering::BertForQuestionAnswering(const BertOptions& options)
    : bert(options, Bert::Pooling::No),
      qa_outputs(options.width, 2, {.dtype = options.dtype}) {}

std::vector<Tensor> BertForQuestionAnswering::operator()(Arg tokens, const BertInput& input) const {
  const In frame("BertForQuestionAnswering", tokens.loc);
  const Tensor scores = qa_outputs(bert(tokens, input));  // (B, T, 2)
  std::vector<Tensor> out{select(scores, 2, 0), select(scores, 2, 1)};
  if (input.lengths.defined()) {
    const Tensor is_token = arange(scores.size(1)) < unsqueeze(input.lengths, 1);  // (B, T)
    for (Tensor& one : out) one = where(is_token, one, kNoPlace);
  }
  return out;
}

Tensor answer_loss(const std::vector<Tensor>& scores, const std::vector<Tensor>& places) {
  return (cross_entropy(scores.at(0), places.at(0)) + cross_entropy(scores.at(1), places.at(1))) * 0.5;
}

AnswerWindows::AnswerWindows(std::vector<text::Question> questions, const text::Tokenizer& tokenizer, const AnswerWindowOptions& options)
    : questions_(std::move(questions)),
      length_(options.length) {
  if (options.question < 1 || options.stride < 1 || options.length < options.question + 4) {
    throw Error({.op = "AnswerWindows",
                 .got = "windows of " + std::to_string(options.length) + " tokens, questions of " + std::to_string(options.question) +
                        ", a stride of " + std::to_string(options.stride),
                 .expected = "room for a question, three tokens around the texts, and a context"});
  }
  const text::Id begin = tokenizer.id("[CLS]"), separator = tokenizer.id("[SEP]");
  for (std::size_t q = 0; q < questions_.size(); ++q) {
    const text::Question& question = questions_[q];
    text::Ids head = tokenizer.encode(question.text, text::SpecialTokens::No);
    head.resize(std::min(head.size(), static_cast<std::size_t>(options.question)));
    head.insert(head.begin(), begin);
    head.push_back(separator);

    text::Ids context;
    std::vector<Span> words;
    const auto add_word = [&](std::size_t from, std::size_t to) {
      for (const text::Id token : tokenizer.encode(question.context.substr(from, to - from), text::SpecialTokens::No))
        context.push_back(token), words.push_back({from, to});
    };
    std::size_t at = 0, word = 0;
    text::for_each_character(question.context, [&](char32_t code, std::string_view bytes) {
      if (text::is_space(code)) {
        if (at > word) add_word(word, at);
        word = at + bytes.size();
      }
      at += bytes.size();
    });
    if (at > word) add_word(word, at);

    // The first answer is the one to learn.
    std::int64_t answer_first = -1, answer_last = -1;
    if (!question.answers.empty() && !question.answers[0].empty()) {
      const std::size_t from = question.begins.at(0), to = from + question.answers[0].size();
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].begin >= to || words[i].end <= from) continue;
        if (answer_first < 0) answer_first = static_cast<std::int64_t>(i);
        answer_last = static_cast<std::int64_t>(i);
      }
    }
    const std::size_t room = static_cast<std::size_t>(options.length) - head.size() - 1;
    for (std::size_t first = 0;; first += static_cast<std::size_t>(options.stride)) {
      const std::size_t last = std::min(first + room, context.size());
      Window window{.question = q, .tokens = head, .context_at = head.size(), .words = {}, .first = 0, .last = 0};
      for (std::size_t i = first; i < last; ++i) window.tokens.push_back(context[i]), window.words.push_back(words[i]);
      window.tokens.push_back(separator);
      const auto from = static_cast<std::int64_t>(first), to = static_cast<std::int64_t>(last);
      if (answer_first >= from && answer_last >= 0 && answer_last < to) {
        window.first = static_cast<std::int64_t>(head.size()) + answer_first - from;
        window.last = static_cast<std::int64_t>(head.size()) + answer_last - from;
      }
      windows_.push_back(std::move(window));
      if (last == context.size()) break;
    }
  }
}

data::Sample AnswerWindows::get(std::int64_t i) const {
  const Window& window = windows_[static_cast<std::size_t>(i)];
  std::vector<std::int64_t> tokens(window.tokens.begin(), window.tokens.end()), types(window.tokens.size(), 0);
  std::fill(types.begin() + static_cast<std::ptrdiff_t>(window.context_at), types.end(), 1);
  const auto count = static_cast<std::int64_t>(tokens.size());
  tokens.resize(static_cast<std::size_t>(length_), 0);
  types.resize(static_cast<std::size_t>(length_), 0);
  return {whole_numbers(tokens, {length_}), whole_numbers(types, {length_}), data::number(count), data::number(window.first),
          data::number(window.last)};
}

std::map<std::string, std::string> AnswerWindows::best(const Tensor& first, const Tensor& last, const BestOptions& options) const {
  if (first.shape() != Shape{size(), length_} || last.shape() != first.shape()) {
    throw Error({.op = "AnswerWindows::best",
                 .got = "scores " + to_string(first.shape()) + " and " + to_string(last.shape()),
                 .expected = to_string(Shape{size(), length_}) + " of both"});
  }
  const std::vector<double> of_first = first.to_host<double>(), of_last = last.to_host<double>();
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  struct Best {
    double score = kNone, none = std::numeric_limits<double>::infinity();
    std::string text;
  };
  std::vector<Best> found(questions_.size());
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const Window& window = windows_[w];
    const double* const begins = of_first.data() + w * static_cast<std::size_t>(length_);
    const double* const ends = of_last.data() + w * static_cast<std::size_t>(length_);
    Best& best = found[window.question];
    best.none = std::min(best.none, begins[0] + ends[0]);  // the window that has most of an answer decides
    for (std::size_t i = 0; i < window.words.size(); ++i) {
      const std::size_t end = std::min(window.words.size(), i + static_cast<std::size_t>(options.longest));
      for (std::size_t j = i; j < end; ++j) {
        const double score = begins[window.context_at + i] + ends[window.context_at + j];
        if (score <= best.score) continue;
        best.score = score;
        const Span &from = window.words[i], &to = window.words[j];
        best.text = questions_[window.question].context.substr(from.begin, to.end - from.begin);
      }
    }
  }
  std::map<std::string, std::string> out;
  for (std::size_t q = 0; q < questions_.size(); ++q) {
    const bool is_unanswered = options.may_be_unanswered && found[q].none > found[q].score;
    out[questions_[q].id] = is_unanswered ? "" : found[q].text;
  }
  return out;
}

AnswerFinder AnswerFinder::load(const std::string& path) {
  const ModelFile file = read_model_file(
      path,
      {.op = "AnswerFinder::load", .kind = kBertAnswersKind, .words = "a model of questions", .command = "tegula train bert --questions"});
  const ModelDescription& d = file.description;
  const BertOptions options = bert_options(d, path);
  AnswerFinder out{.net = std::make_unique<BertForQuestionAnswering>(options),
                   .tokenizer = text::parse_tokenizer_json(d.text("tokenizer", path), path),
                   .windows = {.length = d.whole("length", 5, options.context, path),
                               .stride = d.whole("stride", 1, options.context, path),
                               .question = d.whole("question", 1, options.context, path)},
                   .may_be_unanswered = d.whole("unanswered", 0, 1, path) == 1};
  if (out.tokenizer.size() > options.vocabulary) {
    throw Error({.op = "AnswerFinder::load",
                 .got = path + ": a tokenizer of " + std::to_string(out.tokenizer.size()) + " tokens",
                 .expected = "at most the model's " + std::to_string(options.vocabulary)});
  }
  tegula::load(*out.net, file.state);
  eval(*out.net);
  return out;
}

std::map<std::string, std::string> AnswerFinder::answer(std::vector<text::Question> questions, const Options& options) const {
  if (options.batch < 1 || options.longest < 1) {
    throw Error({.op = "AnswerFinder::answer",
                 .got = "batches of " + std::to_string(options.batch) + ", answers of " + std::to_string(options.longest) + " tokens",
                 .expected = "at least 1"});
  }
  if (questions.empty()) return {};
  const AnswerWindows set(std::move(questions), tokenizer, windows);
  std::vector<Tensor> first, last;
  for (std::int64_t from = 0; from < set.size(); from += options.batch) {
    std::vector<data::Sample> samples;
    for (std::int64_t i = from; i < std::min(from + options.batch, set.size()); ++i) samples.push_back(set.get(i));
    const std::vector<HostArray> batch = data::stack(samples);
    const std::vector<Tensor> scores = (*net)(from_array(batch[0]), {.lengths = from_array(batch[2]), .token_types = from_array(batch[1])});
    eval(scores[0], scores[1]);
    first.push_back(scores[0]), last.push_back(scores[1]);
  }
  return set.best(concat(first, 0), concat(last, 0), {.longest = options.longest, .may_be_unanswered = may_be_unanswered});
}

}  // namespace tegula::models
