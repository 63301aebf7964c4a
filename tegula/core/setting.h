#pragma once
// Words that environment variables may have.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tegula {

/// The index among `words` of the variable's value; nothing where it is unset or empty. Throws Error, of the op, for other values.
std::optional<std::size_t> word_set(const char* variable, const std::vector<std::string_view>& words, const char* op);

/// True if the comma-separated list in the variable names the word, or is "all".
bool listed(const char* variable, std::string_view word);

}  // namespace tegula
