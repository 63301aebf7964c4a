#pragma once
// Decoders turn the tokens of a tokenizer into text again: steps over the list of tokens, which are then put together.

#include <functional>
#include <string>
#include <vector>

#include "tegula/text/tokens/normalizer.h"

namespace tegula::text {

using Tokens = std::vector<std::string>;
using Decoder = std::function<Tokens(Tokens)>;

/// One after the other.
Decoder chain(std::vector<Decoder> steps);

Decoder replace_in_tokens(Sought what, std::string by);
/// Tokens "<0x0A>" become their bytes.
Decoder join_bytes();
/// All tokens become one.
Decoder fuse();
/// Removes up to `begin` copies of a text at the front of each token and up to `end` at its end.
Decoder strip_tokens(std::string what, std::size_t begin, std::size_t end);
struct SentencePieceDecoding {
  std::string unknown, surface;  // the unknown piece, and its replacement
  bool strips_first = true;      // the mark in front of the first text goes
  bool strips_all = false;       // as do those of all pieces before it that are marks alone
};
/// Decodes as SentencePiece does: marks (▁) become blanks, tokens "<0x0A>" their bytes.
Decoder sentencepiece_decoder(SentencePieceDecoding options);
/// Blanks between words, none before tokens with the prefix ("##"); `clean_up`: nor before punctuation and contractions.
Decoder wordpiece_decoder(std::string prefix, bool clean_up);
/// The mark of a word's end becomes a blank, but behind the last one.
Decoder suffix_decoder(std::string suffix);
/// Marks become blanks; `strip_first`: the first token's leading one goes.
Decoder metaspace_decoder(std::string mark, bool strip_first);

}  // namespace tegula::text
