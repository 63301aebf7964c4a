#include "tegula/text/tokens/unigram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

constexpr double kUnknownPenalty = 10;  // below the worst token, as in SentencePiece
constexpr std::size_t kLongestToken = 1024;

}  // namespace

Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, const std::vector<bool>& usable, UnigramOptions options)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      usable_(usable),
      options_(options) {
  const auto size = static_cast<std::size_t>(vocabulary_.size());
  if (scores_.size() != size || usable_.size() != size) {
    throw Error({.op = "Unigram",
                 .got = std::to_string(scores_.size()) + " scores",
                 .expected = "one for each of " + std::to_string(size) + " tokens"});
  }
  if (options_.unknown) vocabulary_.token(*options_.unknown);
  double worst = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!std::isfinite(scores_[i])) {
      throw Error(
          {.op = "Unigram", .got = "the score " + number_text(scores_[i]) + " of token " + std::to_string(i), .expected = "a number"});
    }
    if (!usable_[i]) continue;
    worst = std::min(worst, scores_[i]);
    longest_ = std::max(longest_, vocabulary_.token(static_cast<Id>(i)).size());
  }
  longest_ = std::min(longest_, kLongestToken);
  unknown_score_ = worst - kUnknownPenalty;
  if (!options_.byte_fallback) return;
  for (int byte = 0; byte < 256; ++byte) {
    char token[8];
    std::snprintf(token, sizeof(token), "<0x%02X>", static_cast<unsigned>(byte));
    of_byte_.push_back(vocabulary_.id(token));
  }
}

void Unigram::encode(std::string_view piece, Ids& out) const {
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    std::size_t from = 0;
    Id token = -1;  // -1: a character that is unknown
  };
  std::vector<Best> best(piece.size() + 1);  // best segmentation that ends at each byte
  best[0].score = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const std::string_view rest = piece.substr(at);
    const std::size_t character = front_character(rest).bytes;
    const double score = best[at].score;
    bool covered = false;
    for (std::size_t size = character; size <= std::min(rest.size(), longest_);) {
      if (const auto id = vocabulary_.find(rest.substr(0, size)); id && usable_[static_cast<std::size_t>(*id)]) {
        Best& end = best[at + size];
        const double sum = score + scores_[static_cast<std::size_t>(*id)];
        if (sum > end.score) end = {sum, at, *id};
        covered = covered || size == character;
      }
      if (size == rest.size()) break;
      size += front_character(rest.substr(size)).bytes;
    }
    Best& end = best[at + character];
    if (!covered && score + unknown_score_ > end.score) end = {score + unknown_score_, at, -1};
    at += character;
  }
  std::vector<Best> path;  // with the ends in `from`'s place, from the last one
  for (std::size_t at = piece.size(); at > 0; at = best[at].from) path.push_back({0, at, best[at].token});
  std::size_t begin = 0;
  bool unknown_before = false;
  for (auto step = path.rbegin(); step != path.rend(); begin = (step++)->from) {
    const bool unknown = step->token < 0;
    if (!unknown) {
      out.push_back(step->token);
    } else if (options_.byte_fallback) {
      for (const char byte : piece.substr(begin, step->from - begin)) out.push_back(of_byte_[static_cast<unsigned char>(byte)]);
    } else if (options_.unknown && !unknown_before) {
      out.push_back(*options_.unknown);
    }
    unknown_before = unknown;
  }
}

}  // namespace tegula::text
