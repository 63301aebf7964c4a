#pragma once
// The normalisation of text before a tokenizer cuts it. Steps are functions; make your own from any lambda.

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tegula/text/pattern.h"
#include "tegula/text/unicode.h"

namespace tegula::text {

using Normalizer = std::function<std::string(std::string)>;

/// One after the other.
Normalizer chain(std::vector<Normalizer> steps);

Normalizer to_form(Form form);
Normalizer to_lowercase();
Normalizer without_accents();  // strip_accents
Normalizer without_marks();    // removes marks (M*); composed characters stay

/// The text before each match of a pattern, or each copy of a text, is kept; the match becomes `by`.
using Sought = std::variant<std::string, Pattern>;
Normalizer replace(Sought what, std::string by);
/// Puts a text in front, if there is any to put it in front of.
Normalizer prepend(std::string front);
/// Puts a text behind, if there is any.
Normalizer append(std::string end);
/// Takes white space off the ends.
Normalizer strip(bool left, bool right);
/// One blank for several, none at the ends (SentencePiece's remove_extra_whitespaces).
Normalizer squeeze_blanks();

struct BertNormalizerOptions {
  bool clean = true;          // control characters go, white space becomes blanks
  bool chinese = true;        // ideographs are words of their own
  bool strip_accents = true;
  bool lowercase = true;
};
/// The normaliser of BERT's BasicTokenizer.
Normalizer bert_normalizer(const BertNormalizerOptions& options = {});

}  // namespace tegula::text
