#include "tegula/text/vocabulary.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/text/lines.h"
#include "tegula/text/unicode.h"

namespace tegula::text {

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  ids_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].empty()) ids_.emplace(tokens_[i], static_cast<Id>(i));
  }
}

std::optional<Id> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return {};
  return found->second;
}

Id Vocabulary::id(std::string_view token) const {
  if (const auto found = find(token)) return *found;
  const std::string lower = lowercase(token);
  throw Error(
      {.op = "Vocabulary",
       .got = "the token '" + printable(token.substr(0, 80)) + "'",
       .expected = "one of its " + std::to_string(size()) + " tokens",
       .advice = find(lower) ? "'" + printable(lower) + "' is one" : "encode text with a tokenizer, which knows what to do with it"});
}

const std::string& Vocabulary::token(Id id) const {
  if (id < 0 || id >= size()) {
    throw Error({.op = "Vocabulary",
                 .got = "the token number " + std::to_string(id),
                 .expected = "a number from 0 to " + std::to_string(size() - 1),
                 .advice = "is it from another vocabulary?"});
  }
  return tokens_[static_cast<std::size_t>(id)];
}

Id Vocabulary::add(std::string_view token) {
  if (const auto found = find(token)) return *found;
  tokens_.emplace_back(token);
  if (!token.empty()) ids_.emplace(token, size() - 1);
  return size() - 1;
}

Vocabulary parse_vocabulary(std::string_view text, std::string_view name) {
  std::vector<std::string> tokens;
  for (const std::string_view line : split_lines(text)) tokens.emplace_back(line);
  const auto refuse = [&](std::string got, std::string expected) {
    throw Error({.op = "read_vocabulary", .got = std::string(name) + ": " + std::move(got), .expected = std::move(expected)});
  };
  if (tokens.empty()) refuse("no tokens", "a token in each line");
  Vocabulary out(std::move(tokens));
  for (Id i = 0; i < out.size(); ++i) {
    const std::string& token = out.token(i);
    if (!token.empty() && out.find(token) != i) {
      refuse("the token '" + printable(token.substr(0, 80)) + "' in the lines " + std::to_string(*out.find(token) + 1) + " and " +
                 std::to_string(i + 1),
             "every token once");
    }
  }
  return out;
}

Vocabulary read_vocabulary(const std::string& path) { return parse_vocabulary(read_text(path, "read_vocabulary"), path); }

void write_vocabulary(const std::string& path, const Vocabulary& vocabulary) {
  std::string text;
  for (const std::string& token : vocabulary.tokens()) {
    if (token.find_first_of("\r\n") != std::string::npos) {
      throw Error({.op = "write_vocabulary",
                   .got = "the token '" + printable(token.substr(0, 80)) + "', in which a line ends",
                   .expected = "tokens that fill a line each"});
    }
    text += token + '\n';
  }
  io::write_atomically(path, std::as_bytes(std::span(text)), "write_vocabulary");
}

Vocabulary count_vocabulary(const TextMap<std::int64_t>& counts, const CountOptions& options) {
  std::vector<std::pair<std::int64_t, std::string_view>> order;
  for (const auto& [token, count] : counts) {
    if (count >= options.minimum) order.emplace_back(-count, token);
  }
  std::sort(order.begin(), order.end());
  Vocabulary out(options.first);
  for (const auto& [count, token] : order) {
    if (options.most > 0 && out.size() >= options.most) break;
    out.add(token);
  }
  return out;
}

}  // namespace tegula::text
