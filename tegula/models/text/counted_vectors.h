#pragma once
// Vectors of words from counts: how often words stand near each other, and the singular vectors of that matrix.

#include <cstdint>

#include "tegula/text/vectors/corpus.h"
#include "tegula/text/vectors/word_vectors.h"

namespace tegula::models {

struct CountedVectorsOptions {
  std::int64_t size = 100;    // of a vector
  std::int64_t window = 5;    // words on either side
  std::int64_t words = 2000;  // the most frequent ones, whose matrix is dense
};
/// The count of words i and j at most `window` apart within a sentence, as positive pointwise mutual information, max(0, log p(i, j) / (p(i) p(j))) with p(j) by counts to the
/// power 0.75, made symmetric; then its `size` greatest singular vectors times the roots of their values (Levy and Goldberg, "Neural word embedding as implicit matrix
/// factorization", 2014). On the default device. The same bits at every run. Throws Error for options that make no sense.
text::WordVectors counted_vectors(const text::Corpus& corpus, const CountedVectorsOptions& options = {});

}  // namespace tegula::models
