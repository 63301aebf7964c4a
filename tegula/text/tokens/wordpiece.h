#pragma once
// WordPiece and whole words (Devlin et al., "BERT", NAACL 2019; Wu et al., arXiv 1609.08144).

#include <string>

#include "tegula/text/tokens/model.h"

namespace tegula::text {

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string prefix = "##";        // of tokens inside a word
  std::int64_t longest_word = 100;  // characters; a longer word is unknown
};

/// A word becomes the longest token that it begins with, and so on with the rest; a word that does not come out even is unknown.
class WordPiece final : public TokenModel {
 public:
  /// Throws Error when the vocabulary lacks the unknown token.
  explicit WordPiece(Vocabulary vocabulary, WordPieceOptions options = {});
  void encode(std::string_view piece, Ids& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  WordPieceOptions options_;
  Id unknown_;
  std::size_t longest_token_ = 0;  // bytes
};

struct WordPieceTrainerOptions {
  std::int64_t vocabulary = 30'000;  // tokens in all, special ones and characters included
  std::int64_t minimum = 2;          // how often a pair must occur
  std::int64_t characters = 1000;    // the most frequent ones; words with others do not count
  std::vector<std::string> special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};  // tokens with the first numbers
};
/// The vocabulary of a WordPiece model from how often each word occurs: characters, within a word with "##" in front, of which always the most
/// frequent pair becomes a token (as Hugging Face's trainer has it; Google's own was never published). Throws Error when `vocabulary` is less than
/// the special tokens and characters.
Vocabulary train_wordpiece(const TextMap<std::int64_t>& words, const WordPieceTrainerOptions& options = {});

/// Consecutive unknown words: one unknown token each, or, as in SentencePiece, one for all of them.
enum class Unknowns : bool { Single, Joined };
/// A piece is a token, or unknown.
class WholeWords final : public TokenModel {
 public:
  /// Throws Error when the vocabulary lacks the unknown token. Without one (empty) unknown words are left out.
  WholeWords(Vocabulary vocabulary, const std::string& unknown, Unknowns unknowns = Unknowns::Single);
  void encode(std::string_view piece, Ids& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::optional<Id> unknown_;
  Unknowns unknowns_;
};

}  // namespace tegula::text
