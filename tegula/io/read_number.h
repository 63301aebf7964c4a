#pragma once
// Numbers in tables.

#include <optional>
#include <string_view>

namespace tegula::io {

/// The double that the whole text spells ("1.5", "+3", "-2e3", "inf", "nan"), whatever the locale; nothing when it is no number. What is too near to 0 is a
/// zero of its sign, what is too large is infinite.
std::optional<double> read_number(std::string_view text);

}  // namespace tegula::io
