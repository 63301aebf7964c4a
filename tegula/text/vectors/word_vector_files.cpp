// The files of word2vec (text and binary) and GloVe.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/gzip.h"
#include "tegula/io/read_number.h"
#include "tegula/text/unicode.h"
#include "tegula/text/vectors/word_vectors.h"

namespace tegula::text {
namespace {

constexpr std::int64_t kMostDimensions = 1 << 16;

class Reader {
 public:
  Reader(std::string_view text, std::string_view name, std::int64_t most)
      : rest_(text),
        name_(name),
        most_(most > 0 ? most : std::numeric_limits<std::int64_t>::max()) {}

  WordVectors read() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    const std::string_view first = rest_.substr(0, rest_.find('\n'));
    std::int64_t words = 0;
    if (header(first, words, dimension_)) {
      rest_.remove_prefix(std::min(first.size() + 1, rest_.size()));
      if (words < 1 || dimension_ < 1 || dimension_ > kMostDimensions)
        fail("a header of " + std::to_string(words) + " words and " + std::to_string(dimension_) + " dimensions",
             "at least one of each, at most 65536 dimensions");
      const std::int64_t wanted = std::min(words, most_);
      if (is_text()) lines(wanted);
      else binary(wanted);
      if (static_cast<std::int64_t>(tokens_.size()) < wanted)
        fail(std::to_string(tokens_.size()) + " words before the end", std::to_string(words) + ", as the header says");
    } else {
      dimension_ = 0;  // as the first line has them
      lines(most_);
    }
    if (tokens_.empty()) fail("no vectors", "a word and its numbers in each line");
    const auto count = static_cast<std::int64_t>(tokens_.size());
    Vocabulary vocabulary(std::move(tokens_));
    for (Id id = 0; id < count; ++id) {
      if (vocabulary.find(vocabulary.token(id)) != id) fail("the word '" + shown(vocabulary.token(id)) + "' twice", "each word once");
    }
    return {std::move(vocabulary), HostArray::from(std::span<const float>(values_), {count, dimension_})};
  }

 private:
  [[noreturn]] void fail(std::string got, std::string expected) const {
    throw Error({.op = "word_vectors",
                 .got = std::string(name_) + ": " + std::move(got),
                 .expected = std::move(expected),
                 .advice = "the file is damaged or truncated, or no file of word2vec or GloVe"});
  }
  static std::string shown(std::string_view text) { return printable(text.substr(0, 40)); }

