#pragma once
// Numbers in tables.

#include <optional>
#include <string_view>

namespace tegula::io {

/// The double that the whole text spells ("1.5", "+3", "-2e3", "inf", "nan"), in any locale; nothing if it is no number. A number too near to 0 becomes a
/// zero of its sign; one too large becomes infinite.
std::optional<double> read_number(std::string_view text);

}  // namespace tegula::io
