#pragma once
// Words as numbers, as courses begin: a word index by frequency, sequences of one length, bags of words and TF-IDF.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::text {

struct WordTokenizerOptions {
  std::int64_t most = 0;      // only numbers below this are given (Keras' num_words); 0: all
  std::string unknown = {};   // the word for unknown ones, "<OOV>", number 1; empty: they are left out
  std::string filters = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n";  // each becomes a blank
  bool lowercase = true;
  bool characters = false;    // instead of words
};

/// Keras' Tokenizer: words between blanks, numbered from 1 by frequency, those of one count in the order in which they came; 0 is for padding.
class WordTokenizer {
 public:
  explicit WordTokenizer(WordTokenizerOptions options = {});
  /// Counts the words of more texts and numbers all of them anew.
  void fit(std::span<const std::string> texts);
  void fit(std::initializer_list<std::string> texts) { fit(std::span(texts.begin(), texts.size())); }

  /// Number 0 is an empty token.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// The number of times a word came; 0 for one that did not.
  std::int64_t count(std::string_view word) const;
  Ids encode(std::string_view text) const;
  std::vector<Ids> encode(std::span<const std::string> texts) const;
  /// The words with blanks between them; 0 is left out. Throws Error for a number that no word has.
  std::string decode(std::span<const Id> ids) const;

 private:
  std::vector<std::string> words_of(std::string_view text) const;

  WordTokenizerOptions options_;
  Vocabulary vocabulary_;
  std::vector<std::string> order_;  // the words as they came
  TextMap<std::int64_t> counts_;
};

/// The end of a sequence at which numbers are added or dropped.
enum class Side : std::uint8_t { Front, Back };
struct PadOptions {
  std::int64_t length = 0;  // length of the rows; 0: the longest sequence's
  Side padding = Side::Front;
  Side truncating = Side::Front;  // for sequences that are longer
  Id value = 0;
};
/// Sequences as rows of one length: (N, length) i64, Keras' pad_sequences. Throws Error for a negative length.
HostArray pad_sequences(std::span<const Ids> sequences, const PadOptions& options = {});
/// The length of each sequence, at most `length` if that is not 0: (N) i64.
HostArray sequence_lengths(std::span<const Ids> sequences, std::int64_t length = 0);

/// The words in each text: (N, size) f32, with counts or with ones. Throws Error for a number that is not in [0, size).
enum class Bag : std::uint8_t { Counts, Ones };
HostArray bag_of_words(std::span<const Ids> texts, Id size, Bag kind = Bag::Counts);

/// Counts weighed by how rare a word is in the texts of fit(), rows of length 1: tf · (ln((1 + n) / (1 + df)) + 1), as scikit-learn's TfidfVectorizer.
class TfIdf {
 public:
  /// Throws Error for a number that is not in [0, size).
  TfIdf(std::span<const Ids> texts, Id size);
  HostArray operator()(std::span<const Ids> texts) const;  // (N, size) f32
  const std::vector<double>& weights() const { return weights_; }  // idf of each word

 private:
  std::vector<double> weights_;
};

/// The characters of a text, sorted, as tokens: what character models are trained with. Throws Error for an empty text; characters that are not
/// among them are left out when text is encoded.
Tokenizer character_tokenizer(std::string_view text);
/// The same for characters that are known (a model's file holds them).
Tokenizer character_tokenizer(Vocabulary characters);

}  // namespace tegula::text
