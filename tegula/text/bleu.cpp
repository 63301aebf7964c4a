#include "tegula/text/bleu.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "tegula/core/error.h"
#include "tegula/text/unicode.h"
#include "tegula/text/vocabulary.h"

namespace tegula::text {
namespace {

constexpr std::size_t kOrders = 4;

using Characters = std::u32string;

Characters characters(std::string_view text) {
  Characters out;
  for_each_character(text, [&](char32_t code, std::string_view) { out += code; });
  return out;
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
/// [\{-\~\[-\` -\&\(-\+\:-\@\/] of mteval-v13a.pl: ASCII's signs but ' , - .
bool is_sign(char32_t c) {
  const auto within = [c](char32_t from, char32_t to) { return c >= from && c <= to; };
  return within(U'{', U'~') || within(U'[', U'`') || within(U' ', U'&') || within(U'(', U'+') || within(U':', U'@') || c == U'/';
}
bool is_stop(char32_t c) { return c == U'.' || c == U','; }

/// White space of Python's str.split.
bool is_blank(char32_t c) { return is_space(c) || (c >= 0x1c && c <= 0x1f); }

/// Each pair of neighbours that fits is replaced, from the left, pairs do not meet.
template <class Fits>
Characters between_pairs(const Characters& in, Fits fits, bool before, bool within, bool behind) {
  Characters out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i + 1 >= in.size() || !fits(in[i], in[i + 1])) {
      out += in[i];
      continue;
    }
    if (before) out += U' ';
    out += in[i];
    if (within) out += U' ';
    out += in[++i];
    if (behind) out += U' ';
  }
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (is_blank(code)) {
      open = false;
      return;
    }
    if (!open) words.emplace_back();
    open = true;
    words.back() += bytes;
  });
  return words;
}

std::vector<std::string> words_of(const std::string& line, const BleuOptions& options) {
  std::string text = options.letters == BleuCase::Lower ? lowercase(line) : line;
  return words_of(options.tokens == BleuTokens::Mteval13a ? tokenize_13a(text) : text);
}

/// The number of times that each n-gram of up to four words comes; words are separated by blanks, which none holds.
using Counts = std::array<TextMap<std::int64_t>, kOrders>;
Counts ngrams(const std::vector<std::string>& words) {
  Counts counts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string gram;
    for (std::size_t n = 0; n < kOrders && i + n < words.size(); ++n) {
      gram += (n > 0 ? " " : "") + words[i + n];
      ++counts[n][gram];
    }
  }
  return counts;
}

/// Computes score, precisions and brevity penalty from the counts.
void finish(Bleu& b) {
  const auto hypothesis = static_cast<double>(b.hypothesis_length), reference = static_cast<double>(b.reference_length);
  b.brevity_penalty = b.hypothesis_length >= b.reference_length ? 1 : b.hypothesis_length > 0 ? std::exp(1 - reference / hypothesis) : 0;
  if (b.matches[0] == 0) return;  // then nothing matches
  double smoothed = 1, logs = 0;
  for (std::size_t n = 0; n < kOrders; ++n) {
    if (b.totals[n] == 0) return;  // too short for this order: sacreBLEU's score is 0
    const auto total = static_cast<double>(b.totals[n]);
    if (b.matches[n] == 0) smoothed *= 2;
    b.precisions[n] = b.matches[n] == 0 ? 100 / (smoothed * total) : 100 * static_cast<double>(b.matches[n]) / total;
    logs += std::log(b.precisions[n]);
  }
  b.score = b.brevity_penalty * std::exp(logs / kOrders);
}

}  // namespace

std::string tokenize_13a(std::string_view given) {
  std::string line(given);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  if (line.find('&') != std::string::npos) {
    replace_all(line, "&quot;", "\"");
    replace_all(line, "&amp;", "&");
    replace_all(line, "&lt;", "<");
    replace_all(line, "&gt;", ">");
  }
  Characters text;
  for (const char32_t c : U' ' + characters(line) + U' ') {
    if (is_sign(c)) text += {U' ', c, U' '};
    else text += c;
  }
  text = between_pairs(text, [](char32_t a, char32_t b) { return !is_digit(a) && is_stop(b); }, false, true, true);
  text = between_pairs(text, [](char32_t a, char32_t b) { return is_stop(a) && !is_digit(b); }, true, true, false);
  text = between_pairs(text, [](char32_t a, char32_t b) { return is_digit(a) && b == U'-'; }, false, true, true);
  std::string bytes, out;
  for (const char32_t c : text) append_utf8(bytes, c);
  for (const std::string& word : words_of(bytes)) out += (out.empty() ? "" : " ") + word;
  return out;
}

Bleu bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references, const BleuOptions& options) {
  for (const auto& reference : references) {
    if (reference.size() != hypotheses.size())
      throw Error({.op = "bleu",
                   .got = std::to_string(hypotheses.size()) + " hypotheses and " + std::to_string(reference.size()) + " references",
                   .expected = "as many segments of each"});
  }
  if (references.empty()) throw Error({.op = "bleu", .got = "no references", .expected = "one or more"});
  Bleu out;
  out.signature = "nrefs:" + std::to_string(references.size()) + (options.letters == BleuCase::Lower ? "|case:lc" : "|case:mixed") +
                  "|eff:no|tok:" + (options.tokens == BleuTokens::Mteval13a ? "13a" : "none") + "|smooth:exp";
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const auto words = words_of(hypotheses[i], options);
    const auto length = static_cast<std::int64_t>(words.size());
    Counts most;  // in any reference
    std::int64_t nearest = -1;
    for (const auto& reference : references) {
      const auto of_reference = words_of(reference[i], options);
      const auto count = static_cast<std::int64_t>(of_reference.size());
      const std::int64_t distance = std::abs(count - length), best = std::abs(nearest - length);
      if (nearest < 0 || distance < best || (distance == best && count < nearest)) nearest = count;
      const Counts counts = ngrams(of_reference);
      for (std::size_t n = 0; n < kOrders; ++n) {
        for (const auto& [gram, times] : counts[n]) most[n][gram] = std::max(most[n][gram], times);
      }
    }
    out.hypothesis_length += length;
    out.reference_length += nearest;
    const Counts counts = ngrams(words);
    for (std::size_t n = 0; n < kOrders; ++n) {
      out.totals[n] += std::max<std::int64_t>(0, length - static_cast<std::int64_t>(n));
      for (const auto& [gram, times] : counts[n]) {
        if (const auto found = most[n].find(gram); found != most[n].end()) out.matches[n] += std::min(times, found->second);
      }
    }
  }
  finish(out);
  return out;
}

Bleu bleu(std::span<const std::string> hypotheses, const std::vector<std::string>& reference, const BleuOptions& options) {
  return bleu(hypotheses, std::span(&reference, 1), options);
}

std::string Bleu::text() const {
  char line[256];
  const double ratio = reference_length > 0 ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length) : 0;
  std::snprintf(line, sizeof line, "BLEU = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", score,
                precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio,
                static_cast<long long>(hypothesis_length), static_cast<long long>(reference_length));
  return line;
}

}  // namespace tegula::text
