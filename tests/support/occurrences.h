#pragma once

#include <string_view>

namespace tegula::test {

/// Returns the number of times that `part` begins in the text.
inline int occurrences(std::string_view text, std::string_view part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace tegula::test
