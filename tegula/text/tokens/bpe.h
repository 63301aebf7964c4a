#pragma once
// Byte-pair encoding (Sennrich et al., "Neural machine translation of rare words with subword units", ACL 2016), over bytes as GPT-2 has
// it or over characters as SentencePiece has it.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tegula/text/tokens/model.h"

namespace tegula::text {

/// The symbols of a piece before any merge.
enum class Symbols : std::uint8_t { Bytes, Characters };

struct BpeOptions {
  Symbols symbols = Symbols::Bytes;
  std::string unknown = {};       // the token of characters that the vocabulary lacks; empty: they are left out
  bool fuse_unknown = false;      // several unknown characters are one token
  bool byte_fallback = false;     // unknown characters become their bytes, tokens "<0x0A>"
  std::string prefix = {};        // of symbols within a word, "##"
  std::string suffix = {};        // of the last symbol of a word, "</w>"
  bool whole_words_first = false; // a piece that is a token is that token, whether merges lead there or not
};

/// Two tokens that become one, in the order in which they are tried.
using Merges = std::vector<std::pair<std::string, std::string>>;

class Bpe final : public TokenModel {
 public:
  /// Throws Error for a merge whose parts or result the vocabulary lacks, an unknown token it lacks, and with byte_fallback for a byte.
  Bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options = {});
  /// SentencePiece's form: two neighbours become one where that is a token, the one with the highest score first. One score per token;
  /// only those in `mergeable` come from merging. Throws Error for other numbers of them.
  static Bpe from_scores(Vocabulary vocabulary, const std::vector<float>& scores, const std::vector<bool>& mergeable, BpeOptions options);

  void encode(std::string_view piece, Ids& out) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  struct Merge {
    std::int32_t rank = -1;  // those below are tried first
    std::int32_t result = 0;
  };
  /// A map from two tokens to their merge; open addressing, since most of the time goes here.
  class MergeTable {
   public:
    void reserve(std::size_t count);
    void insert(Id left, Id right, Merge merge);  // the first one stays
    Merge find(std::int32_t left, std::int32_t right) const;  // rank -1: none

   private:
    struct Slot {
      std::uint64_t key = ~0ull;
      Merge merge;
    };
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
  };

  Bpe(Vocabulary vocabulary, BpeOptions options);
  void find_reachable();
  void symbols_of(std::string_view piece, std::vector<std::int32_t>& out) const;
  void merge(std::vector<std::int32_t>& symbols) const;
  void unknown_character(std::string_view bytes, std::vector<std::int32_t>& out) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  MergeTable merges_;
  std::vector<bool> whole_;             // tokens that a piece equal to them becomes
  std::vector<std::int32_t> of_byte_;   // 256 tokens; -1: none
  std::int32_t unknown_ = -1;
};

struct BpeTrainerOptions {
  std::int64_t vocabulary = 30'000;       // tokens in all, special ones and bytes included
  std::int64_t minimum = 2;               // how often a pair must occur
  std::vector<std::string> special = {};  // tokens with the first numbers
};
struct TrainedBpe {
  Vocabulary vocabulary;
  Merges merges;
};
/// Byte-level merges from how often each piece occurs: always the most frequent pair, of equals the one whose tokens have the lower
/// numbers. Throws Error when `vocabulary` is less than the bytes and special tokens.
TrainedBpe train_bpe(const TextMap<std::int64_t>& pieces, const BpeTrainerOptions& options = {});

/// GPT-2's spelling of bytes in files: each of the 256 is a printable character ("Ġ" is a blank).
std::string spell_bytes(std::string_view bytes);
/// The bytes, or nothing when a character stands for none.
std::optional<std::string> spelled_bytes(std::string_view text);

}  // namespace tegula::text
