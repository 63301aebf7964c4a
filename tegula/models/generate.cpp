#include "tegula/models/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/models/beam.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

void check(const Sampling& s, std::int64_t vocabulary, const std::source_location& where) {
  const auto refuse = [&](const std::string& what, double value, const std::string& expected) {
    ops::refuse("sample", what + " = " + std::to_string(value), expected, where);
  };
  if (!(s.temperature >= 0)) refuse("temperature", s.temperature, "0 or more");
  if (s.top_k < 0) refuse("top_k", static_cast<double>(s.top_k), "0 or more of the " + std::to_string(vocabulary) + " tokens");
  if (!(s.top_p > 0 && s.top_p <= 1)) refuse("top_p", s.top_p, "above 0, at most 1");
  if (!(s.min_p >= 0 && s.min_p <= 1)) refuse("min_p", s.min_p, "from 0 to 1");
  if (!(s.repetition_penalty > 0)) refuse("repetition_penalty", s.repetition_penalty, "above 0");
}

}  // namespace

Tensor sample(Arg scores, const Sampling& s, const Tensor& seen, Generator* generator) {
  const In frame("sample", scores.loc);
  const Tensor given = scores.tensor("sample");
  if (given.rank() != 2 || !is_float(given.dtype()) || given.size(1) == 0)
    ops::refuse("sample", "scores of shape " + to_string(given.shape()), "floats (batch, vocabulary)", scores.loc);
  check(s, given.size(1), scores.loc);
  Tensor x = cast(given, f32);
  if (s.repetition_penalty != 1) {
    if (!seen.defined() || seen.shape() != x.shape())
      ops::refuse("sample", "a repetition_penalty without `seen`", "which tokens were there, " + to_string(x.shape()), scores.loc);
    x = where(seen, where(x > 0.0, x / s.repetition_penalty, x * s.repetition_penalty), x);
  }
  if (s.temperature == 0) return argmax(x, 1);
  x = x / s.temperature;
  if (s.top_k > 0 && s.top_k < x.size(1)) x = where(x >= slice(topk(x, s.top_k, 1).values, 1, {-1, {}}), x, kNever);
  if (s.top_p < 1) {
    const Tensor sorted = sort(x, 1, Order::Descending).values, p = softmax(sorted, 1);
    // Those before which the others have not reached top_p; the first always.
    const Tensor least = min(where(cumsum(p, 1) - p < s.top_p, sorted, -kNever), 1, Keep::Yes);
    x = where(x >= least, x, kNever);
  }
  if (s.min_p > 0) x = where(x >= max(x, 1, Keep::Yes) + std::log(s.min_p), x, kNever);
  // The greatest of scores plus Gumbel noise is drawn with the probabilities of their softmax.
  const Tensor noise = -log(-log(uniform(x.shape(), 0, 1, {.dtype = f32, .generator = generator})));
  return argmax(x + noise, 1);
}

class TextGenerator::Impl {
 public:
  Impl(Hidden hidden, Head head, nn::KeyValueCache cache)
      : hidden_(std::move(hidden)),
        head_(std::move(head)),
        cache_(std::move(cache)),
        // Shapes alone: nothing is computed.
        vocabulary_(head_(select(hidden_(zeros({1, 1}, i64), nullptr), 1, 0)).size(-1)),
        seen_(zeros({cache_.size().batch, vocabulary_}, boolean)) {}