  static bool number(std::string_view text, std::int64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
  /// Two whole numbers, and nothing else.
  static bool header(std::string_view line, std::int64_t& words, std::int64_t& dimension) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with(' ')) line.remove_suffix(1);
    const std::size_t blank = line.find(' ');
    return blank != std::string_view::npos && number(line.substr(0, blank), words) && number(line.substr(blank + 1), dimension);
  }
  /// True if the first vector is text: its line has as many fields as the header promises.
  bool is_text() const {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    for (const char c : line) {
      if (static_cast<unsigned char>(c) < 9) return false;
    }
    std::int64_t blanks = 0;
    std::string_view fields = line;
    while (fields.ends_with(' ') || fields.ends_with('\r')) fields.remove_suffix(1);
    for (const char c : fields) blanks += c == ' ';
    if (blanks != dimension_) return false;
    const std::string_view last = fields.substr(fields.rfind(' ') + 1);
    float value = 0;
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), value);
    return error == std::errc() && end == last.data() + last.size();
  }

  static bool number(std::string_view text, float& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {  // a number nearer to 0 than floats are is 0
      const auto other = io::read_number(text);
      if (!other || std::isinf(*other) || std::isinf(static_cast<float>(*other))) return false;
      value = static_cast<float>(*other);
      return true;
    }
    return error == std::errc() && end == text.data() + text.size();
  }
  static std::string_view last_field(std::string_view line) { return line.substr(line.rfind(' ') + 1); }
  static std::string_view without_last_field(std::string_view line) {
    const std::size_t blank = line.rfind(' ');
    line = line.substr(0, blank == std::string_view::npos ? 0 : blank);
    while (line.ends_with(' ')) line.remove_suffix(1);
    return line;
  }
  /// A word and its numbers in each line. The first line, whose word has no blanks, or a header says how many numbers. Other words may have some
  /// (glove.840B: ". . .", "at name@domain.com"), so numbers are counted from the right; a word with a number at its end is a line that has too many.
  void lines(std::int64_t wanted) {
    std::int64_t number_of_line = 0;
    while (!rest_.empty() && static_cast<std::int64_t>(tokens_.size()) < wanted) {
      ++number_of_line;
      std::string_view line = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
      while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      const auto where = [&] { return "vector " + std::to_string(number_of_line) + ", '" + shown(line) + "'"; };
      if (dimension_ == 0) dimension_ = std::count(line.begin(), line.end(), ' ');
      if (dimension_ == 0 || line.starts_with(' ')) fail(where(), "a word and its numbers");
      if (dimension_ > kMostDimensions) fail(where() + ", with " + std::to_string(dimension_) + " numbers", "at most 65536");
      const std::size_t before = values_.size();
      values_.resize(before + static_cast<std::size_t>(dimension_));
      std::string_view word = line;
      for (std::size_t i = values_.size(); i-- > before; word = without_last_field(word)) {
        const std::string_view field = last_field(word);
        if (field.size() == word.size())
          fail(where() + ", with " + std::to_string(values_.size() - 1 - i) + " numbers", std::to_string(dimension_) + ", as the others");
        if (!number(field, values_[i])) fail(where() + ", with the number '" + shown(field) + "'", "numbers");
      }
      if (float more = 0; word.find(' ') != std::string_view::npos && number(last_field(word), more))
        fail(where() + ", with more than " + std::to_string(dimension_) + " numbers", std::to_string(dimension_) + ", as the others");
      tokens_.emplace_back(word);
    }
  }

  void binary(std::int64_t wanted) {
    const auto bytes = static_cast<std::size_t>(dimension_) * sizeof(float);
    while (static_cast<std::int64_t>(tokens_.size()) < wanted) {
      while (rest_.starts_with('\n')) rest_.remove_prefix(1);  // the C program ends vectors so
      const std::size_t blank = rest_.find(' ');
      if (blank == std::string_view::npos || blank == 0 || rest_.size() - blank - 1 < bytes)
        fail("the end of the data in word " + std::to_string(tokens_.size() + 1),
             "a word, a blank and " + std::to_string(bytes) + " bytes");
      tokens_.emplace_back(rest_.substr(0, blank));
      const std::size_t before = values_.size();
      values_.resize(before + static_cast<std::size_t>(dimension_));
      std::memcpy(values_.data() + before, rest_.data() + blank + 1, bytes);
      rest_.remove_prefix(blank + 1 + bytes);
    }
  }

  std::string_view rest_, name_;
  std::int64_t most_, dimension_ = 0;
  std::vector<std::string> tokens_;
  std::vector<float> values_;
};

}  // namespace

WordVectors parse_word_vectors(std::span<const std::byte> bytes, std::string_view name, std::int64_t most) {
  io::refuse_binary_kinds(bytes, "word_vectors", name, "vectors of words, as word2vec and GloVe write them");
  return Reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name, most).read();
}

WordVectors read_word_vectors(const std::string& path, std::int64_t most) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 30;
  io::Bytes bytes = io::read_file(path, {.op = "word_vectors", .limit = kMostBytes});
  if (io::is_gzip(bytes)) bytes = io::gunzip(bytes, path, {.op = "word_vectors", .limit = kMostBytes});
  return parse_word_vectors(bytes, path, most);
}

void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format) {
  io::AtomicFile file(path, "word_vectors");
  const auto put = [&](std::string_view text) { file.write(std::as_bytes(std::span(text))); };
  if (format != VectorFormat::GloVe) put(std::to_string(vectors.size()) + " " + std::to_string(vectors.dimension()) + "\n");
  std::string line;
  for (const std::string& word : vectors.vocabulary().tokens()) {
    if (word.empty() || word.find_first_of(" \n\r") != std::string::npos) {
      throw Error({.op = "word_vectors",
                   .got = "the word '" + printable(word.substr(0, 40)) + "'",
                   .expected = "words without blanks and line ends",
                   .advice = "join its parts with _"});
    }
    line = word + " ";
    const auto row = vectors[word];
    if (format == VectorFormat::Word2VecBinary) {
      line.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
    } else {
      char number[32];
      for (const float value : row) line.append(number, std::to_chars(number, number + sizeof(number), value).ptr) += ' ';
      line.pop_back();
    }
    put(line += '\n');
  }
  file.commit();
}

}  // namespace tegula::text
