#pragma once
// Text from a decoder: a prompt at once, then token by token, with a cache of earlier tokens.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tegula/nn/sequences/cache.h"
#include "tegula/ops/random.h"

namespace tegula::models {

/// The choice of a token by its scores.
struct Sampling {
  double temperature = 1;  // the scores are divided by it; 0: always the greatest
  std::int64_t top_k = 0;  // only the k greatest; 0: all
  double top_p = 1;  // only the greatest whose probabilities reach p together (Holtzman et al., 2020)
  double min_p = 0;  // only those with this share of the greatest probability (Nguyen et al., 2024)
  double repetition_penalty =
      1;  // scores of tokens that were there are divided by it where positive, else multiplied (Keskar et al., 2019)
  bool operator==(const Sampling&) const = default;
};

/// Scores (B, V) -> tokens (B) i64, filtered in the order of the fields; the penalty comes first. `seen` (B, V), boolean, says which tokens were
/// there; it may be empty without a penalty. Throws Error for options that make no sense.
Tensor sample(Arg scores, const Sampling& sampling, const Tensor& seen = {}, Generator* generator = nullptr);

struct GenerateOptions {
  std::int64_t max_new_tokens = 128;  // of each sequence; fewer if the cache is full
  Sampling sampling = {.temperature = 0};
  std::vector<std::int64_t> stop_tokens = {};  // end a sequence, which does not hold them
  std::vector<std::string> stop_strings = {};  // end a sequence where its text, by `text`, holds one; needs `text`
  std::function<std::string(const std::vector<std::int64_t>&)> text = {};  // decodes the new tokens
  std::function<bool(std::size_t sequence, std::int64_t token)> on_token = {};  // each new token when it is known; false ends the sequence
  std::int64_t beams = 1;  // more: the best of a beam search, without sampling; on_token and stop strings are for one beam
  double length_penalty = 1;  // a beam counts its log-probability / length^penalty (Wu et al., 2016, in Hugging Face's form)
  Generator* generator = nullptr;
};

/// Tokens without the prompt; with beams, and the score of the best one.
struct Generated {
  std::vector<std::int64_t> tokens;
  double score = 0;  // beams: log-probability / length^penalty
  bool finished = false;  // by a stop, not by the length
};

/// Compiles a decoder once and generates with it: one executable serves all lengths, another each width of prompts (powers of two).
/// The model has hidden(tokens, cache), head(x) and cache(batch, capacity) as models::Llama; it must outlive this.
class TextGenerator {
 public:
  template <class Model>
  explicit TextGenerator(const Model& model, std::int64_t batch = 1, std::int64_t capacity = 0)
      : TextGenerator([&model](Tensor tokens, nn::KeyValueCache* cache) { return model.hidden(tokens, cache); },
                      [&model](Tensor x) { return model.head(x); }, model.cache(batch, capacity)) {}
  using Hidden = std::function<Tensor(Tensor tokens, nn::KeyValueCache* cache)>;  // (B, T) -> (B, T, width)
  using Head = std::function<Tensor(Tensor x)>;  // (B, width) -> (B, vocabulary)
  TextGenerator(Hidden hidden, Head head, nn::KeyValueCache cache);
  ~TextGenerator();
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;

  /// One prompt for each sequence of the cache (beams: for all), none of them empty; they may differ in length. Throws Error for a prompt
  /// that leaves no room in the cache, and a token outside of the vocabulary.
  std::vector<Generated> operator()(const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options = {});
  /// One prompt.
  Generated operator()(const std::vector<std::int64_t>& prompt, const GenerateOptions& options = {});

  /// Executables of the token step so far: one, for all lengths.
  std::size_t step_signatures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::models
