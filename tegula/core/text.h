#pragma once
// Numbers as people read them, and names as other programs do.

#include <cstddef>
#include <string>
#include <string_view>

namespace tegula {

/// "1.5 GiB"
std::string bytes_text(std::size_t bytes);
/// "812", "12.3 k", "1.84 M".
std::string quantity(double value);

/// The shortest text that reads back as the same number: "1.5", "0.1", "1e-08", "inf".
std::string number_text(double value);
std::string number_text(float value);

/// The text without terminal commands: control characters but line ends and tabs become \x1b and the like. For names that come from files.
std::string printable(std::string_view text);

/// The text in Graphviz' quotes; line ends become \n.
std::string dot_quoted(std::string_view text);

}  // namespace tegula
