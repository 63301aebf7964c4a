#include "tegula/models/text/counted_vectors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/linalg/spectra.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr double kPower = 0.75;  // takes weight from the most frequent words (Levy, Goldberg and Dagan, 2015)

/// (words, words): pairs at most `window` apart, both ways.
std::vector<double> pairs_of(const text::Corpus& corpus, std::int64_t words, std::int64_t window) {
  std::vector<double> counts(static_cast<std::size_t>(words * words));
  for (std::int64_t s = 0; s < corpus.sentences(); ++s) {
    const auto sentence = corpus.sentence(s);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      if (sentence[i] >= words) continue;
      const std::size_t end = std::min(sentence.size(), i + static_cast<std::size_t>(window) + 1);
      for (std::size_t j = i + 1; j < end; ++j) {
        if (sentence[j] >= words) continue;
        counts[static_cast<std::size_t>(sentence[i] * words + sentence[j])] += 1;
        counts[static_cast<std::size_t>(sentence[j] * words + sentence[i])] += 1;
      }
    }
  }
  return counts;
}

/// Turns counts into information in place, and makes them symmetric.
void to_information(std::vector<double>& counts, std::int64_t words) {
  const auto n = static_cast<std::size_t>(words);
  std::vector<double> sums(n), powers(n);
  double all_powers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) sums[i] += counts[i * n + j];
    powers[i] = std::pow(sums[i], kPower);
    all_powers += powers[i];
  }
  const auto information = [&](std::size_t i, std::size_t j) {
    return std::max(0.0, std::log(counts[i * n + j] * all_powers / (sums[i] * powers[j])));
  };
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (counts[i * n + j] > 0) out[i * n + j] = (information(i, j) + information(j, i)) / 2;
  counts.swap(out);
}

}  // namespace

text::WordVectors counted_vectors(const text::Corpus& corpus, const CountedVectorsOptions& options) {
  const std::int64_t words = std::min(options.words, corpus.vocabulary.size()), size = std::min(options.size, words);
  if (options.size < 1 || options.window < 1 || options.words < 1)
    throw Error({.op = "counted_vectors",
                 .got = ".size = " + std::to_string(options.size) + ", .window = " + std::to_string(options.window) +
                        ", .words = " + std::to_string(options.words),
                 .expected = "at least 1"});
  std::vector<double> counts = pairs_of(corpus, words, options.window);
  to_information(counts, words);
  const SVDFactors factors = svd(tensor(counts, {words, words}));
  const Tensor vectors = slice(factors.u, 1, {0, size}) * sqrt(slice(factors.values, 0, {0, size}));
  const std::vector<double> numbers = vectors.to_host<double>();
  std::vector<float> rows(numbers.begin(), numbers.end());
  std::vector<std::string> names(corpus.vocabulary.tokens().begin(), corpus.vocabulary.tokens().begin() + words);
  return {text::Vocabulary(std::move(names)), HostArray::from(std::span<const float>(rows), {words, size})};
}

}  // namespace tegula::models
