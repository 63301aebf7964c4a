#include "tegula/text/lines.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/gzip.h"
#include "tegula/text/unicode.h"

namespace tegula::text {

std::string read_text(const std::string& path, std::string_view op) {
  io::Bytes bytes = io::read_file(path, {.op = op});
  if (io::is_gzip(bytes)) bytes = io::gunzip(bytes, path, {.op = op});
  io::refuse_binary_kinds(bytes, op, path, "text");
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return std::string(text);
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> read_lines(const std::string& path) {
  const std::string text = read_text(path, "read_lines");
  std::vector<std::string> out;
  for (const std::string_view line : split_lines(text)) {
    if (!is_utf8(line)) {
      throw Error({.op = "read_lines",
                   .got = path + ", line " + std::to_string(out.size() + 1) + ": bytes that are no UTF-8 behind '" +
                          printable(line.substr(0, valid_bytes(line)).substr(0, 40)) + "'",
                   .expected = "UTF-8",
                   .advice = "convert the file: iconv -f latin1 -t utf8"});
    }
    out.emplace_back(line);
  }
  return out;
}

LinePairs read_line_pairs(const std::string& first, const std::string& second) {
  std::vector<std::string> one = read_lines(first), two = read_lines(second);
  if (one.size() != two.size()) {
    throw Error({.op = "read_line_pairs",
                 .got = first + " with " + std::to_string(one.size()) + " lines and " + second + " with " + std::to_string(two.size()),
                 .expected = "as many in both"});
  }
  LinePairs pairs;
  pairs.reserve(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) pairs.emplace_back(std::move(one[i]), std::move(two[i]));
  return pairs;
}

LinePairs read_line_pairs(const std::string& path) {
  LinePairs pairs;
  for (const std::string& line : read_lines(path)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      throw Error({.op = "read_line_pairs",
                   .got = path + ", line " + std::to_string(pairs.size() + 1) + ": '" + printable(line.substr(0, 60)) + "'",
                   .expected = "two texts with a tab between them",
                   .advice = "give two files when the languages are apart"});
    }
    const std::size_t end = line.find('\t', tab + 1);
    pairs.emplace_back(line.substr(0, tab), line.substr(tab + 1, end == std::string::npos ? end : end - tab - 1));
  }
  return pairs;
}

}  // namespace tegula::text
