#include "tegula/models/text/token_loop.h"

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models::detail {

std::int64_t prompt_width(std::size_t longest) { return static_cast<std::int64_t>(std::bit_ceil(std::max<std::size_t>(longest, 8))); }

Tensor packed(const Prompts& prompts, std::int64_t width, std::int64_t vocabulary) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (const std::int64_t token : prompts[i]) {
      if (token < 0 || token >= vocabulary) {
        ops::refuse("TextGenerator", "token " + std::to_string(token), "one of the vocabulary's " + std::to_string(vocabulary), {},
                    "is this the model's tokenizer?");
      }
    }
    rows.push_back(static_cast<std::int64_t>(prompts[i].size()));
    rows.insert(rows.end(), prompts[i].begin(), prompts[i].end());
    rows.resize((i + 1) * static_cast<std::size_t>(width + 1), 0);
  }
  return tensor(rows, {static_cast<std::int64_t>(prompts.size()), width + 1});
}

TokenChooser::TokenChooser(std::int64_t batch, std::int64_t vocabulary)
    : vocabulary_(vocabulary),
      seen_(zeros({batch, vocabulary}, boolean)) {}

bool TokenChooser::use(const Sampling& sampling, Generator* generator) {
  if (used_ && sampling_ == sampling && generator_ == generator) return false;
  sampling_ = sampling, generator_ = generator;
  return used_ = true;
}

void TokenChooser::begin(const Prompts& prompts) {
  if (sampling_.repetition_penalty == 1) return;
  std::vector<unsigned char> seen(prompts.size() * static_cast<std::size_t>(vocabulary_));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    for (const std::int64_t token : prompts[i]) seen[i * static_cast<std::size_t>(vocabulary_) + static_cast<std::size_t>(token)] = 1;
  }
  seen_ = cast(tensor(seen, {static_cast<std::int64_t>(prompts.size()), vocabulary_}), boolean);
}

Tensor TokenChooser::operator()(const Tensor& scores) {
  const bool remembers = sampling_.repetition_penalty != 1;
  const Tensor next = sample(scores, sampling_, remembers ? seen_.read() : Tensor(), generator_);
  if (remembers) seen_ = seen_ || iota(seen_.shape(), 1) == unsqueeze(next, 1);
  return next;
}

namespace {

/// Adds the token; true if the sequence goes on after it.
bool take_token(Generated& to, std::size_t sequence, std::int64_t token, const GenerateOptions& o) {
  if (std::ranges::find(o.stop_tokens, token) != o.stop_tokens.end()) return !(to.finished = true);
  to.tokens.push_back(token);
  if (o.on_token && !o.on_token(sequence, token)) return !(to.finished = true);
  if (o.stop_strings.empty()) return true;
  const std::string text = o.text(to.tokens);
  to.finished = std::ranges::any_of(o.stop_strings, [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
  return !to.finished;
}

}  // namespace

std::vector<Generated> generate_tokens(std::vector<std::int64_t> next, std::int64_t room, const GenerateOptions& o,
                                       const std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>&)>& step) {
  std::vector<Generated> out(next.size());
  std::vector<bool> done(next.size());
  for (room = std::min(o.max_new_tokens, room); room > 0; --room) {
    bool any = false;
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!done[i]) done[i] = !take_token(out[i], i, next[i], o);
      any = any || !done[i];
    }
    if (!any || room == 1) break;
    next = step(next);
  }
  return out;
}

void check_options(std::string_view op, std::size_t prompts, std::size_t batch, const GenerateOptions& options) {
  if (options.beams < 1 || prompts * static_cast<std::size_t>(options.beams) != batch) {
    ops::refuse(op, std::to_string(prompts) + " prompts with " + std::to_string(options.beams) + " beams",
                "as many together as the cache's " + std::to_string(batch) + " sequences", {});
  }
  if (options.max_new_tokens < 0) ops::refuse(op, "max_new_tokens = " + std::to_string(options.max_new_tokens), "0 or more", {});
  if (!options.stop_strings.empty() && !options.text) ops::refuse(op, "stop_strings without `text`", "what makes text of tokens", {});
  if (options.beams > 1 && (!options.stop_strings.empty() || options.on_token))
    ops::refuse(op, "on_token or stop_strings with beams", "one beam: several are known at the end", {});
}

}  // namespace tegula::models::detail
