#pragma once
// Makes token numbers of a piece of text that a tokenizer has normalised and cut.

#include <string_view>

#include "tegula/text/vocabulary.h"

namespace tegula::text {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the numbers of the piece's tokens. May be called by several threads at once.
  virtual void encode(std::string_view piece, Ids& out) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};

}  // namespace tegula::text
