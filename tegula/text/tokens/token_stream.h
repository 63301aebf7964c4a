#pragma once
// Text while its tokens are coming.

#include <string>
#include <string_view>
#include <vector>

#include "tegula/text/tokens/tokenizer.h"

namespace tegula::text {

/// Gives the text of tokens piece by piece, each when it is certain: whole characters, up to the first of the stop strings, which is not given
/// itself. All pieces together are decode() of all tokens, cut there.
class TokenStream {
 public:
  /// `before`: tokens that the text follows, so that a word's blank is where it belongs. No stop string is empty, or an Error is thrown.
  explicit TokenStream(Tokenizer tokenizer, std::vector<std::string> stops = {}, Ids before = {});

  /// The text that became certain with this token. Throws Error for a number that is no token's.
  std::string push(Id token);
  /// The rest at the end: beginnings of stop strings that were not completed, bytes that are no character.
  std::string finish();
  /// True if a stop string came.
  bool stopped() const { return stopped_; }

 private:
  std::string up_to(std::string_view text, std::size_t end);
  /// All text of tokens_ was given: the last ones are enough to tell what further ones say.
  void forget();

  Tokenizer tokenizer_;
  std::vector<std::string> stops_;
  Ids tokens_;  // the last ones, at least
  std::size_t given_;  // bytes of the text of tokens_
  bool stopped_ = false;
};

}  // namespace tegula::text
