#include "tegula/text/tokens/bpe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <queue>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

std::string in_quotes(std::string_view token) { return "'" + printable(token.substr(0, 80)) + "'"; }

std::uint64_t key_of(std::uint64_t left, std::uint64_t right) { return left << 32 | right; }
std::size_t slot_of(std::uint64_t key) { return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 20); }

struct Spelling {
  std::array<char32_t, 256> of_byte{};
  std::array<int, 512> of_character{};
};

/// Bytes that are printable in Latin-1 stand for themselves, the others for the characters from 256 on.
const Spelling& spelling() {
  static const Spelling table = [] {
    Spelling made;
    made.of_character.fill(-1);
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable_here = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      made.of_byte[byte] = printable_here ? byte : next++;
      made.of_character[made.of_byte[byte]] = static_cast<int>(byte);
    }
    return made;
  }();
  return table;
}

}  // namespace

std::string spell_bytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_utf8(out, spelling().of_byte[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> spelled_bytes(std::string_view text) {
  std::string out;
  bool known = true;
  for_each_character(text, [&](char32_t code, std::string_view) {
    const int byte = code < 512 ? spelling().of_character[code] : -1;
    known = known && byte >= 0;
    out += static_cast<char>(byte);
  });
  if (!known) return {};
  return out;
}

void Bpe::MergeTable::reserve(std::size_t count) {
  std::size_t size = 16;
  while (size < 2 * count) size *= 2;
  slots_.assign(size, {});
}

void Bpe::MergeTable::insert(Id left, Id right, Merge merge) {
  if (2 * used_ >= slots_.size()) {
    std::vector<Slot> old = std::move(slots_);
    reserve(std::max<std::size_t>(old.size(), 8));
    used_ = 0;
    for (const Slot& slot : old) {
      if (slot.merge.rank >= 0) insert(static_cast<Id>(slot.key >> 32), static_cast<Id>(slot.key & 0xFFFFFFFF), slot.merge);
    }
  }
  const std::uint64_t key = key_of(static_cast<std::uint64_t>(left), static_cast<std::uint64_t>(right));
  std::size_t at = slot_of(key) & (slots_.size() - 1);
  while (slots_[at].merge.rank >= 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  if (slots_[at].merge.rank >= 0) return;
  slots_[at] = {key, merge};
  ++used_;
}

Bpe::Merge Bpe::MergeTable::find(std::int32_t left, std::int32_t right) const {
  if (slots_.empty() || left < 0 || right < 0) return {};
  const std::uint64_t key = key_of(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right));
  std::size_t at = slot_of(key) & (slots_.size() - 1);
  while (slots_[at].merge.rank >= 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return slots_[at].merge;
}

Bpe::Bpe(Vocabulary vocabulary, BpeOptions options) : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
  if (vocabulary_.size() > std::numeric_limits<std::int32_t>::max()) {
    throw Error({.op = "Bpe", .got = std::to_string(vocabulary_.size()) + " tokens", .expected = "fewer than 2^31"});
  }
  if (!options_.unknown.empty()) unknown_ = static_cast<std::int32_t>(vocabulary_.id(options_.unknown));
  of_byte_.assign(256, -1);
  for (int byte = 0; byte < 256; ++byte) {
    char fallback[8];
    std::snprintf(fallback, sizeof(fallback), "<0x%02X>", static_cast<unsigned>(byte));
    const std::string token = options_.byte_fallback ? std::string(fallback) : std::string(1, static_cast<char>(byte));
    if (const auto id = vocabulary_.find(token)) {
      of_byte_[static_cast<std::size_t>(byte)] = static_cast<std::int32_t>(*id);
    } else if (options_.byte_fallback) {
      throw Error({.op = "Bpe", .got = "no token " + token, .expected = "a token for each byte, which byte_fallback needs"});
    }
  }
}

Bpe::Bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options) : Bpe(std::move(vocabulary), std::move(options)) {
  merges_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const std::string_view tail = std::string_view(right).substr(right.starts_with(options_.prefix) ? options_.prefix.size() : 0);
    const std::string joined = left + std::string(tail);
    const auto a = vocabulary_.find(left), b = vocabulary_.find(right), both = vocabulary_.find(joined);
    if (!a || !b || !both) {
      throw Error({.op = "Bpe",
                   .got = "merge " + std::to_string(rank + 1) + ", of " + in_quotes(left) + " and " + in_quotes(right) + ", but no token " +
                          in_quotes(!a   ? left
                                    : !b ? right
                                         : joined),
                   .expected = "a vocabulary with the parts and the result of every merge",
                   .advice = "take vocabulary and merges from one model"});
    }
    merges_.insert(*a, *b, {static_cast<std::int32_t>(rank), static_cast<std::int32_t>(*both)});
  }
  find_reachable();
}

Bpe Bpe::from_scores(Vocabulary vocabulary, const std::vector<float>& scores, const std::vector<bool>& mergeable, BpeOptions options) {
  const auto size = static_cast<std::size_t>(vocabulary.size());
  if (scores.size() != size || mergeable.size() != size) {
    throw Error(
        {.op = "Bpe", .got = std::to_string(scores.size()) + " scores", .expected = "one for each of " + std::to_string(size) + " tokens"});
  }
  Bpe out(std::move(vocabulary), std::move(options));
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < size; ++i) {
    if (mergeable[i] && !std::isnan(scores[i])) order.push_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)]; });
  std::int32_t rank = -1;
  float last = 0;
  for (const std::int32_t id : order) {
    const float score = scores[static_cast<std::size_t>(id)];
    if (rank < 0 || score != last) ++rank;  // among equal scores the leftmost counts
    last = score;
    const std::string& token = out.vocabulary_.token(id);
    for (std::size_t cut = 1; cut < token.size() && token.size() <= 1024; ++cut) {
      if ((static_cast<unsigned char>(token[cut]) & 0xC0) == 0x80) continue;  // within a character
      const auto left = out.vocabulary_.find(std::string_view(token).substr(0, cut));
      const auto right = left ? out.vocabulary_.find(std::string_view(token).substr(cut)) : std::nullopt;
      if (right) out.merges_.insert(*left, *right, {rank, id});
    }
  }
  out.find_reachable();
  return out;
}

