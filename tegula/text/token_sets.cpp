#include "tegula/text/token_sets.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::text {
namespace {

HostArray array_of(const Ids& ids, const Shape& shape) { return HostArray::from(std::span<const Id>(ids), shape); }

/// A batch of one, without its axis.
std::vector<HostArray> only_row(std::vector<HostArray> batch) {
  for (HostArray& array : batch) array.shape.erase(0);
  return batch;
}

/// Rows by length, the shortest first.
std::vector<std::size_t> by_length(const std::vector<std::int64_t>& lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lengths[i]; });
  return order;
}

/// The ladder's width for the longest of the rows.
std::size_t width_of(std::span<const std::int64_t> rows, const std::vector<std::int64_t>& lengths) {
  std::int64_t longest = 1;
  for (const std::int64_t row : rows) longest = std::max(longest, lengths.at(static_cast<std::size_t>(row)));
  return static_cast<std::size_t>(ladder_width(longest));
}

[[noreturn]] void refuse(std::string_view op, std::string got, std::string expected) {
  throw Error({.op = std::string(op), .got = std::move(got), .expected = std::move(expected)});
}

}  // namespace

std::int64_t ladder_width(std::int64_t length) {
  std::int64_t width = 8;
  while (width < length) width = (width & (width - 1)) == 0 ? width / 2 * 3 : width / 3 * 4;  // 8, 12, 16, 24, 32, …
  return width;
}

TokenPairs::TokenPairs(std::vector<Ids> sources, std::vector<Ids> targets, Id begin, Id end)
    : sources_(std::move(sources)),
      targets_(std::move(targets)),
      begin_(begin),
      end_(end) {
  if (sources_.size() != targets_.size())
    refuse("TokenPairs", std::to_string(sources_.size()) + " sources and " + std::to_string(targets_.size()) + " targets",
           "as many of both");
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].empty()) refuse("TokenPairs", "an empty source, number " + std::to_string(i), "at least one token");
    for (const Ids* ids : {&sources_[i], &targets_[i]}) {
      if (!ids->empty() && *std::ranges::min_element(*ids) < 1)
        refuse("TokenPairs", "token " + std::to_string(*std::ranges::min_element(*ids)) + " in pair " + std::to_string(i),
               "numbers from 1: 0 is for padding");
    }
    lengths_.push_back(static_cast<std::int64_t>(std::max(sources_[i].size(), targets_[i].size() + 1)));
  }
}

