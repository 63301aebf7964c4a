#pragma once
// Errors of tables, for csv.cpp and csv_table.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::io::csv {

/// Throws Error with the file and the line (0: none).
[[noreturn]] inline void refuse(std::string_view file, std::int64_t line, const std::string& got, std::string expected,
                                std::string advice = "") {
  throw Error({.op = "csv",
               .got = std::string(file) + (line > 0 ? ", line " + std::to_string(line) : "") + ": " + printable(got),
               .expected = std::move(expected),
               .advice = std::move(advice)});
}

/// "a, b, c", at most 20 of them.
inline std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", " : "") + names[i];
  return text + (names.size() > 20 ? ", …" : "");
}

}  // namespace tegula::io::csv
