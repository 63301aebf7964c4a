#pragma once
// Tables of text: CSV (RFC 4180) and TSV, plain or gzipped.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::io {

enum class Header : std::uint8_t { Yes, No };

struct CsvOptions {
  char separator = ',';
  /// What may enclose a field, and is doubled within it; none: quotes are text as any other.
  std::optional<char> quote = '"';
  Header header = Header::Yes;  // whether the first record names the columns; without, they are "0", "1", …
};
/// As TSV files mostly are: tabs, and quotes that mean nothing.
inline CsvOptions tsv(Header header = Header::Yes) { return {.separator = '\t', .quote = {}, .header = header}; }

/// A column of class names as numbers: names[label], sorted.
struct Classes {
  HostArray labels;  // (N,) i64
  std::vector<std::string> names;
};

/// Rows of text fields. Columns are found by name; a name that is not there is an Error that lists those that are.
class Table {
 public:
  std::int64_t rows() const { return columns() ? static_cast<std::int64_t>(cells_.size() / names_.size()) : 0; }
  std::size_t columns() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

  const std::string& text(std::int64_t row, const std::string& column) const;
  std::vector<std::string> texts(const std::string& column) const;
  /// The columns as numbers: (N, columns.size()) f32, or another float dtype. Empty fields become `missing`, or are an Error when none is
  /// given, as is everything that is no number: with file, line and column.
  HostArray numbers(const std::vector<std::string>& columns, std::optional<double> missing = {}, DType dtype = DType::f32) const;
  /// Numbers from 0 for the different texts of a column. Given `names` (those of the training set), others are an Error.
  Classes classes(const std::string& column, const std::vector<std::string>& names = {}) const;

 private:
  friend Table parse_csv(std::string_view text, std::string_view name, const CsvOptions& options);
  std::size_t index_of(const std::string& column) const;
  [[noreturn]] void refuse(std::int64_t row, std::size_t column, std::string expected) const;

  std::string file_;
  std::vector<std::string> names_;
  std::vector<std::string> cells_;  // row after row
  std::vector<std::int64_t> lines_;  // in which each row begins, from 1
};

/// Reads a whole file. Lines end with LF or CRLF, the last one may lack it; where quotes enclose fields, a CR alone ends a record, too. A
/// byte-order mark and empty lines are skipped. Throws Error with file and line for a record that has more or fewer fields than the first, a
/// quote within a field that is not enclosed, text behind a closing quote, a quote that is never closed, and a name that two columns have.
Table read_csv(const std::string& path, const CsvOptions& options = {});
/// The same from memory. `name` stands for the file in messages.
Table parse_csv(std::string_view text, std::string_view name, const CsvOptions& options = {});

}  // namespace tegula::io
