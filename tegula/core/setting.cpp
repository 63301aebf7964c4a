#include "tegula/core/setting.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tegula/core/error.h"

namespace tegula {

std::optional<std::size_t> word_set(const char* variable, const std::vector<std::string_view>& words, const char* op) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string expected;
  for (const std::string_view word : words) expected += (expected.empty() ? "" : " or ") + std::string(word);
  throw Error({.op = op, .got = std::string(variable) + "=" + text, .expected = expected});
}

bool listed(const char* variable, std::string_view word) {
  const char* const list = std::getenv(variable);
  if (!list) return false;
  const std::string text = "," + std::string(list) + ",";
  return text == ",all," || text.find("," + std::string(word) + ",") != std::string::npos;
}

}  // namespace tegula
