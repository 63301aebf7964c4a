#include "app/suggest.h"

#include <algorithm>

namespace tegula::app {
namespace {

/// Letters to insert, remove or replace, and neighbours to exchange (Damerau; optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * columns + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replaced, at(i, j - 1) + 1, at(i - 1, j) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return table.back();
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = word.size() / 3 + 2;
  for (const auto& candidate : candidates) {
    const std::size_t letters = candidate.starts_with(word) && word.size() > 2 ? 1 : distance(word, candidate);
    if (letters < least && 2 * letters < word.size()) {  // tcsh is not bash
      least = letters;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tegula::app
