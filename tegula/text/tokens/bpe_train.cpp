// Training of byte-pair encoding and WordPiece: pairs are counted once, and only the words that a merge touches are counted again.

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "tegula/core/error.h"
#include "tegula/text/tokens/bpe.h"
#include "tegula/text/tokens/wordpiece.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

using Symbol = std::int32_t;
using Pair = std::pair<Symbol, Symbol>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second)) *
                                    0x9E3779B97F4A7C15ull);
  }
};

struct Word {
  std::vector<Symbol> symbols;
  std::int64_t count;
};

struct Candidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }  // the best on top
};

class Trainer {
 public:
  Trainer(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t i = 0; i < words_.size(); ++i) add_pairs(static_cast<Symbol>(i), +1);
    touched_.clear();
    for (const auto& [pair, pairs] : pairs_) queue_.push({pairs.count, pair});
  }

  /// The most frequent pair, if it occurs `minimum` times.
  bool best(Pair& pair, std::int64_t minimum) {
    while (!queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const std::int64_t now = pairs_[top.pair].count;
      if (now != top.count) {  // counted since it was put there
        top.count = now;
        if (now > 0) queue_.push(top);
        continue;
      }
      pair = top.pair;
      return top.count >= std::max<std::int64_t>(minimum, 1);
    }
    return false;
  }

  void merge(const Pair& pair, Symbol result) {
    std::vector<std::int32_t> words = std::move(pairs_[pair].words);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    touched_.clear();
    for (const std::int32_t i : words) {
      add_pairs(i, -1);
      std::vector<Symbol>& symbols = words_[static_cast<std::size_t>(i)].symbols;
      std::size_t kept = 0;
      for (std::size_t at = 0; at < symbols.size(); ++at) {
        const bool both = at + 1 < symbols.size() && symbols[at] == pair.first && symbols[at + 1] == pair.second;
        symbols[kept++] = both ? result : symbols[at];
        at += both;
      }
      symbols.resize(kept);
      add_pairs(i, +1);
    }
    pairs_.erase(pair);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const Pair& one : touched_) {  // those with the new symbol; the counts of the others only went down
      if (one.first != result && one.second != result) continue;
      if (const auto found = pairs_.find(one); found != pairs_.end() && found->second.count > 0) queue_.push({found->second.count, one});
    }
  }

 private:
  struct Occurrences {
    std::int64_t count = 0;
    std::vector<std::int32_t> words;  // in which it is or was
  };

  void add_pairs(std::int32_t i, std::int64_t sign) {
    const Word& word = words_[static_cast<std::size_t>(i)];
    for (std::size_t at = 0; at + 1 < word.symbols.size(); ++at) {
      const Pair pair{word.symbols[at], word.symbols[at + 1]};
      Occurrences& pairs = pairs_[pair];
      pairs.count += sign * word.count;
      if (sign > 0) {
        if (pairs.words.empty() || pairs.words.back() != i) pairs.words.push_back(i);
        touched_.push_back(pair);
      }
    }
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  std::vector<Pair> touched_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

TrainedBpe train_bpe(const TextMap<std::int64_t>& pieces, const BpeTrainerOptions& options) {
  TrainedBpe out;
  for (const std::string& token : options.special) out.vocabulary.add(token);
  // The bytes in the order of their spelling, as GPT-2 has them.
  std::vector<std::pair<char32_t, char>> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    bytes.emplace_back(front_character(spell_bytes(text)).code, text[0]);
  }
  std::sort(bytes.begin(), bytes.end());
  std::vector<Symbol> of_byte(256);
  for (const auto& [spelled, byte] : bytes) {
    of_byte[static_cast<unsigned char>(byte)] = static_cast<Symbol>(out.vocabulary.add(std::string_view(&byte, 1)));
  }
  if (options.vocabulary < out.vocabulary.size() || options.vocabulary > (1 << 30)) {
    throw Error({.op = "train_bpe",
                 .got = "a vocabulary of " + std::to_string(options.vocabulary),
                 .expected = std::to_string(out.vocabulary.size()) + " (the bytes and special tokens) to 2^30"});
  }
  std::vector<std::pair<std::string_view, std::int64_t>> order(pieces.begin(), pieces.end());
  std::sort(order.begin(), order.end());  // a map has none
  std::vector<Word> words;
  for (const auto& [piece, count] : order) {
    Word word{{}, count};
    for (const char byte : piece) word.symbols.push_back(of_byte[static_cast<unsigned char>(byte)]);
    if (count > 0 && word.symbols.size() > 1) words.push_back(std::move(word));
  }
  Trainer trainer(std::move(words));
  Pair pair;
  while (out.vocabulary.size() < options.vocabulary && trainer.best(pair, options.minimum)) {
    const std::string left = out.vocabulary.token(pair.first), right = out.vocabulary.token(pair.second);
    const Id result = out.vocabulary.add(left + right);  // two ways may lead to one token
    trainer.merge(pair, static_cast<Symbol>(result));
    out.merges.emplace_back(left, right);
  }
  return out;
}

Vocabulary train_wordpiece(const TextMap<std::int64_t>& words, const WordPieceTrainerOptions& options) {
  constexpr std::string_view kWithin = "##";
  TextMap<std::int64_t> characters;
  std::vector<std::pair<std::string_view, std::int64_t>> order(words.begin(), words.end());
  std::sort(order.begin(), order.end());  // a map has none
  for (const auto& [word, count] : order)
    for_each_character(word, [&, times = count](char32_t, std::string_view bytes) { characters[std::string(bytes)] += times; });
  const Vocabulary alphabet = count_vocabulary(characters, {.most = options.characters});
  Vocabulary out;
  for (const std::string& token : options.special) out.add(token);
  for (const std::string& character : alphabet.tokens()) {
    out.add(character);
    out.add(std::string(kWithin) + character);
  }
  if (options.vocabulary < out.size() || options.vocabulary > (1 << 30)) {
    throw Error({.op = "train_wordpiece",
                 .got = "a vocabulary of " + std::to_string(options.vocabulary),
                 .expected = std::to_string(out.size()) + " (characters, alone and within words, and special tokens) to 2^30"});
  }
  std::vector<Word> counted;
  for (const auto& [text, count] : order) {
    Word word{{}, count};
    bool known = count > 0;
    for_each_character(text, [&](char32_t, std::string_view bytes) {
      known = known && alphabet.contains(bytes);
      if (known)
        word.symbols.push_back(static_cast<Symbol>(out.id(word.symbols.empty() ? std::string(bytes) : std::string(kWithin).append(bytes))));
    });
    if (known && word.symbols.size() > 1) counted.push_back(std::move(word));
  }
  Trainer trainer(std::move(counted));
  Pair pair;
  while (out.size() < options.vocabulary && trainer.best(pair, options.minimum)) {
    const Id result = out.add(out.token(pair.first) + out.token(pair.second).substr(kWithin.size()));
    trainer.merge(pair, static_cast<Symbol>(result));
  }
  return out;
}

}  // namespace tegula::text
