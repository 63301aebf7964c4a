#pragma once
// Text in columns: the first is aligned to the left, and so are others that hold words; numbers are aligned to the right.

#include <string>
#include <vector>

namespace tegula::compile {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  /// `indent` blanks in front of each line.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Each line behind a bar: text about what is within a step.
std::string indented(const std::string& lines);

}  // namespace tegula::compile
