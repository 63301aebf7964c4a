#pragma once
// SentencePiece's vocabulary: pieces with scores and kinds, from a .model, a GGUF file or llama2.c's tokenizer.bin.

#include <string>
#include <vector>

#include "tegula/text/tokens/tokenizer.h"

namespace tegula::text {

enum class PieceKind : std::uint8_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct SentencePieceModel {
  enum class Type : std::uint8_t { Unigram = 1, Bpe = 2, Word = 3, Char = 4 } type = Type::Unigram;
  std::vector<std::string> pieces;
  std::vector<float> scores;
  std::vector<PieceKind> kinds;
  bool byte_fallback = false;
  bool dummy_prefix = true;          // a blank in front of the text
  bool blank_behind = false;         // …, or behind it, and pieces end with blanks (treat_whitespace_as_suffix)
  bool remove_extra_blanks = true;
  bool escape_blanks = true;         // blanks are "▁"
  std::string unknown_surface = {};  // decode shows this for the unknown piece; empty: it is left out
  std::string rules = {};  // rules of normalisation, as precompiled_normalizer takes them
  Ids before = {}, after = {};       // the frame: <s>, </s>
};

/// `op` and `name` are for messages.
Tokenizer make_tokenizer(const SentencePieceModel& model, std::string_view op, std::string_view name);

}  // namespace tegula::text
