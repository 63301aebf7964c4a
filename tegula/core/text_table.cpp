#include "tegula/core/text_table.h"

#include <algorithm>
#include <numeric>

namespace tegula {
namespace {

/// Bytes that begin a character of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(const std::string& cell) {
  return cell.empty() || cell[0] == '-' || (cell[0] >= '0' && cell[0] <= '9') || cell == "nan" || cell == "inf";
}

}  // namespace

std::string TextTable::text(std::size_t indent, std::size_t gap) const {
  const std::size_t columns = rows_[0].size();
  std::vector<std::size_t> width(columns, 0);
  std::vector<bool> numbers(columns, true);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      width[c] = std::max(width[c], width_of(row[c]));
      if (&row != &rows_[0] && !is_number(row[c])) numbers[c] = false;
    }
  }
  const std::size_t all = std::accumulate(width.begin(), width.end(), gap * (columns - 1));
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    if (row.empty()) line += std::string(all, '-');
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(width[c] - width_of(row[c]), ' ');
      line += std::string(c > 0 ? gap : 0, ' ') + (numbers[c] ? blanks + row[c] : row[c] + blanks);
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

}  // namespace tegula
