#pragma once
// Evaluation of word vectors, and their projections to a plane.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/text/vectors/word_vectors.h"

namespace tegula::text {

/// Questions "a b c d": a is to b as c is to d.
struct AnalogySection {
  std::string name;
  std::vector<std::array<std::string, 4>> questions;
};
/// A file as questions-words.txt: sections begin with ": name", each other line has four words. Throws Error, with the line, for anything else.
std::vector<AnalogySection> read_analogies(const std::string& path);
std::vector<AnalogySection> parse_analogies(std::string_view text, std::string_view name);

struct AnalogyScore {
  std::string section;
  std::int64_t right = 0, asked = 0;  // questions of which all four words are known
  std::int64_t unknown = 0;  // the others
  double accuracy() const { return asked ? static_cast<double>(right) / static_cast<double>(asked) : 0; }
};
/// One score for each section, and one named "total". A question is right when the word nearest to b - a + c, none of the three, is d. Words are
/// compared in lower case where the vocabulary lacks them as they are; only its first `most` words are asked and answer (0: all).
std::vector<AnalogyScore> evaluate_analogies(const WordVectors& vectors, const std::vector<AnalogySection>& sections,
                                             std::int64_t most = 0);

/// Two words and how similar people find them.
struct WordPair {
  std::string a, b;
  double score = 0;
};
/// A file with two words and a number in each line, tabs or blanks between them (WordSim-353, SimLex-999, …). Throws Error, with the line, for anything else.
std::vector<WordPair> read_word_pairs(const std::string& path);
std::vector<WordPair> parse_word_pairs(std::string_view text, std::string_view name);

struct SimilarityScore {
  double spearman = 0;  // of the cosines and people's scores, -1 to 1
  std::int64_t pairs = 0;  // pairs of known words
  std::int64_t unknown = 0;  // the others
};
SimilarityScore evaluate_similarity(const WordVectors& vectors, const std::vector<WordPair>& pairs);

/// Spearman's rank correlation: Pearson's of the ranks, equal values with their mean rank. NaN when one side is constant. Throws Error for different lengths.
double spearman(std::span<const double> a, std::span<const double> b);

/// The rows of x (N, D) f32 on their `count` principal components: (N, count) f32. Throws Error unless 1 <= count <= min(N, D).
HostArray principal_components(const HostArray& x, std::int64_t count = 2);

struct TsneOptions {
  double perplexity = 30;  // how many neighbours a point feels, about; at most (N - 1) / 3
  std::int64_t steps = 1000;
  double lr = 0;  // 0: max(N / exaggeration / 4, 50)
  double exaggeration = 12;  // in the first quarter of the steps
};
/// The rows of x (N, D) f32 in the plane, (N, 2) f32, near to each other where they are so in x (van der Maaten and Hinton, "Visualizing data using t-SNE",
/// JMLR 2008). Exact: N² work each step, for some thousand rows. Begins with the principal components, so that it depends on x alone.
/// Throws Error for fewer than 4 rows or 2 columns, and a perplexity that is not positive or too high.
HostArray tsne(const HostArray& x, const TsneOptions& options = {});

}  // namespace tegula::text
