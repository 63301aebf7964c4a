#pragma once
// Plain text files, plain or gzipped: whole, by lines, and two files whose lines belong together.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tegula::text {

/// The whole file, decompressed if it is gzip; a byte-order mark is left out. `op` is the caller, for messages. Throws Error if it
/// cannot be read.
std::string read_text(const std::string& path, std::string_view op = "read_text");

/// The lines (LF or CRLF) without their ends, views of `text`; the last one may lack its end.
std::vector<std::string_view> split_lines(std::string_view text);
/// The lines of a file. Throws Error when it cannot be read, or a line is no UTF-8 (with its number).
std::vector<std::string> read_lines(const std::string& path);

/// Sentence i of a corpus in two languages.
using LinePairs = std::vector<std::pair<std::string, std::string>>;
/// Two files, line by line: train.de and train.en. Throws Error as read_lines does, and when they have not the same number of lines.
LinePairs read_line_pairs(const std::string& first, const std::string& second);
/// One file with a pair in each line, a tab between them, as the sentence pairs of tutorials. More columns are left out. Throws Error for a
/// line without a tab.
LinePairs read_line_pairs(const std::string& path);

}  // namespace tegula::text
