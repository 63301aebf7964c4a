#pragma once
// Shared by all generators: their prompts, and the loop over tokens.

#include <functional>
#include <vector>

#include "tegula/models/text/generate.h"

namespace tegula::models::detail {

using Prompts = std::vector<std::vector<std::int64_t>>;

/// The width to which a batch of prompts is padded: few widths, so that few programs are compiled.
std::int64_t prompt_width(std::size_t longest);

/// (B, 1 + width) i64: how long each prompt is, then its tokens, then zeros. Throws Error for a token outside of the vocabulary.
Tensor packed(const Prompts& prompts, std::int64_t width, std::int64_t vocabulary);

/// Chooses tokens by their scores in jit-ed functions, and remembers earlier tokens if a penalty asks for them.
class TokenChooser {
 public:
  TokenChooser(std::int64_t batch, std::int64_t vocabulary);
  /// Chooses with these options from now on; true if functions must be compiled again for that.
  bool use(const Sampling& sampling, Generator* generator);
  /// The tokens of these prompts were there.
  void begin(const Prompts& prompts);
  /// scores (B, V) -> tokens (B), which are remembered.
  Tensor operator()(const Tensor& scores);

 private:
  std::int64_t vocabulary_;
  Variable seen_;  // (B, V)
  Sampling sampling_;
  Generator* generator_ = nullptr;
  bool used_ = false;
};

/// Takes `next`, the first token of each sequence, and the tokens that `step` gives for the ones before, until all sequences ended or have
/// options.max_new_tokens or `room` tokens.
std::vector<Generated> generate_tokens(std::vector<std::int64_t> next, std::int64_t room, const GenerateOptions& options,
                                       const std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>&)>& step);

/// Throws Error for options that contradict each other, and for prompts and beams that are not `batch` sequences together.
void check_options(std::string_view op, std::size_t prompts, std::size_t batch, const GenerateOptions& options);

}  // namespace tegula::models::detail
