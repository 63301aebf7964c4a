#pragma once
// Splitters cut text into the pieces that a tokenizer's model gets one by one.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/text/tokens/normalizer.h"

namespace tegula::text {

/// A piece of text to be cut. `first`: it begins the text.
struct Piece {
  std::string text;
  bool first = true;
};
using Pieces = std::vector<Piece>;
using Splitter = std::function<void(Piece, Pieces& out)>;

/// Each cuts the pieces of the one before it.
Splitter chain(std::vector<Splitter> steps);

/// The treatment of a delimiter.
enum class Delimiter : std::uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
/// Splits at each match of a pattern, or each copy of a text. `inverted`: the texts between the matches are the delimiters.
Splitter split_by(Sought what, Delimiter delimiter, bool inverted = false);
/// The same for characters.
Splitter split_by(bool (*is_delimiter)(char32_t), Delimiter delimiter);

/// GPT-2's pieces: words with the blank before them, numbers, signs, white space, English contractions.
extern const char* const kGpt2Pattern;
Splitter gpt2_splitter();
/// A blank is put in front of a text that does not begin with one (another white space is none).
Splitter blank_in_front();
/// Words, and signs between them, without white space (tokenizer.json's "Whitespace").
Splitter word_splitter();
/// True for BERT's punctuation: P*, and every sign of ASCII.
bool is_bert_punctuation(char32_t code);
/// White space is left out, each punctuation mark is a piece.
Splitter bert_splitter();

enum class PrependMark : std::uint8_t { Always, First, Never };
/// SentencePiece's: blanks become `mark` ("▁"), one is put in front, and with `split` each piece begins with one.
Splitter metaspace(std::string mark, PrependMark prepend, bool split);

}  // namespace tegula::text
