#pragma once
// The output of a measuring command: a table in the terminal, the same numbers as JSON, and a plot.

#include <string>
#include <variant>
#include <vector>

#include "tegula/io/plot.h"
#include "tegula/runtime/registry.h"

namespace tegula::app {

/// Numbers in SI units. NaN: there is none, "-" in the table, null in the file.
using Cell = std::variant<std::string, double>;

struct Column {
  std::string key;      // in the file
  std::string heading;  // in the table, with the unit that `factor` leads to
  int width = 10;
  int decimals = 1;
  double factor = 1;  // factor of the numbers in the table
};

class Report {
 public:
  Report(std::string name, std::vector<Column> columns) : name_(std::move(name)), columns_(std::move(columns)) {}

  /// A line in front of the table, and a field of the file.
  void note(const std::string& key, const std::string& text);
  /// Prints the row, under the headings if it is the first.
  void add(std::vector<Cell> row);
  std::size_t rows() const { return rows_.size(); }
  /// The numbers of column `y` over those of column `x`, one curve for each combination of the texts in `by`, in order of appearance.
  std::vector<io::Series> curves(const std::string& x, const std::string& y, const std::vector<std::string>& by) const;
  /// {"benchmark", the notes, "devices", "rows": [{key: value}]}, written atomically.
  void write_json(const std::string& path, const std::vector<Device*>& devices) const;

 private:
  std::size_t column(const std::string& key) const;

  std::string name_;
  std::vector<Column> columns_;
  std::vector<std::pair<std::string, std::string>> notes_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tegula::app
