#include "tegula/io/csv.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/gzip.h"

namespace tegula::io {
namespace {

[[noreturn]] void complain(std::string_view file, std::int64_t line, const std::string& got, std::string expected,
                           std::string advice = "") {
  throw Error({.op = "csv",
               .got = std::string(file) + (line > 0 ? ", line " + std::to_string(line) : "") + ": " + printable(got),
               .expected = std::move(expected),
               .advice = std::move(advice)});
}

/// Takes fields off the front of the text.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file, const CsvOptions& options) : text_(text), file_(file), options_(options) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  /// The fields of the next record; false at the end of the text.
  bool record(std::vector<std::string>& fields) {
    fields.clear();
    while (end_of_line()) {  // empty lines
    }
    if (text_.empty()) return false;
    begin_ = line_;
    for (;;) {
      fields.push_back(field());
      if (text_.empty() || end_of_line()) return true;
      text_.remove_prefix(1);  // the separator
    }
  }
  std::int64_t line() const { return begin_; }  // in which the record begins

 private:
  bool end_of_line() {
    const std::size_t length = text_.starts_with("\r\n") ? 2 : text_.starts_with('\n') ? 1 : 0;
    text_.remove_prefix(length);
    line_ += length > 0;
    return length > 0;
  }

  std::string field() { return options_.quote && text_.starts_with(*options_.quote) ? enclosed() : plain(); }

  std::string plain() {
    std::size_t end = 0;
    for (; end < text_.size() && text_[end] != options_.separator && text_[end] != '\n'; ++end) {
      if (options_.quote && text_[end] == *options_.quote)
        complain(file_, line_, "a quote within " + std::string(text_.substr(0, end + 1)), "fields with quotes to be enclosed in quotes",
                 "double it and enclose the field, or read with .quote = {}");
    }
    std::string_view value = text_.substr(0, end);
    text_.remove_prefix(end);
    if (text_.starts_with('\n') && value.ends_with('\r')) value.remove_suffix(1);
    return std::string(value);
  }

  std::string enclosed() {
    const char quote = *options_.quote;
    const std::int64_t opened = line_;
    std::string value;
    for (std::size_t at = 1;; ++at) {
      if (at >= text_.size()) complain(file_, opened, "a quote that is never closed", "another quote behind it");
      if (text_[at] == '\n') ++line_;
      if (text_[at] != quote) {
        value += text_[at];
      } else if (at + 1 < text_.size() && text_[at + 1] == quote) {
        value += text_[at++];
      } else {
        text_.remove_prefix(at + 1);
        break;
      }
    }
    if (!text_.empty() && text_[0] != options_.separator && text_[0] != '\n' && !text_.starts_with("\r\n"))
      complain(file_, line_, "text behind a closing quote: " + std::string(text_.substr(0, 10)), "a separator or the end of the line",
               "double quotes within a field");
    return value;
  }

  std::string_view text_, file_;
  const CsvOptions& options_;
  std::int64_t line_ = 1, begin_ = 1;
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 20; ++i) text += (i ? ", " : "") + names[i];
  return text + (names.size() > 20 ? ", …" : "");
}

}  // namespace

Table parse_csv(std::string_view text, std::string_view name, const CsvOptions& options) {
  Table table;
  table.file_ = name;
  Scanner scanner(text, name, options);
  std::vector<std::string> fields;
  bool first = true;
  while (scanner.record(fields)) {
    if (first) {
      first = false;
      if (options.header == Header::Yes) {
        table.names_ = fields;
        std::set<std::string> different(fields.begin(), fields.end());
        if (different.size() != fields.size())
          complain(name, scanner.line(), "two columns of one name among " + listed(fields), "a name for each",
                   "if the first line is data, read with .header = Header::No");
        continue;
      }
      for (std::size_t i = 0; i < fields.size(); ++i) table.names_.push_back(std::to_string(i));
    }
    if (fields.size() != table.names_.size())
      complain(name, scanner.line(), std::to_string(fields.size()) + " fields",
               "as many as in the first line, " + std::to_string(table.names_.size()),
               "fields with a separator in them are enclosed in quotes");
    for (std::string& field : fields) table.cells_.push_back(std::move(field));
    table.lines_.push_back(scanner.line());
  }
  if (table.names_.empty()) complain(name, 0, "nothing", "at least one line");
  return table;
}

