#pragma once
// word2vec (Mikolov et al., "Efficient estimation of word representations in vector space", arXiv 1301.3781; "Distributed representations of words and
// phrases and their compositionality", NIPS 2013). Runs on the CPU's threads: each step changes a few rows of two tables, in place.

#include <cstdint>
#include <functional>

#include "tegula/text/vectors/corpus.h"
#include "tegula/text/vectors/word_vectors.h"

namespace tegula::text {

enum class Architecture : std::uint8_t { SkipGram, Cbow };
enum class Objective : std::uint8_t { NegativeSampling, HierarchicalSoftmax };

struct Word2VecOptions {
  Architecture architecture = Architecture::SkipGram;
  Objective objective = Objective::NegativeSampling;
  std::int64_t size = 100;  // of a vector
  std::int64_t window = 5;  // words on either side at most; each position draws 1 to this many
  std::int64_t negatives = 5;  // words drawn for each one that is there, by frequency to the power `power`
  double power = 0.75;
  double subsample = 1e-3;  // words above this share of the text are left out now and then; 0: never
  std::int64_t epochs = 5;
  double lr = 0.025, lr_end = 1e-4;  // falls linearly
  std::uint64_t seed = 1;
  /// 0: num_threads(). With one the result depends on the seed alone; more write to the tables without waiting for each other (Hogwild, Niu et al.,
  /// NIPS 2011), so that no two runs are the same.
  int threads = 0;
};

struct Word2VecProgress {
  std::int64_t epoch = 0, epochs = 0;  // from 1
  double share = 0;  // share of the whole, 0 to 1
  double loss = 0;  // mean of -log p of the samples since the last report
  double words_per_second = 0;  // words of the corpus, including words that subsampling leaves out
  double lr = 0;
};

/// Vectors for the words of a corpus. `report` is called about twice a second, from the calling thread. Throws Error for options that make no sense.
WordVectors train_word2vec(const Corpus& corpus, const Word2VecOptions& options = {},
                           const std::function<void(const Word2VecProgress&)>& report = {});

}  // namespace tegula::text
