#include "app/suggest.h"

#include <algorithm>
#include <numeric>

namespace tegula::app {
namespace {

/// Letters to insert, remove or replace (Wagner and Fischer).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = word.size() / 3 + 2;  // two letters that changed places are two changes
  for (const auto& candidate : candidates) {
    const std::size_t letters = candidate.starts_with(word) && word.size() > 2 ? 1 : distance(word, candidate);
    if (letters < least) {
      least = letters;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tegula::app