/// Most pieces are tokens: those that merging leads to need no merging.
void Bpe::find_reachable() {
  whole_.assign(static_cast<std::size_t>(vocabulary_.size()), options_.whole_words_first);
  if (options_.whole_words_first || !options_.suffix.empty() || !options_.prefix.empty()) return;
  std::vector<std::int32_t> symbols;
  for (Id id = 0; id < vocabulary_.size(); ++id) {
    const std::string& token = vocabulary_.token(id);
    if (token.empty() || token.size() > 256) continue;
    symbols.clear();
    symbols_of(token, symbols);
    merge(symbols);
    whole_[static_cast<std::size_t>(id)] = symbols.size() == 1 && symbols[0] == id;
  }
}

void Bpe::unknown_character(std::string_view bytes, std::vector<std::int32_t>& out) const {
  if (options_.byte_fallback) {
    for (const char byte : bytes) out.push_back(of_byte_[static_cast<unsigned char>(byte)]);
  } else if (unknown_ >= 0 && !(options_.fuse_unknown && !out.empty() && out.back() == unknown_)) {
    out.push_back(unknown_);
  }
}

void Bpe::symbols_of(std::string_view piece, std::vector<std::int32_t>& out) const {
  if (options_.symbols == Symbols::Bytes && options_.prefix.empty() && options_.suffix.empty()) {
    for (const char byte : piece) {
      const std::int32_t id = of_byte_[static_cast<unsigned char>(byte)];
      if (id >= 0) out.push_back(id);
      else unknown_character(std::string_view(&byte, 1), out);
    }
    return;
  }
  std::string token;
  for (std::string_view rest = piece; !rest.empty();) {
    const std::size_t size = options_.symbols == Symbols::Bytes ? 1 : front_character(rest).bytes;
    token.clear();
    if (rest.size() < piece.size()) token += options_.prefix;
    token += rest.substr(0, size);
    if (size == rest.size()) token += options_.suffix;
    if (const auto id = vocabulary_.find(token)) out.push_back(static_cast<std::int32_t>(*id));
    else unknown_character(rest.substr(0, size), out);
    rest.remove_prefix(size);
  }
}

/// Merges the pair of the lowest rank, of equals the leftmost, until there is none: n log n steps for n symbols.
void Bpe::merge(std::vector<std::int32_t>& symbols) const {
  const auto count = static_cast<std::int32_t>(symbols.size());
  if (count < 2) return;
  struct Pair {
    std::int32_t rank, at, left, right, result;
    bool operator<(const Pair& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }  // the best on top
  };
  std::vector<std::int32_t> next(symbols.size()), previous(symbols.size());
  std::iota(next.begin(), next.end(), 1);
  std::iota(previous.begin(), previous.end(), -1);
  std::vector<Pair> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Pair> queue(std::less<Pair>(), std::move(storage));
  const auto consider = [&](std::int32_t at) {
    if (at < 0 || next[static_cast<std::size_t>(at)] >= count) return;
    const std::int32_t left = symbols[static_cast<std::size_t>(at)];
    const std::int32_t right = symbols[static_cast<std::size_t>(next[static_cast<std::size_t>(at)])];
    const Merge found = merges_.find(left, right);
    if (found.rank >= 0) queue.push({found.rank, at, left, right, found.result});
  };
  for (std::int32_t at = 0; at + 1 < count; ++at) consider(at);
  constexpr std::int32_t kGone = -1;
  while (!queue.empty()) {
    const Pair best = queue.top();
    queue.pop();
    const auto at = static_cast<std::size_t>(best.at);
    const std::int32_t behind = next[at];
    if (symbols[at] != best.left || behind >= count || symbols[static_cast<std::size_t>(behind)] != best.right) continue;  // out of date
    symbols[at] = best.result;
    symbols[static_cast<std::size_t>(behind)] = kGone;
    next[at] = next[static_cast<std::size_t>(behind)];
    if (next[at] < count) previous[static_cast<std::size_t>(next[at])] = best.at;
    consider(previous[at]);
    consider(best.at);
  }
  std::size_t kept = 0;
  for (std::int32_t at = 0; at < count; at = next[static_cast<std::size_t>(at)]) symbols[kept++] = symbols[static_cast<std::size_t>(at)];
  symbols.resize(kept);
}

void Bpe::encode(std::string_view piece, Ids& out) const {
  if (const auto id = vocabulary_.find(piece); id && whole_[static_cast<std::size_t>(*id)]) {
    out.push_back(*id);
    return;
  }
  if (piece.size() >= std::size_t{1} << 31) {
    throw Error({.op = "Bpe",
                 .got = "a piece of " + std::to_string(piece.size()) + " bytes",
                 .expected = "less than 2 GiB",
                 .advice = "cut the text into lines"});
  }
  thread_local std::vector<std::int32_t> symbols;
  symbols.clear();
  symbols_of(piece, symbols);
  merge(symbols);
  out.insert(out.end(), symbols.begin(), symbols.end());
}

}  // namespace tegula::text