Table read_csv(const std::string& path, const CsvOptions& options) {
  Bytes bytes = read_file(path, {.op = "csv"});
  if (is_gzip(bytes)) bytes = gunzip(bytes, path, {.op = "csv"});
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, options);
}

std::size_t Table::index_of(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found == names_.end()) complain(file_, 0, "no column " + column, "one of " + printable(listed(names_)));
  return static_cast<std::size_t>(found - names_.begin());
}

void Table::refuse(std::int64_t row, std::size_t column, std::string expected) const {
  const std::string& cell = cells_[static_cast<std::size_t>(row) * columns() + column];
  complain(file_, lines_[static_cast<std::size_t>(row)], "column " + names_[column] + " holds \"" + cell.substr(0, 40) + "\"",
           std::move(expected), cell.empty() ? "say what an empty field stands for: numbers(columns, missing)" : "");
}

const std::string& Table::text(std::int64_t row, const std::string& column) const {
  const std::size_t at = index_of(column);
  if (row < 0 || row >= rows()) complain(file_, 0, "row " + std::to_string(row), "0 to " + std::to_string(rows() - 1));
  return cells_[static_cast<std::size_t>(row) * columns() + at];
}

std::vector<std::string> Table::texts(const std::string& column) const {
  std::vector<std::string> out;
  for (std::size_t at = index_of(column); at < cells_.size(); at += columns()) out.push_back(cells_[at]);
  return out;
}

HostArray Table::numbers(const std::vector<std::string>& wanted, std::optional<double> missing, DType dtype) const {
  if (!is_float(dtype)) complain(file_, 0, "numbers of dtype " + std::string(name(dtype)), "a float dtype", "cast them, or use classes()");
  std::vector<std::size_t> at;
  for (const auto& column : wanted) at.push_back(index_of(column));
  HostArray out = HostArray::empty(dtype, {rows(), static_cast<std::int64_t>(at.size())});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* to = out.values<T>().data();
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (const std::size_t column : at) {
        std::string_view text = cells_[static_cast<std::size_t>(row) * columns() + column];
        while (text.starts_with(' ')) text.remove_prefix(1);
        while (text.ends_with(' ')) text.remove_suffix(1);
        if (text.starts_with('+')) text.remove_prefix(1);
        double value = 0;
        if (text.empty() && missing) {
          value = *missing;
        } else {
          const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
          if (error != std::errc() || rest != text.data() + text.size()) refuse(row, column, "a number");
        }
        *to++ = from_double<T>(value);
      }
    }
  });
  return out;
}

Classes Table::classes(const std::string& column, const std::vector<std::string>& known) const {
  const std::size_t at = index_of(column);
  Classes out{HostArray::empty(DType::i64, {rows()}), known};
  if (known.empty()) {
    const std::vector<std::string> all = texts(column);
    const std::set<std::string> different(all.begin(), all.end());
    out.names.assign(different.begin(), different.end());
  }
  std::map<std::string_view, std::int64_t> number;
  for (const std::string& known_name : out.names) number.emplace(known_name, static_cast<std::int64_t>(number.size()));
  const auto labels = out.labels.values<std::int64_t>();
  for (std::int64_t row = 0; row < rows(); ++row) {
    const auto found = number.find(cells_[static_cast<std::size_t>(row) * columns() + at]);
    if (found == number.end()) refuse(row, at, "one of " + printable(listed(out.names)));
    labels[static_cast<std::size_t>(row)] = found->second;
  }
  return out;
}

}  // namespace tegula::io