  std::vector<Generated> sampled(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& o) {
    compile(o);
    std::vector<Generated> out(prompts.size());
    std::vector<std::int64_t> next = prefill(prompts, o.sampling.repetition_penalty != 1)[0].to_host<std::int64_t>();
    std::int64_t room = std::min(o.max_new_tokens, room_);
    std::vector<bool> done(prompts.size());
    for (; room > 0; --room) {
      bool any = false;
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        if (!done[i]) done[i] = !take_token(out[i], i, next[i], o);
        any = any || !done[i];
      }
      if (!any || room == 1) break;
      next = (*step_)(tensor(next, {static_cast<std::int64_t>(next.size())}))[0].to_host<std::int64_t>();
    }
    return out;
  }

  std::vector<Generated> searched(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& o) {
    compile(o);
    std::vector<std::vector<std::int64_t>> rows;
    for (const auto& prompt : prompts) rows.insert(rows.end(), static_cast<std::size_t>(o.beams), prompt);
    const std::vector<Tensor> first = prefill(rows, false);
    const std::int64_t batch = cache_.size().batch;
    return search_beams(std::vector<BeamSearch>(prompts.size(), BeamSearch(o.beams, o.length_penalty, o.stop_tokens)),
                        std::min(o.max_new_tokens, room_), {first[0], first[1]},
                        [&](const std::vector<std::int64_t>& next, const std::vector<std::int64_t>& order) {
                          const std::vector<Tensor> best = (*step_)(stack({tensor(next, {batch}), tensor(order, {batch})}));
                          return Candidates{best[0], best[1]};
                        });
  }

  const nn::KeyValueCache& cache() const { return cache_; }
  std::size_t step_signatures() const { return step_ ? static_cast<std::size_t>(step_->executables()) : 0; }

 private:
  using Function = std::function<std::vector<Tensor>(const Tensor&)>;

  /// What was compiled for other options is made again: they are numbers in the programs.
  void compile(const GenerateOptions& o) {
    if (step_ && sampling_ == o.sampling && beams_ == o.beams && generator_ == o.generator) return;
    sampling_ = o.sampling, beams_ = o.beams, generator_ = o.generator;
    prefill_.emplace(jit(Function([this](const Tensor& in) {  // (B, 1 + W): how long each is, then its tokens
                           const Tensor last = slice(in, 1, {0, 1}) - 1, tokens = slice(in, 1, {1, {}});
                           const Tensor h = hidden_(tokens, &cache_);
                           const Shape one{h.size(0), 1, h.size(2)};
                           return chosen(squeeze(gather(h, 1, expand(unsqueeze(last, -1), one)), 1));
                         }),
                         {.signatures = 16}));
    step_.emplace(jit(Function([this](const Tensor& in) {  // (B) tokens; of beams (2, B), with the order of their former beams
      if (beams_ > 1) cache_.reorder(select(in, 0, 1));
      const Tensor tokens = beams_ > 1 ? select(in, 0, 0) : in;
      return chosen(select(hidden_(unsqueeze(tokens, 1), &cache_), 1, 0));
    })));
  }

  /// Of the last tokens' features (B, width): the next tokens, or candidates for beams.
  std::vector<Tensor> chosen(const Tensor& features) {
    const Tensor scores = head_(features);
    if (beams_ > 1) {
      const Candidates best = best_candidates(scores, 2 * beams_);
      return {best.values, best.tokens};
    }
    const bool remembers = sampling_.repetition_penalty != 1;
    const Tensor next = sample(scores, sampling_, remembers ? seen_.read() : Tensor(), generator_);
    if (remembers) seen_ = seen_ || iota(seen_.shape(), 1) == unsqueeze(next, 1);
    return {next};
  }

  /// Fills the cache with the prompts and chooses what follows.
  std::vector<Tensor> prefill(const std::vector<std::vector<std::int64_t>>& prompts, bool remember) {
    std::size_t longest = 0, shortest = prompts[0].size();
    for (const auto& prompt : prompts) longest = std::max(longest, prompt.size()), shortest = std::min(shortest, prompt.size());
    const bool ragged = longest != shortest;
    const auto most = static_cast<std::int64_t>(longest), capacity = cache_.size().capacity, batch = cache_.size().batch;
    if (most >= capacity || shortest == 0) {
      ops::refuse("TextGenerator", "a prompt of " + std::to_string(shortest == 0 ? 0 : most) + " tokens",
                  "1 to " + std::to_string(capacity - 1) + ", so that the cache has room for another", {},
                  "cut the prompt, or make a larger cache");
    }
    // Few widths, so that few programs are compiled. Columns behind a prompt are written over where all are as long.
    const auto wide = static_cast<std::int64_t>(std::bit_ceil(std::max<std::size_t>(longest, 8)));
    const std::int64_t width = ragged ? (2 * wide <= capacity ? wide : most) : std::min(wide, capacity);
    std::vector<std::int64_t> rows, lengths;
    std::vector<unsigned char> seen(remember ? static_cast<std::size_t>(batch * vocabulary_) : 0);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      lengths.push_back(static_cast<std::int64_t>(prompts[i].size()));
      rows.push_back(lengths.back());
      rows.insert(rows.end(), prompts[i].begin(), prompts[i].end());
      rows.resize((i + 1) * static_cast<std::size_t>(width + 1), 0);
      for (const std::int64_t token : prompts[i]) {
        if (token < 0 || token >= vocabulary_) {
          ops::refuse("TextGenerator", "token " + std::to_string(token), "one of the vocabulary's " + std::to_string(vocabulary_), {},
                      "is this the model's tokenizer?");
        }
        if (remember) seen[i * static_cast<std::size_t>(vocabulary_) + static_cast<std::size_t>(token)] = 1;
      }
    }
    if (remember) seen_ = cast(tensor(seen, {batch, vocabulary_}), boolean);
    if (ragged) cache_.begin(lengths, width);
    else cache_.truncate();
    std::vector<Tensor> next = (*prefill_)(tensor(rows, {batch, width + 1}));
    if (!ragged) cache_.truncate(most);
    room_ = capacity - (ragged ? width : most);
    return next;
  }

  /// Whether the sequence goes on behind the token.
  static bool take_token(Generated& to, std::size_t sequence, std::int64_t token, const GenerateOptions& o) {
    if (std::ranges::find(o.stop_tokens, token) != o.stop_tokens.end()) return !(to.finished = true);
    to.tokens.push_back(token);
    if (o.on_token && !o.on_token(sequence, token)) return !(to.finished = true);
    if (o.stop_strings.empty()) return true;
    const std::string text = o.text(to.tokens);
    to.finished = std::ranges::any_of(o.stop_strings, [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
    return !to.finished;
  }

  Hidden hidden_;
  Head head_;
  nn::KeyValueCache cache_;
  std::int64_t vocabulary_;
  Variable seen_;  // (B, V): tokens that were there, where somebody asks
  Sampling sampling_;
  std::int64_t beams_ = 1, room_ = 0;
  Generator* generator_ = nullptr;
  std::optional<Jit<Function>> prefill_, step_;
};

TextGenerator::TextGenerator(Hidden hidden, Head head, nn::KeyValueCache cache)
    : impl_(std::make_unique<Impl>(std::move(hidden), std::move(head), std::move(cache))) {}
TextGenerator::~TextGenerator() = default;
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;

std::vector<Generated> TextGenerator::operator()(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options) {
  const auto batch = static_cast<std::size_t>(impl_->cache().size().batch);
  if (options.beams < 1 || prompts.size() * static_cast<std::size_t>(options.beams) != batch) {
    ops::refuse("TextGenerator", std::to_string(prompts.size()) + " prompts with " + std::to_string(options.beams) + " beams",
                "as many together as the cache's " + std::to_string(batch) + " sequences", {});
  }
  if (options.max_new_tokens < 0)
    ops::refuse("TextGenerator", "max_new_tokens = " + std::to_string(options.max_new_tokens), "0 or more", {});
  if (!options.stop_strings.empty() && !options.text)
    ops::refuse("TextGenerator", "stop_strings without `text`", "what makes text of tokens", {});
  if (options.beams > 1 && (!options.stop_strings.empty() || options.on_token))
    ops::refuse("TextGenerator", "on_token or stop_strings with beams", "one beam: several are known at the end", {});
  return options.beams > 1 ? impl_->searched(prompts, options) : impl_->sampled(prompts, options);
}

Generated TextGenerator::operator()(const std::vector<std::int64_t>& prompt, const GenerateOptions& options) {
  return (*this)(std::vector<std::vector<std::int64_t>>{prompt}, options)[0];
}

std::size_t TextGenerator::step_signatures() const { return impl_->step_signatures(); }

}  // namespace tegula::models
