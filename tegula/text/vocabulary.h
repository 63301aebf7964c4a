#pragma once
// Tokens and their numbers.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tegula::text {

using Id = std::int64_t;  // the index that an embedding takes
using Ids = std::vector<Id>;

/// Lets maps of strings be asked with pieces of text.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Tokens numbered from 0. Every token has one number; empty tokens are gaps that nothing finds.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// A token's index is its number. Among equal tokens the first one gets the name.
  explicit Vocabulary(std::vector<std::string> tokens);

  Id size() const { return static_cast<Id>(tokens_.size()); }
  std::optional<Id> find(std::string_view token) const;
  bool contains(std::string_view token) const { return find(token).has_value(); }
  /// Throws Error, naming a similar token if there is one, when it is not in the vocabulary.
  Id id(std::string_view token) const;
  /// Throws Error when id is not in [0, size()).
  const std::string& token(Id id) const;
  /// The number of `token`, which is added at the end when it is new.
  Id add(std::string_view token);
  const std::vector<std::string>& tokens() const { return tokens_; }
  bool operator==(const Vocabulary& other) const { return tokens_ == other.tokens_; }

 private:
  std::vector<std::string> tokens_;
  TextMap<Id> ids_;
};

/// A file with a token in each line (LF or CRLF), as BERT's vocab.txt: its number is the line's, from 0. Throws Error for an empty file and
/// for a token that stands in two lines.
Vocabulary read_vocabulary(const std::string& path);
Vocabulary parse_vocabulary(std::string_view text, std::string_view name);
/// Throws Error for a token with a line end in it, which the file cannot hold, and when the disk refuses.
void write_vocabulary(const std::string& path, const Vocabulary& vocabulary);

/// The tokens by frequency, the most frequent first, those of one count in the order of their bytes; `first` (special tokens) in front.
struct CountOptions {
  std::int64_t minimum = 1;  // count below which a token is left out
  std::int64_t most = 0;  // tokens, those in front included; 0: all
  std::vector<std::string> first = {};
};
Vocabulary count_vocabulary(const TextMap<std::int64_t>& counts, const CountOptions& options = {});

}  // namespace tegula::text
