#pragma once
// Words as vectors: nearest words, analogies, similarity; the files of word2vec and GloVe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/text/vocabulary.h"

namespace tegula::text {

/// A word and how near it is, from -1 to 1.
using Near = std::pair<std::string, double>;

/// A vector for each word of a vocabulary. Copies share the numbers.
class WordVectors {
 public:
  WordVectors() = default;
  /// vectors: (words, D) f32. Throws Error for another shape or dtype.
  WordVectors(Vocabulary vocabulary, HostArray vectors);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const HostArray& vectors() const { return vectors_; }  // (words, D) f32, for nn::Embedding
  std::int64_t size() const { return vocabulary_.size(); }
  std::int64_t dimension() const { return size() ? vectors_.shape[1] : 0; }
  /// Throws Error for an unknown word, as all of the following do.
  std::span<const float> operator[](std::string_view word) const;

  /// The cosine of the angle between two words' vectors; 0 where one of them is 0.
  double similarity(std::string_view a, std::string_view b) const;
  /// The `count` words nearest to the mean of the positive words' unit vectors and the negative ones' opposite; these words are not among them.
  std::vector<Near> most_similar(std::span<const std::string> positive, std::span<const std::string> negative = {},
                                 std::int64_t count = 10) const;
  std::vector<Near> most_similar(std::string_view word, std::int64_t count = 10) const;
  /// a is to b as c is to …: the words nearest to b - a + c.
  std::vector<Near> analogy(const std::string& a, const std::string& b, const std::string& c, std::int64_t count = 10) const;
  /// The words nearest to any vector of `dimension()` numbers.
  std::vector<Near> nearest(std::span<const float> vector, std::int64_t count = 10) const;

  /// Rows of length 1, each padded to a multiple of vector_rows' step: for many questions.
  const std::vector<float>& unit_rows() const;

 private:
  std::vector<Near> nearest(std::span<const float> vector, std::int64_t count, std::span<const Id> without) const;

  Vocabulary vocabulary_;
  HostArray vectors_;
  std::vector<float> unit_;  // (words, padded D)
};

enum class VectorFormat : std::uint8_t { Word2VecText, Word2VecBinary, GloVe };

/// Reads word2vec's text and binary files and GloVe's, recognised by their content; gzip too. The first `most` words (0: all), which are the most frequent.
/// Throws Error, with the line or the word's number, for a truncated file, numbers that are none, vectors of another size and words that come twice.
WordVectors read_word_vectors(const std::string& path, std::int64_t most = 0);
WordVectors parse_word_vectors(std::span<const std::byte> bytes, std::string_view name, std::int64_t most = 0);
/// Throws Error for a word with a blank or a line end in it, which no format can hold.
void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format = VectorFormat::Word2VecText);

}  // namespace tegula::text
