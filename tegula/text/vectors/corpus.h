#pragma once
// A text as the numbers of its words: what word vectors are trained on.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/text/vocabulary.h"

namespace tegula::text {

struct CorpusOptions {
  std::int64_t minimum = 5;   // how often a word must come
  bool lowercase = true;
};

/// Sentences of word numbers. The vocabulary is sorted by frequency.
struct Corpus {
  Vocabulary vocabulary;
  std::vector<std::int64_t> counts;   // per word
  std::vector<std::int32_t> words;    // all sentences, one behind the other; words that are too rare are left out
  std::vector<std::int64_t> begins;   // index in `words` of each sentence's first word, and the end

  std::int64_t sentences() const { return static_cast<std::int64_t>(begins.size()) - 1; }
  std::span<const std::int32_t> sentence(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return std::span(words).subspan(static_cast<std::size_t>(begins[at]), static_cast<std::size_t>(begins[at + 1] - begins[at]));
  }
};

/// Words are runs of letters, marks and digits, with the apostrophes within them. Sentences end at . ! ? and at empty lines.
/// Throws Error when no word comes often enough.
Corpus make_corpus(std::string_view text, const CorpusOptions& options = {});
/// Words that are cut already: those of a line, with blanks between them, are a sentence.
Corpus make_corpus(std::span<const std::string> sentences, const CorpusOptions& options = {});

struct PhraseOptions {
  double threshold = 10;      // bound on the score below; higher means fewer phrases
  std::int64_t minimum = 5;   // how often the two must come, and the number subtracted from their count
};
/// Joins pairs of words that come together far more often than apart to one word, "new_york" (Mikolov et al., "Distributed representations of
/// words and phrases", NIPS 2013, eq. 6): (count(ab) - minimum) · words / (count(a) · count(b)) > threshold. From the left; twice for
/// phrases of up to four words.
Corpus join_phrases(const Corpus& corpus, const PhraseOptions& options = {});

}  // namespace tegula::text
