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
  /// The character that may enclose a field, and is doubled inside it; none: quotes are ordinary text.
  std::optional<char> quote = '"';
  Header header = Header::Yes;  // whether the first record names the columns; without, they are "0", "1", …
  /// Cells that hold no value, beside empty ones: {"NA", "?"}. Blanks around them are no matter.
  std::vector<std::string> missing = {};
  char decimal = '.';                  // in front of a number's fraction; ',' in much of Europe, mostly with .separator = ';'
  std::optional<char> thousands = {};  // between groups of three digits of a number: ',' for "1,500"
};
/// The options of most TSV files: tabs, and quotes that mean nothing.
inline CsvOptions tsv(Header header = Header::Yes) { return {.separator = '\t', .quote = {}, .header = header}; }

/// A column of class names as numbers: names[label], sorted.
struct Classes {
  HostArray labels = {};  // (N,) i64
  std::vector<std::string> names = {};
};

/// The order in which a date names day, month and year.
enum class DateOrder : std::uint8_t { YearMonthDay, DayMonthYear, MonthDayYear };
/// The kind of a column's cells that hold a value: all numbers, or all dates (year, month, day), or texts; None: no cell holds one.
enum class ColumnKind : std::uint8_t { None, Numbers, Dates, Texts };
/// The treatment, in classes(), of a cell without a value or with a text that is none of the names.
enum class Unknown : std::uint8_t { Refuse, MinusOne };

/// Rows of text fields. Columns are found by name; a name that is not there is an Error that lists the names of the file.
class Table {
 public:
  std::int64_t rows() const { return columns() ? static_cast<std::int64_t>(cells_.size() / names_.size()) : 0; }
  std::size_t columns() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

  const std::string& text(std::int64_t row, const std::string& column) const;
  std::vector<std::string> texts(const std::string& column) const;
  /// True if the cell holds no value: it is empty, or one of CsvOptions::missing.
  bool is_missing(std::int64_t row, const std::string& column) const;
  ColumnKind kind(const std::string& column) const;
  /// The columns as numbers: (N, columns.size()) f32, or another float dtype. Cells without a value become `missing`, or are an Error when none is
  /// given, as is any text that is no number: with file, line and column. A number too near to 0 for the dtype is the nearest one, perhaps 0
  /// ("1e-330"); one that is too large for it is an Error ("1e39" as f32); "inf" and "nan" have their meaning.
  HostArray numbers(const std::vector<std::string>& columns, std::optional<double> missing = {}, DType dtype = DType::f32) const;
  /// A column of dates as days since 1970-01-01, (N,) f64: "2024-02-29", "29.2.2024", "2/29/2024" by `order`, and behind a blank or T a time ("12:30", "12:30:15.5"),
  /// which is a part of a day. Cells without a value become `missing`, as above; an impossible date is an Error.
  HostArray days(const std::string& column, DateOrder order = DateOrder::YearMonthDay, std::optional<double> missing = {}) const;
  /// Numbers from 0 for the different texts of a column, sorted. Given `names` (those of the training set), other texts are an Error, or -1 by
  /// Unknown::MinusOne, which cells without a value get, too; otherwise those are a text as any other.
  Classes classes(const std::string& column, const std::vector<std::string>& names = {}, Unknown unknown = Unknown::Refuse) const;
  /// The rows of these numbers, in this order: a training and a test part, a sample. Throws Error for a row that is not there.
  Table take(std::span<const std::int64_t> rows) const;

 private:
  friend Table parse_csv(std::string_view text, std::string_view name, const CsvOptions& options);
  std::size_t index_of(const std::string& column) const;
  const std::string& cell(std::int64_t row, std::size_t column) const { return cells_[static_cast<std::size_t>(row) * columns() + column]; }
  bool is_missing(std::string_view cell) const;
  std::optional<double> number_in(std::string_view cell) const;
  [[noreturn]] void refuse(std::int64_t row, std::size_t column, std::string expected, std::string advice = "") const;

  std::string file_;
  std::vector<std::string> missing_;
  char decimal_ = '.';
  std::optional<char> thousands_;
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
