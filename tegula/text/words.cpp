#include "tegula/text/words.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tegula/core/error.h"
#include "tegula/text/tokens/bpe.h"

namespace tegula::text {
namespace {

void require_id(const char* op, Id id, Id size) {
  if (id >= 0 && id < size) return;
  throw Error({.op = op,
               .got = "the token number " + std::to_string(id),
               .expected = "a number from 0 to " + std::to_string(size - 1),
               .advice = "is the vocabulary the one that the texts were encoded with?"});
}

}  // namespace

WordTokenizer::WordTokenizer(WordTokenizerOptions options) : options_(std::move(options)), vocabulary_({std::string()}) {}

std::vector<std::string> WordTokenizer::words_of(std::string_view text) const {
  const std::string lower = options_.lowercase ? lowercase(text) : std::string(text);
  std::vector<std::string> words;
  if (options_.characters) {
    for_each_character(lower, [&](char32_t, std::string_view bytes) { words.emplace_back(bytes); });
    return words;
  }
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char c : lower) {
    if (c == ' ' || options_.filters.find(c) != std::string::npos) end();
    else word += c;
  }
  end();
  return words;
}

void WordTokenizer::fit(std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    for (std::string& word : words_of(text)) {
      if (++counts_[word] == 1) order_.push_back(std::move(word));
    }
  }
  std::vector<std::string_view> words(order_.begin(), order_.end());
  std::stable_sort(words.begin(), words.end(), [&](auto a, auto b) { return count(a) > count(b); });
  Vocabulary numbered({std::string()});
  if (!options_.unknown.empty()) numbered.add(options_.unknown);
  for (const auto word : words) numbered.add(word);
  vocabulary_ = std::move(numbered);
}

std::int64_t WordTokenizer::count(std::string_view word) const {
  const auto found = counts_.find(word);
  return found == counts_.end() ? 0 : found->second;
}

Ids WordTokenizer::encode(std::string_view text) const {
  const auto unknown = options_.unknown.empty() ? std::nullopt : vocabulary_.find(options_.unknown);
  Ids out;
  for (const std::string& word : words_of(text)) {
    auto id = vocabulary_.find(word);
    if (id && options_.most > 0 && *id >= options_.most) id = {};
    if (!id) id = unknown;
    if (id) out.push_back(*id);
  }
  return out;
}

std::vector<Ids> WordTokenizer::encode(std::span<const std::string> texts) const {
  std::vector<Ids> out;
  for (const std::string& text : texts) out.push_back(encode(text));
  return out;
}

std::string WordTokenizer::decode(std::span<const Id> ids) const {
  std::string out;
  for (const Id id : ids) {
    if (id == 0) continue;
    if (!out.empty() && !options_.characters) out += ' ';
    out += vocabulary_.token(id);
  }
  return out;
}

HostArray pad_sequences(std::span<const Ids> sequences, const PadOptions& options) {
  if (options.length < 0) {
    throw Error({.op = "pad_sequences", .got = "length " + std::to_string(options.length), .expected = "0 (the longest) or more"});
  }
  std::size_t length = static_cast<std::size_t>(options.length);
  if (length == 0) {
    for (const Ids& one : sequences) length = std::max(length, one.size());
  }
  HostArray out = HostArray::empty(i64, {static_cast<std::int64_t>(sequences.size()), static_cast<std::int64_t>(length)});
  const auto values = out.values<Id>();
  std::fill(values.begin(), values.end(), options.value);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::span<const Id> one = sequences[i];
    if (one.size() > length) one = options.truncating == Side::Front ? one.last(length) : one.first(length);
    const std::size_t skipped = options.padding == Side::Front ? length - one.size() : 0;
    std::copy(one.begin(), one.end(), values.begin() + static_cast<std::ptrdiff_t>(i * length + skipped));
  }
  return out;
}

HostArray sequence_lengths(std::span<const Ids> sequences, std::int64_t length) {
  HostArray out = HostArray::empty(i64, {static_cast<std::int64_t>(sequences.size())});
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto own = static_cast<std::int64_t>(sequences[i].size());
    out.values<Id>()[i] = length > 0 ? std::min(own, length) : own;
  }
  return out;
}

HostArray bag_of_words(std::span<const Ids> texts, Id size, Bag kind) {
  HostArray out = HostArray::empty(f32, {static_cast<std::int64_t>(texts.size()), size});
  const auto values = out.values<float>();
  std::fill(values.begin(), values.end(), 0.0f);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const Id id : texts[i]) {
      require_id("bag_of_words", id, size);
      float& value = values[i * static_cast<std::size_t>(size) + static_cast<std::size_t>(id)];
      value = kind == Bag::Counts ? value + 1 : 1;
    }
  }
  return out;
}

TfIdf::TfIdf(std::span<const Ids> texts, Id size) {
  std::vector<std::int64_t> with(static_cast<std::size_t>(std::max<Id>(size, 0)));
  for (const Ids& text : texts) {
    for (const Id id : std::set<Id>(text.begin(), text.end())) {
      require_id("TfIdf", id, size);
      ++with[static_cast<std::size_t>(id)];
    }
  }
  for (const std::int64_t count : with)
    weights_.push_back(std::log((1.0 + static_cast<double>(texts.size())) / (1.0 + static_cast<double>(count))) + 1);
}

HostArray TfIdf::operator()(std::span<const Ids> texts) const {
  HostArray out = bag_of_words(texts, static_cast<Id>(weights_.size()));
  const auto values = out.values<float>();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto row = values.subspan(i * weights_.size(), weights_.size());
    double squares = 0;
    for (std::size_t j = 0; j < row.size(); ++j) squares += std::pow(row[j] * weights_[j], 2);
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<float>(row[j] * weights_[j] * scale);
  }
  return out;
}

Tokenizer character_tokenizer(Vocabulary characters) {
  TokenizerParts parts;
  parts.model = std::make_shared<Bpe>(std::move(characters), Merges{}, BpeOptions{.symbols = Symbols::Characters});
  return Tokenizer(std::move(parts));
}

Tokenizer character_tokenizer(std::string_view text) {
  std::set<std::string, std::less<>> characters;
  for_each_character(text, [&](char32_t, std::string_view bytes) {
    if (!characters.contains(bytes)) characters.emplace(bytes);
  });
  if (characters.empty()) throw Error({.op = "character_tokenizer", .got = "an empty text", .expected = "characters"});
  return character_tokenizer(Vocabulary({characters.begin(), characters.end()}));
}

}  // namespace tegula::text
