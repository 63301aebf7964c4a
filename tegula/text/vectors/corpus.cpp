#include "tegula/text/vectors/corpus.h"

#include <algorithm>
#include <unordered_map>

#include "tegula/core/error.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

/// Numbers words as they come, and sorts them when all are there.
class Collector {
 public:
  void word(std::string_view word) {
    auto found = numbers_.find(word);
    if (found == numbers_.end()) {
      found = numbers_.emplace(word, static_cast<std::int32_t>(counts_.size())).first;
      counts_.push_back(0);
    }
    ++counts_[static_cast<std::size_t>(found->second)];
    words_.push_back(found->second);
  }
  void end_sentence() {
    if (words_.size() > static_cast<std::size_t>(begins_.back())) begins_.push_back(static_cast<std::int64_t>(words_.size()));
  }

  Corpus finish(std::int64_t minimum) {
    end_sentence();
    TextMap<std::int64_t> counts;
    for (const auto& [word, number] : numbers_) counts.emplace(word, counts_[static_cast<std::size_t>(number)]);
    Corpus out;
    out.vocabulary = count_vocabulary(counts, {.minimum = minimum});
    if (out.vocabulary.size() == 0) {
      throw Error({.op = "make_corpus",
                   .got = std::to_string(words_.size()) + " words, none of which comes " + std::to_string(minimum) + " times",
                   .expected = "words that come that often",
                   .advice = "take a longer text, or a lower .minimum"});
    }
    std::vector<std::int32_t> to(counts_.size(), -1);
    for (const auto& [word, number] : numbers_) {
      if (const auto id = out.vocabulary.find(word)) to[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(*id);
    }
    for (const std::string& word : out.vocabulary.tokens()) out.counts.push_back(counts.find(word)->second);
    out.begins = {0};
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
      for (auto at = begins_[i]; at < begins_[i + 1]; ++at) {
        const std::int32_t id = to[static_cast<std::size_t>(words_[static_cast<std::size_t>(at)])];
        if (id >= 0) out.words.push_back(id);
      }
      if (static_cast<std::int64_t>(out.words.size()) > out.begins.back())
        out.begins.push_back(static_cast<std::int64_t>(out.words.size()));
    }
    return out;
  }

 private:
  TextMap<std::int32_t> numbers_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int32_t> words_;
  std::vector<std::int64_t> begins_{0};
};

bool is_word_character(char32_t code) {
  if (code < 0x80) return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
  return is_letter(code) || is_mark(code) || is_number(code);
}
bool is_apostrophe(char32_t code) { return code == '\'' || code == 0x2019; }

}  // namespace

Corpus make_corpus(std::string_view text, const CorpusOptions& options) {
  Collector collector;
  std::string word;
  bool apostrophe = false, line_empty = false;
  const auto end_word = [&] {
    if (!word.empty()) collector.word(options.lowercase ? lowercase(word) : word);
    word.clear();
    apostrophe = false;
  };
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (is_word_character(code)) {
      if (apostrophe) word += '\'';
      word += bytes;
      apostrophe = line_empty = false;
      return;
    }
    if (is_apostrophe(code) && !word.empty() && !apostrophe) {
      apostrophe = true;  // kept when a letter follows
      return;
    }
    end_word();
    if (code == '.' || code == '!' || code == '?' || (code == '\n' && line_empty)) collector.end_sentence();
    if (code == '\n') line_empty = true;
  });
  end_word();
  return collector.finish(options.minimum);
}

Corpus make_corpus(std::span<const std::string> sentences, const CorpusOptions& options) {
  Collector collector;
  for (const std::string& sentence : sentences) {
    const std::string text = options.lowercase ? lowercase(sentence) : sentence;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      if (end > 0) collector.word(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    collector.end_sentence();
  }
  return collector.finish(options.minimum);
}

Corpus join_phrases(const Corpus& corpus, const PhraseOptions& options) {
  const auto key = [](std::int32_t a, std::int32_t b) { return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b); };
  std::unordered_map<std::uint64_t, std::int64_t> pairs;
  for (std::int64_t i = 0; i < corpus.sentences(); ++i) {
    const auto sentence = corpus.sentence(i);
    for (std::size_t at = 0; at + 1 < sentence.size(); ++at) ++pairs[key(sentence[at], sentence[at + 1])];
  }
  const auto total = static_cast<double>(corpus.vocabulary.size());
  const auto joins = [&](std::int32_t a, std::int32_t b) {
    const auto count = static_cast<double>(pairs[key(a, b)] - options.minimum);
    return count > 0 && count * total /
                                (static_cast<double>(corpus.counts[static_cast<std::size_t>(a)]) *
                                 static_cast<double>(corpus.counts[static_cast<std::size_t>(b)])) >
                            options.threshold;
  };
  Collector collector;
  for (std::int64_t i = 0; i < corpus.sentences(); ++i) {
    const auto sentence = corpus.sentence(i);
    for (std::size_t at = 0; at < sentence.size(); ++at) {
      const std::string& word = corpus.vocabulary.token(sentence[at]);
      if (at + 1 < sentence.size() && joins(sentence[at], sentence[at + 1]))
        collector.word(word + "_" + corpus.vocabulary.token(sentence[++at]));
      else collector.word(word);
    }
    collector.end_sentence();
  }
  return collector.finish(1);
}

}  // namespace tegula::text
