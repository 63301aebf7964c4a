#include "tegula/compile/table.h"

#include <algorithm>

namespace tegula::compile {
namespace {

/// Bytes that begin a character of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string Table::text(std::size_t indent) const {
  const std::size_t columns = rows_[0].size();
  std::vector<std::size_t> width(columns, 0);
  std::vector<bool> numbers(columns, true);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string& cell = rows_[r][c];
      width[c] = std::max(width[c], width_of(cell));
      if (r > 0 && !cell.empty() && (cell[0] < '0' || cell[0] > '9')) numbers[c] = false;
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string blanks(width[c] - width_of(row[c]), ' ');
      line += (c > 0 ? "  " : "") + (numbers[c] ? blanks + row[c] : row[c] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    text += "   | " + lines.substr(begin, end - begin) + "\n";
  }
  return text;
}

}  // namespace tegula::compile
