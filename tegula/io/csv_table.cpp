// Interprets the cells of a table: numbers, dates, classes.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "tegula/io/csv.h"
#include "tegula/io/csv_error.h"
#include "tegula/io/read_number.h"

namespace tegula::io {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "1,234,567" as "1234567"; nothing where the groups behind the first have not three digits.
std::optional<std::string> without_groups(std::string_view text, char sign) {
  std::string out;
  std::size_t digits = 0;
  bool grouped = false;
  for (const char c : text) {
    if (c == sign) {
      if (digits == 0 || digits > 3 || (grouped && digits != 3)) return {};
      grouped = true;
      digits = 0;
    } else {
      digits += is_digit(c);
      out += c;
    }
  }
  if (grouped && digits != 3) return {};
  return out;
}

/// A whole number of one to `most` digits at the front of the text, which is taken away.
std::optional<int> take_number(std::string_view& text, std::size_t most) {
  std::size_t size = 0;
  while (size < text.size() && size < most && is_digit(text[size])) ++size;
  int value = 0;
  if (size == 0 || std::from_chars(text.data(), text.data() + size, value).ec != std::errc()) return {};
  text.remove_prefix(size);
  return value;
}

bool take_sign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

/// The part of a day that "12:30" or "12:30:15.5" is.
std::optional<double> time_of(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);  // UTC
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take_sign(text, ':')) return {};
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return {};
  double seconds = 0;
  if (take_sign(text, ':')) {
    const auto read = text.empty() || !is_digit(text[0]) ? std::nullopt : read_number(text);
    if (!read || !(*read < 61)) return {};
    seconds = *read;
  } else if (!text.empty()) {
    return {};
  }
  return (*hours * 3600 + *minutes * 60 + seconds) / 86400;
}

/// Days since 1970-01-01 of a date that there was, in the Gregorian calendar.
std::optional<double> day_of(std::string_view text, DateOrder order) {
  std::optional<int> parts[3];
  char sign = 0;
  for (int i = 0; i < 3; ++i) {
    const bool is_year = i == (order == DateOrder::YearMonthDay ? 0 : 2);
    const std::size_t before = text.size();
    parts[i] = take_number(text, is_year ? 4 : 2);
    if (!parts[i] || (is_year && before - text.size() != 4)) return {};
    if (i == 2) break;
    if (text.empty() || (sign ? text[0] != sign : std::string_view("-/.").find(text[0]) == std::string_view::npos)) return {};
    sign = text[0];
    text.remove_prefix(1);
  }
  using namespace std::chrono;
  const int y = *parts[order == DateOrder::YearMonthDay ? 0 : 2], m = *parts[order == DateOrder::MonthDayYear ? 0 : 1];
  const int d = *parts[order == DateOrder::YearMonthDay ? 2 : order == DateOrder::DayMonthYear ? 0 : 1];
  const year_month_day date{year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d))};
  if (!date.ok()) return {};
  const auto days = static_cast<double>(sys_days(date).time_since_epoch().count());
  if (text.empty()) return days;
  if (text[0] != ' ' && text[0] != 'T') return {};
  const auto time = time_of(text.substr(1));
  if (!time) return {};
  return days + *time;
}

/// Advice on reading a number from a cell that holds none as it is.
std::string advice_for(const std::string& text) {
  if (text.find(',') != std::string::npos && text.find_first_not_of("0123456789.,+- ") == std::string::npos)
    return "the signs of a number are CsvOptions{.decimal = ','} for 1,5 and {.thousands = ','} for 1,500";
  return "texts that stand for no value: CsvOptions{.missing = {\"NA\"}}; a column of names: classes()";
}

}  // namespace

std::size_t Table::index_of(const std::string& column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found == names_.end()) csv::refuse(file_, 0, "no column " + column, "one of " + printable(csv::listed(names_)));
  return static_cast<std::size_t>(found - names_.begin());
}

void Table::refuse(std::int64_t row, std::size_t column, std::string expected, std::string advice) const {
  const std::string& text = cell(row, column);
  if (is_missing(text)) advice = "say what a cell without a value stands for: numbers(columns, missing)";
  csv::refuse(file_, lines_[static_cast<std::size_t>(row)], "column " + names_[column] + " holds \"" + text.substr(0, 40) + "\"",
              std::move(expected), std::move(advice));
}

bool Table::is_missing(std::string_view text) const {
  text = trimmed(text);
  return text.empty() || std::find(missing_.begin(), missing_.end(), text) != missing_.end();
}

bool Table::is_missing(std::int64_t row, const std::string& column) const { return is_missing(text(row, column)); }

std::optional<double> Table::number_in(std::string_view text) const {
  text = trimmed(text);
  if (decimal_ == '.' && !thousands_) return read_number(text);
  const std::size_t end = std::min(text.find_first_of("eE"), text.size()), point = std::min(text.find(decimal_), end);
  std::string whole(text.substr(0, point)), rest(text.substr(point));
  if (thousands_) {
    auto plain = without_groups(whole, *thousands_);
    if (!plain) return {};
    whole = std::move(*plain);
  }
  if (whole.find('.') != std::string::npos || (decimal_ != '.' && rest.find('.') != std::string::npos)) return {};
  if (!rest.empty() && rest[0] == decimal_) rest[0] = '.';
  return read_number(whole + rest);
}

