#pragma once
// Text in columns: words are aligned to the left, numbers to the right.

#include <string>
#include <utility>
#include <vector>

namespace tegula {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// A line of dashes behind the rows so far.
  void rule() { rows_.emplace_back(); }
  bool empty() const { return rows_.size() == 1; }
  /// `indent` blanks in front of each line, `gap` between columns.
  std::string text(std::size_t indent = 0, std::size_t gap = 2) const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the head first; empty: a rule
};

/// Each line behind a bar: text about what is within a step.
std::string indented(const std::string& lines);

}  // namespace tegula
