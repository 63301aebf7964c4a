// Runs of tokens, counted on the host.

#include <algorithm>

#include "tegula/onnx/ops/common.h"

namespace tegula::onnx {
namespace {

/// Runs of n tokens that are looked for, each with its place in the result.
struct Pool {
  std::vector<std::int64_t> tokens, places;
  std::vector<std::pair<std::size_t, std::size_t>> of_length;  // [length - 1]: begin and end in tokens
  std::int64_t size = 0;  // of the result
};

Pool pool_of(const Call& call) {
  if (call.has("pool_strings")) call.refuse("a pool of strings", "pool_int64s");
  Pool out{call.integers("pool_int64s"), call.integers("ngram_indexes"), {}, 0};
  const auto begins = call.integers("ngram_counts");
  std::size_t runs = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : static_cast<std::int64_t>(out.tokens.size());
    if (begins[i] < 0 || end < begins[i] || end > static_cast<std::int64_t>(out.tokens.size()) ||
        (end - begins[i]) % static_cast<std::int64_t>(i + 1) != 0)
      call.refuse("ngram_counts that are no parts of the pool", "where the runs of each length begin");
    out.of_length.emplace_back(begins[i], end);
    runs += static_cast<std::size_t>(end - begins[i]) / (i + 1);
  }
  for (const std::int64_t place : out.places) {
    if (place < 0 || place > (1 << 24)) call.refuse("a place of " + std::to_string(place), "0 to 2^24");
    out.size = std::max(out.size, place + 1);
  }
  if (runs > out.places.size())
    call.refuse(std::to_string(out.places.size()) + " ngram_indexes", std::to_string(runs) + ", one for each run");
  return out;
}

/// Counts each run of the pool in each row, its tokens next to each other or up to max_skip_count apart; weighted.
Results counted(const Call& call) {
  const Pool pool = pool_of(call);
  const Shape shape = call[0].shape();
  if (shape.rank() < 1 || shape.rank() > 2) call.refuse("shape " + to_string(shape), "(C) or (N, C)");
  const auto tokens = call.integers(0);
  const std::int64_t rows = shape.rank() == 2 ? shape[0] : 1, columns = shape.back();
  const std::int64_t least = call.integer("min_gram_length", 1), most = call.integer("max_gram_length", 1),
                     skips = call.integer("max_skip_count", 0);
  const std::string mode = call.text("mode", "TF");
  const std::vector<float> weights = call.numbers("weights");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") call.refuse("mode " + mode, "TF, IDF or TFIDF");
  if (!weights.empty() && weights.size() != pool.places.size())
    call.refuse(std::to_string(weights.size()) + " weights", "one for each run");
  std::vector<float> out(static_cast<std::size_t>(rows * pool.size), 0.f);
  std::size_t run = 0;
  for (std::size_t n = 1; n <= pool.of_length.size(); ++n) {
    const auto length = static_cast<std::int64_t>(n);
    for (std::size_t at = pool.of_length[n - 1].first; at < pool.of_length[n - 1].second; at += n, ++run) {
      if (length < least || length > most) continue;
      for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t count = 0;
        for (std::int64_t step = 1; step <= (n == 1 ? 1 : std::min(skips, columns) + 1); ++step) {
          for (std::int64_t begin = 0; begin + (length - 1) * step < columns; ++begin) {
            bool is_equal = true;
            for (std::int64_t k = 0; k < length && is_equal; ++k)
              is_equal =
                  tokens[static_cast<std::size_t>(row * columns + begin + k * step)] == pool.tokens[at + static_cast<std::size_t>(k)];
            count += is_equal;
          }
        }
        const float weight = weights.empty() || mode == "TF" ? 1.f : weights[run];
        float& to = out[static_cast<std::size_t>(row * pool.size + pool.places[run])];
        to = mode == "IDF" ? (count > 0 ? weight : 0.f) : static_cast<float>(count) * weight;
      }
    }
  }
  return shape.rank() == 2 ? tensor(out, {rows, pool.size}) : tensor(out);
}

const Operator kOperators[] = {
    {"TfIdfVectorizer", [](Call& c) -> Results { return counted(c); },
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights", looked({0})},
};

}  // namespace

Operators gram_operators() { return kOperators; }

}  // namespace tegula::onnx
