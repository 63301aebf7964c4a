#pragma once
// Regular expressions over UTF-8 (PCRE2), for the patterns that tokenizers cut text by.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::text {

/// A compiled pattern. Copies share it; it may be used by several threads at once. Classes as \s, \w and \p{L} are Unicode's. Bytes that
/// are no UTF-8 match nothing.
class Pattern {
 public:
  /// Throws Error in the name of `op`, with the position of the mistake.
  explicit Pattern(std::string text, std::string_view op = "Pattern");

  struct Match {
    std::size_t begin, end;  // bytes
  };
  /// All matches from the left, which do not meet; empty ones are left out. Throws Error where the search takes too
  /// long.
  std::vector<Match> matches(std::string_view text) const;
  const std::string& text() const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// A pattern of Oniguruma's, whose \w and \W are letters, marks, digits and joining signs, with those two written out; PCRE2's \w knows no marks, so that
/// it cuts words of Hindi, and takes "①" for one. \W within brackets, and \b, stay as they are.
std::string with_oniguruma_words(std::string_view pattern);

}  // namespace tegula::text
