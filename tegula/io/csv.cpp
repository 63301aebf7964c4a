#include "tegula/io/csv.h"

#include <csv.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <set>

#include "tegula/io/csv_error.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/gzip.h"

namespace tegula::io {
namespace {

/// Puts fields together to the records of a table, all as long as the first.
struct Records {
  std::string_view file;
  const CsvOptions& options;
  std::vector<std::string>& names;
  std::vector<std::string>& cells;
  std::vector<std::int64_t>& lines;
  std::int64_t begin = 1, line = 1;  // in which the record at hand begins, and the field at hand
  std::exception_ptr failure{};  // must not pass through libcsv

  void add_field(std::string_view field) {
    cells.emplace_back(field);
    line += std::count(field.begin(), field.end(), '\n');
  }

  void end_line(int end) {
    if (const std::size_t fields = cells.size() - names.size() * lines.size()) add_record(fields);
    begin = line += end == '\n';
  }

  void add_record(std::size_t fields) {
    if (names.empty() && options.header == Header::Yes) {
      if (std::set<std::string>(cells.begin(), cells.end()).size() != fields)
        csv::refuse(file, begin, "two columns of one name among " + csv::listed(cells), "a name for each",
                    "if the first line is data, read with .header = Header::No");
      names.swap(cells);
      return;
    }
    if (names.empty())
      for (std::size_t i = 0; i < fields; ++i) names.push_back(std::to_string(i));
    if (fields != names.size())
      csv::refuse(file, begin, std::to_string(fields) + " fields", "as many as in the first line, " + std::to_string(names.size()),
                  "fields with a separator in them are enclosed in quotes");
    lines.push_back(begin);
  }

  static void keeping_failure(void* records, auto method, auto value) {
    auto& self = *static_cast<Records*>(records);
    try {
      if (!self.failure) (self.*method)(value);
    } catch (...) { self.failure = std::current_exception(); }
  }
};

void split(std::string_view text, Records& records) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::size_t begin = 0, end = 0; end < line.size(); begin = end + 1) {
      end = std::min(line.find(records.options.separator, begin), line.size());
      records.add_field(line.substr(begin, end - begin));
    }
    records.end_line('\n');
  }
}

void parse(std::string_view text, char quote, Records& records) {
  csv_parser parser;
  csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL);  // the last: empty lines are told of, and counted
  const std::unique_ptr<csv_parser, decltype(&csv_free)> owner(&parser, csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(records.options.separator));
  csv_set_quote(&parser, static_cast<unsigned char>(quote));
  csv_set_space_func(&parser, [](unsigned char) { return 0; });  // blanks around a field belong to it
  csv_set_blk_size(&parser, text.size());  // by which its buffer grows: once at most
  const auto field = [](void* bytes, std::size_t size, void* to) {
    Records::keeping_failure(to, &Records::add_field, std::string_view(static_cast<const char*>(bytes), size));
  };
  const auto end = [](int end, void* to) { Records::keeping_failure(to, &Records::end_line, end); };
  const std::string_view read = text.substr(0, csv_parse(&parser, text.data(), text.size(), field, end, &records));
  text.remove_prefix(read.size());
  if (text.empty()) csv_fini(&parser, field, end, &records);
  if (records.failure) std::rethrow_exception(records.failure);
  if (csv_error(&parser) == CSV_SUCCESS) return;
  if (csv_error(&parser) != CSV_EPARSE) csv::refuse(records.file, records.line, csv_strerror(csv_error(&parser)), "more memory");
  if (text.empty()) csv::refuse(records.file, records.line, "a quote that is never closed", "another quote behind it");
  const std::int64_t line = 1 + std::count(read.begin(), read.end(), '\n');
  if (text[0] != quote)
    csv::refuse(records.file, line, "text behind a closing quote: " + std::string(text.substr(0, 10)), "a separator or the end of the line",
                "double quotes within a field");
  const std::size_t begin = read.find_last_of(std::string{records.options.separator, '\n', '\r'}) + 1;
  csv::refuse(records.file, line, "a quote within " + std::string(read.substr(begin)) + quote,
              "fields with quotes to be enclosed in quotes", "double it and enclose the field, or read with .quote = {}");
}

}  // namespace

Table parse_csv(std::string_view text, std::string_view name, const CsvOptions& options) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Table table;
  table.file_ = name;
  table.missing_ = options.missing;
  table.decimal_ = options.decimal;
  table.thousands_ = options.thousands;
  Records records{name, options, table.names_, table.cells_, table.lines_};
  options.quote ? parse(text, *options.quote, records) : split(text, records);
  if (table.names_.empty()) csv::refuse(name, 0, "nothing", "at least one line");
  return table;
}

Table read_csv(const std::string& path, const CsvOptions& options) {
  Bytes bytes = read_file(path, {.op = "csv"});
  if (is_gzip(bytes)) bytes = gunzip(bytes, path, {.op = "csv"});
  refuse_binary_kinds(bytes, "csv", path, "a table of text (CSV)");
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, options);
}

}  // namespace tegula::io