const std::string& Table::text(std::int64_t row, const std::string& column) const {
  const std::size_t at = index_of(column);
  if (row < 0 || row >= rows()) csv::refuse(file_, 0, "row " + std::to_string(row), "0 to " + std::to_string(rows() - 1));
  return cell(row, at);
}

std::vector<std::string> Table::texts(const std::string& column) const {
  std::vector<std::string> out;
  for (std::size_t at = index_of(column); at < cells_.size(); at += columns()) out.push_back(cells_[at]);
  return out;
}

ColumnKind Table::kind(const std::string& column) const {
  bool any = false, numbers = true, dates = true;
  for (std::size_t at = index_of(column); at < cells_.size() && (numbers || dates); at += columns()) {
    if (is_missing(cells_[at])) continue;
    any = true;
    numbers = numbers && number_in(cells_[at]);
    dates = dates && day_of(trimmed(cells_[at]), DateOrder::YearMonthDay);
  }
  return !any ? ColumnKind::None : numbers ? ColumnKind::Numbers : dates ? ColumnKind::Dates : ColumnKind::Texts;
}

HostArray Table::numbers(const std::vector<std::string>& wanted, std::optional<double> missing, DType dtype) const {
  if (!is_float(dtype))
    csv::refuse(file_, 0, "numbers of dtype " + std::string(name(dtype)), "a float dtype", "cast them, or use classes()");
  std::vector<std::size_t> at;
  for (const auto& column : wanted) at.push_back(index_of(column));
  HostArray out = HostArray::empty(dtype, {rows(), static_cast<std::int64_t>(at.size())});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* to = out.values<T>().data();
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (const std::size_t column : at) {
        const std::string& text = cell(row, column);
        const bool none = is_missing(text);
        const std::optional<double> value = none ? missing : number_in(text);
        if (!value) refuse(row, column, "a number", advice_for(text));
        *to = from_double<T>(*value);
        const bool says_infinite = text.find_first_of("nN") != std::string::npos;  // "inf"
        if (!none && !says_infinite && std::isinf(as_double(*to)))
          refuse(row, column, "a number that " + std::string(name(dtype)) + " can hold", "numbers(…, f64) holds more, up to 1.8e308");
        ++to;
      }
    }
  });
  return out;
}

HostArray Table::days(const std::string& column, DateOrder order, std::optional<double> missing) const {
  const std::size_t at = index_of(column);
  HostArray out = HostArray::empty(f64, {rows()});
  for (std::int64_t row = 0; row < rows(); ++row) {
    const std::string& text = cell(row, at);
    const std::optional<double> value = is_missing(text) ? missing : day_of(trimmed(text), order);
    if (!value)
      refuse(row, at,
             std::string("a date such as ") + (order == DateOrder::YearMonthDay   ? "2024-02-29"
                                               : order == DateOrder::DayMonthYear ? "29.02.2024"
                                                                                  : "02/29/2024"),
             "days(column, DateOrder::…) says in which order dates are written");
    out.values<double>()[static_cast<std::size_t>(row)] = *value;
  }
  return out;
}

Classes Table::classes(const std::string& column, const std::vector<std::string>& known, Unknown unknown) const {
  const std::size_t at = index_of(column);
  Classes out{HostArray::empty(DType::i64, {rows()}), known};
  if (known.empty()) {
    std::set<std::string> different;
    for (std::int64_t row = 0; row < rows(); ++row) {
      if (unknown == Unknown::Refuse || !is_missing(cell(row, at))) different.insert(cell(row, at));
    }
    out.names.assign(different.begin(), different.end());
  }
  std::map<std::string_view, std::int64_t> number;
  for (const std::string& known_name : out.names) number.emplace(known_name, static_cast<std::int64_t>(number.size()));
  const auto labels = out.labels.values<std::int64_t>();
  for (std::int64_t row = 0; row < rows(); ++row) {
    const auto found = number.find(cell(row, at));
    const bool is_known = found != number.end() && (unknown == Unknown::Refuse || !is_missing(cell(row, at)));
    if (!is_known && unknown == Unknown::Refuse) refuse(row, at, "one of " + printable(csv::listed(out.names)));
    labels[static_cast<std::size_t>(row)] = is_known ? found->second : -1;
  }
  return out;
}

Table Table::take(std::span<const std::int64_t> wanted) const {
  Table out = *this;
  out.cells_.clear();
  out.lines_.clear();
  for (const std::int64_t row : wanted) {
    if (row < 0 || row >= rows()) csv::refuse(file_, 0, "row " + std::to_string(row), "0 to " + std::to_string(rows() - 1));
    for (std::size_t column = 0; column < columns(); ++column) out.cells_.push_back(cell(row, column));
    out.lines_.push_back(lines_[static_cast<std::size_t>(row)]);
  }
  return out;
}

}  // namespace tegula::io
