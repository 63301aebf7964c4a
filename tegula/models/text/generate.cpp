#include "tegula/models/text/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/models/text/beam.h"
#include "tegula/models/text/token_loop.h"
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

void check(const Sampling& s, std::int64_t vocabulary, const Line& where) {
  const auto refuse = [&](const std::string& what, double value, const std::string& expected) {
    std::ostringstream given;
    given << what << " = " << value;
    ops::refuse("sample", given.str(), expected, where);
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
  if (s.temperature == 0 && s.repetition_penalty == 1) return argmax(given, 1);
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
    // The tokens before which the others have not reached top_p; always including the first.
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
        choose_(cache_.size().batch, vocabulary_) {}

  std::vector<Generated> sampled(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& o) {
    compile(o);
    std::vector<std::int64_t> next = prefill(prompts)[0].to_host<std::int64_t>();
    return detail::generate_tokens(std::move(next), room_, o, [this](const std::vector<std::int64_t>& tokens) {
      return (*step_)(tensor(tokens, {static_cast<std::int64_t>(tokens.size())}))[0].to_host<std::int64_t>();
    });
  }

  std::vector<Generated> searched(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& o) {
    compile(o);
    std::vector<std::vector<std::int64_t>> rows;
    for (const auto& prompt : prompts) rows.insert(rows.end(), static_cast<std::size_t>(o.beams), prompt);
    const std::vector<Tensor> first = prefill(rows);
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

  /// Functions compiled for other options are made again: options are constants in the programs.
  void compile(const GenerateOptions& o) {
    const bool chooses_anew = choose_.use(o.sampling, o.generator);
    if (step_ && !chooses_anew && beams_ == o.beams) return;
    beams_ = o.beams;
    prefill_.emplace(jit(Function([this](const Tensor& in) {  // (B, 1 + W): how long each is, then its tokens
                           const Tensor last = slice(in, 1, {0, 1}) - 1, tokens = slice(in, 1, {1, {}});
                           const auto beginning = cache_.from_empty();
                           const Tensor h = hidden_(tokens, &cache_);
                           // Without a check, behind which the cache could not be written where it lies.
                           const Tensor is_last = unsqueeze(arange(h.size(1)) == last, -1);  // (B, W, 1)
                           return chosen(sum(where(is_last, h, 0.0), 1));
                         }),
                         {.signatures = 16}));
    step_.emplace(jit(Function([this](const Tensor& in) {  // (B) tokens; of beams (2, B), with the order of their former beams
      if (beams_ > 1) cache_.reorder(select(in, 0, 1));
      const Tensor tokens = beams_ > 1 ? select(in, 0, 0) : in;
      return chosen(select(hidden_(unsqueeze(tokens, 1), &cache_), 1, 0));
    })));
  }

  /// Returns the next tokens, or candidates for beams, from the last tokens' features (B, width).
  std::vector<Tensor> chosen(const Tensor& features) {
    const Tensor scores = head_(features);
    if (beams_ > 1) {
      const Candidates best = best_candidates(scores, 2 * beams_);
      return {best.values, best.tokens};
    }
    return {choose_(scores)};
  }

  /// Fills the cache with the prompts and chooses the first new tokens.
  std::vector<Tensor> prefill(const detail::Prompts& prompts) {
    std::size_t longest = 0, shortest = prompts[0].size();
    for (const auto& prompt : prompts) longest = std::max(longest, prompt.size()), shortest = std::min(shortest, prompt.size());
    const bool ragged = longest != shortest;
    const auto most = static_cast<std::int64_t>(longest), capacity = cache_.size().capacity;
    if (most >= capacity || shortest == 0) {
      ops::refuse("TextGenerator", "a prompt of " + std::to_string(shortest == 0 ? 0 : most) + " tokens",
                  "1 to " + std::to_string(capacity - 1) + ", so that the cache has room for another", {},
                  "cut the prompt, or make a larger cache");
    }
    // Columns behind a prompt are written over where all are as long.
    const std::int64_t wide = detail::prompt_width(longest);
    const std::int64_t width = ragged ? (2 * wide <= capacity ? wide : most) : std::min(wide, capacity);
    const Tensor rows = detail::packed(prompts, width, vocabulary_);
    choose_.begin(prompts);
    std::vector<std::int64_t> lengths;
    for (const auto& prompt : prompts) lengths.push_back(static_cast<std::int64_t>(prompt.size()));
    if (ragged) cache_.begin(lengths, width);
    else cache_.truncate();
    std::vector<Tensor> next = (*prefill_)(rows);
    if (!ragged) cache_.truncate(most);
    room_ = capacity - (ragged ? width : most);
    return next;
  }

  Hidden hidden_;
  Head head_;
  nn::KeyValueCache cache_;
  std::int64_t vocabulary_;
  detail::TokenChooser choose_;
  std::int64_t beams_ = 1, room_ = 0;
  std::optional<Jit<Function>> prefill_, step_;
};

TextGenerator::TextGenerator(Hidden hidden, Head head, nn::KeyValueCache cache)
    : impl_(std::make_unique<Impl>(std::move(hidden), std::move(head), std::move(cache))) {}
TextGenerator::~TextGenerator() = default;
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;

std::vector<Generated> TextGenerator::operator()(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options) {
  detail::check_options("TextGenerator", prompts.size(), static_cast<std::size_t>(impl_->cache().size().batch), options);
  return options.beams > 1 ? impl_->searched(prompts, options) : impl_->sampled(prompts, options);
}

Generated TextGenerator::operator()(const std::vector<std::int64_t>& prompt, const GenerateOptions& options) {
  return (*this)(std::vector<std::vector<std::int64_t>>{prompt}, options)[0];
}

std::size_t TextGenerator::step_signatures() const { return impl_->step_signatures(); }

}  // namespace tegula::models