std::vector<HostArray> TokenPairs::gather(std::span<const std::int64_t> rows) const {
  const std::size_t width = width_of(rows, lengths_);
  Ids source, target, next, lengths;
  for (const std::int64_t row : rows) {
    const Ids &from = sources_[static_cast<std::size_t>(row)], &to = targets_[static_cast<std::size_t>(row)];
    lengths.push_back(static_cast<Id>(from.size()));
    source.insert(source.end(), from.begin(), from.end());
    target.push_back(begin_);
    target.insert(target.end(), to.begin(), to.end());
    next.insert(next.end(), to.begin(), to.end());
    next.push_back(end_);
    for (Ids* ids : {&source, &target, &next}) ids->resize(lengths.size() * width, 0);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  const Shape shape{count, static_cast<std::int64_t>(width)};
  return {array_of(source, shape), array_of(target, shape), array_of(lengths, {count}), array_of(next, shape)};
}

std::vector<HostArray> TokenPairs::get(std::int64_t row) const { return only_row(gather(std::span(&row, 1))); }

TokenPairs TokenPairs::sorted() const {
  std::vector<Ids> sources, targets;
  for (const std::size_t i : by_length(lengths_)) sources.push_back(sources_[i]), targets.push_back(targets_[i]);
  return {std::move(sources), std::move(targets), begin_, end_};
}

LabelledTokens::LabelledTokens(std::vector<Ids> sequences, std::vector<std::int64_t> classes)
    : sequences_(std::move(sequences)),
      classes_(std::move(classes)) {
  if (sequences_.size() != classes_.size())
    refuse("LabelledTokens", std::to_string(sequences_.size()) + " sequences and " + std::to_string(classes_.size()) + " classes",
           "as many of both");
  for (const Ids& sequence : sequences_) {
    if (sequence.empty()) refuse("LabelledTokens", "an empty sequence, number " + std::to_string(lengths_.size()), "at least one token");
    lengths_.push_back(static_cast<std::int64_t>(sequence.size()));
  }
}

std::vector<HostArray> LabelledTokens::gather(std::span<const std::int64_t> rows) const {
  const std::size_t width = width_of(rows, lengths_);
  Ids tokens, lengths, classes;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    tokens.insert(tokens.end(), sequences_[i].begin(), sequences_[i].end());
    lengths.push_back(lengths_[i]), classes.push_back(classes_[i]);
    tokens.resize(lengths.size() * width, 0);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {array_of(tokens, {count, static_cast<std::int64_t>(width)}), array_of(lengths, {count}), array_of(classes, {count})};
}

std::vector<HostArray> LabelledTokens::get(std::int64_t row) const { return only_row(gather(std::span(&row, 1))); }

LabelledTokens LabelledTokens::sorted() const {
  std::vector<Ids> sequences;
  std::vector<std::int64_t> classes;
  for (const std::size_t i : by_length(lengths_)) sequences.push_back(sequences_[i]), classes.push_back(classes_[i]);
  return {std::move(sequences), std::move(classes)};
}

MaskedTokens::MaskedTokens(Ids text, const MaskedTokensOptions& options) : text_(std::move(text)), options_(options) {
  const auto& o = options_;
  if (o.length < 3 || !(o.share > 0 && o.share <= 1) || o.ordinary < 0 || o.vocabulary <= o.ordinary)
    refuse("MaskedTokens",
           "pieces of " + std::to_string(o.length) + " tokens, a share of " + number_text(o.share) + ", a vocabulary of " +
               std::to_string(o.vocabulary),
           "at least 3 tokens, a share above 0 and at most 1, and ordinary tokens");
  guessed_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(o.share * static_cast<double>(o.length - 2) + 0.5));
  if (size() < 1)
    refuse("MaskedTokens", "a text of " + std::to_string(text_.size()) + " tokens",
           "at least " + std::to_string(o.length - 2) + " for one piece");
}

std::int64_t MaskedTokens::size() const { return static_cast<std::int64_t>(text_.size()) / (options_.length - 2); }

std::vector<HostArray> MaskedTokens::get(std::int64_t row, data::RandomStream& random) const {
  const std::int64_t inner = options_.length - 2;
  const auto from = text_.begin() + row * inner;
  Ids tokens{options_.first};
  tokens.insert(tokens.end(), from, from + inner);
  tokens.push_back(options_.end);
  // The first of a shuffled list: without drawing a position twice.
  std::vector<std::int64_t> places(static_cast<std::size_t>(inner));
  std::iota(places.begin(), places.end(), std::int64_t{1});
  for (std::size_t i = 0; i < static_cast<std::size_t>(guessed_); ++i)
    std::swap(places[i], places[i + random.below(static_cast<std::uint32_t>(places.size() - i))]);
  places.resize(static_cast<std::size_t>(guessed_));
  std::ranges::sort(places);
  Ids labels;
  constexpr float kMasked = 0.8f, kOther = 0.9f;
  for (const std::int64_t place : places) {
    Id& token = tokens[static_cast<std::size_t>(place)];
    labels.push_back(token);
    const float chance = random.uniform();
    if (chance < kMasked) token = options_.mask;
    else if (chance < kOther) token = options_.ordinary + random.below(static_cast<std::uint32_t>(options_.vocabulary - options_.ordinary));
  }
  return {array_of(tokens, {options_.length}), array_of(places, {guessed_}), array_of(labels, {guessed_})};
}

}  // namespace tegula::text
