#include "tegula/text/vectors/word_evaluation.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/runtime/threads.h"
#include "tegula/text/lines.h"
#include "tegula/text/unicode.h"
#include "tegula/text/vectors/vector_rows.h"

namespace tegula::text {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    if (end > 0) fields.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

[[noreturn]] void refuse_line(const char* op, std::string_view name, std::size_t line, std::string_view text, std::string expected) {
  throw Error({.op = op,
               .got = std::string(name) + ", line " + std::to_string(line) + ": '" + printable(text.substr(0, 80)) + "'",
               .expected = std::move(expected)});
}

std::optional<Id> find_any_case(const Vocabulary& vocabulary, const std::string& word) {
  if (const auto id = vocabulary.find(word)) return id;
  return vocabulary.find(lowercase(word));
}

struct Question {
  Id a, b, c, d;
  std::size_t section;
};

/// For a few questions at once the word nearest to each: every row of the vocabulary is read once for all of them.
void answer(const WordVectors& vectors, std::span<const Question> questions, std::int64_t most, std::vector<char>& right,
            std::size_t first) {
  const std::int64_t stride = padded_row(vectors.dimension());
  const float* unit = vectors.unit_rows().data();
  const RowFunctions& rows = row_functions();
  const std::size_t count = questions.size();
  std::vector<float> sums(count * static_cast<std::size_t>(stride)), dots(count);
  std::vector<const float*> pointers(count);
  std::vector<float> best(count, -std::numeric_limits<float>::infinity());
  std::vector<Id> found(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    float* sum = sums.data() + i * static_cast<std::size_t>(stride);
    rows.add(sum, unit + questions[i].a * stride, -1, stride);
    rows.add(sum, unit + questions[i].b * stride, 1, stride);
    rows.add(sum, unit + questions[i].c * stride, 1, stride);
    pointers[i] = sum;
  }
  for (Id word = 0; word < most; ++word) {
    rows.dots(unit + word * stride, pointers.data(), static_cast<std::int64_t>(count), stride, dots.data());
    for (std::size_t i = 0; i < count; ++i) {
      if (dots[i] <= best[i] || word == questions[i].a || word == questions[i].b || word == questions[i].c) continue;
      best[i] = dots[i];
      found[i] = word;
    }
  }
  for (std::size_t i = 0; i < count; ++i) right[first + i] = found[i] == questions[i].d;
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return ranks;
}

}  // namespace

std::vector<AnalogySection> parse_analogies(std::string_view text, std::string_view name) {
  std::vector<AnalogySection> sections;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto fields = fields_of(line);
    if (fields.empty()) continue;
    if (fields[0].starts_with(':')) {
      const std::size_t begin = line.find_first_not_of(": ");
      sections.push_back({std::string(begin == std::string_view::npos ? "" : line.substr(begin)), {}});
      continue;
    }
    if (sections.empty() || fields.size() != 4)
      refuse_line("read_analogies", name, number, line, "\": section\", and four words in each line below it");
    sections.back().questions.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), std::string(fields[3])});
  }
  return sections;
}
std::vector<AnalogySection> read_analogies(const std::string& path) { return parse_analogies(read_text(path, "read_analogies"), path); }

std::vector<WordPair> parse_word_pairs(std::string_view text, std::string_view name) {
  std::vector<WordPair> pairs;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto fields = fields_of(line);
    if (fields.empty() || fields[0].starts_with('#')) continue;
    double score = 0;
    if (fields.size() == 3) {
      const auto [end, error] = std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), score);
      if (error == std::errc() && end == fields[2].data() + fields[2].size() && std::isfinite(score)) {
        pairs.push_back({std::string(fields[0]), std::string(fields[1]), score});
        continue;
      }
    }
    refuse_line("read_word_pairs", name, number, line, "two words and a number");
  }
  return pairs;
}
std::vector<WordPair> read_word_pairs(const std::string& path) { return parse_word_pairs(read_text(path, "read_word_pairs"), path); }

std::vector<AnalogyScore> evaluate_analogies(const WordVectors& vectors, const std::vector<AnalogySection>& sections, std::int64_t most) {
  const std::int64_t known = most > 0 ? std::min(most, vectors.size()) : vectors.size();
  std::vector<AnalogyScore> scores;
  std::vector<Question> questions;
  for (const AnalogySection& section : sections) {
    scores.push_back({.section = section.name});
    for (const auto& words : section.questions) {
      Id ids[4];
      bool all = true;
      for (std::size_t k = 0; k < 4; ++k) {
        const auto id = find_any_case(vectors.vocabulary(), words[k]);
        all = all && id && *id < known;
        ids[k] = id.value_or(0);
      }
      if (all) questions.push_back({ids[0], ids[1], ids[2], ids[3], scores.size() - 1});
      else ++scores.back().unknown;
    }
  }
  constexpr std::size_t kTogether = 60;  // words whose sums stay in the cache
  std::vector<char> right(questions.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = 0; (at = next.fetch_add(kTogether)) < questions.size();)
      answer(vectors, std::span(questions).subspan(at, std::min(kTogether, questions.size() - at)), known, right, at);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < num_threads(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  AnalogyScore total{.section = "total"};
  for (std::size_t i = 0; i < questions.size(); ++i) {
    ++scores[questions[i].section].asked;
    scores[questions[i].section].right += right[i];
  }
  for (const AnalogyScore& score : scores) {
    total.right += score.right;
    total.asked += score.asked;
    total.unknown += score.unknown;
  }
  scores.push_back(total);
  return scores;
}

double spearman(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) {
    throw Error({.op = "spearman",
                 .got = std::to_string(a.size()) + " and " + std::to_string(b.size()) + " values",
                 .expected = "as many of both"});
  }
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = 0.5 * (static_cast<double>(a.size()) - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

SimilarityScore evaluate_similarity(const WordVectors& vectors, const std::vector<WordPair>& pairs) {
  SimilarityScore out;
  std::vector<double> cosines, scores;
  for (const WordPair& pair : pairs) {
    const auto a = find_any_case(vectors.vocabulary(), pair.a), b = find_any_case(vectors.vocabulary(), pair.b);
    if (!a || !b) {
      ++out.unknown;
      continue;
    }
    cosines.push_back(vectors.similarity(vectors.vocabulary().token(*a), vectors.vocabulary().token(*b)));
    scores.push_back(pair.score);
  }
  out.pairs = static_cast<std::int64_t>(cosines.size());
  out.spearman = spearman(cosines, scores);
  return out;
}

}  // namespace tegula::text
