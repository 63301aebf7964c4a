#pragma once
// Suggestions for mistyped words.

#include <string>
#include <vector>

namespace tegula::app {

/// The candidate that differs in few letters, or begins with the word; "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace tegula::app
