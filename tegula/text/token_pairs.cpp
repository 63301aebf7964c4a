#include "tegula/text/token_pairs.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::text {

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
  const auto refuse = [](std::string got, std::string expected) {
    throw Error({.op = "TokenPairs", .got = std::move(got), .expected = std::move(expected)});
  };
  if (sources_.size() != targets_.size())
    refuse(std::to_string(sources_.size()) + " sources and " + std::to_string(targets_.size()) + " targets", "as many of both");
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].empty()) refuse("an empty source, number " + std::to_string(i), "at least one token");
    for (const Ids* ids : {&sources_[i], &targets_[i]}) {
      if (!ids->empty() && *std::ranges::min_element(*ids) < 1)
        refuse("token " + std::to_string(*std::ranges::min_element(*ids)) + " in pair " + std::to_string(i),
               "numbers from 1: 0 is for padding");
    }
    lengths_.push_back(static_cast<std::int64_t>(std::max(sources_[i].size(), targets_[i].size() + 1)));
  }
}

std::vector<HostArray> TokenPairs::gather(std::span<const std::int64_t> rows) const {
  std::int64_t longest = 1;
  for (const std::int64_t row : rows) longest = std::max(longest, lengths_.at(static_cast<std::size_t>(row)));
  const auto width = static_cast<std::size_t>(ladder_width(longest));
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
  const auto array = [](const Ids& ids, const Shape& of) { return HostArray::from(std::span<const Id>(ids), of); };
  return {array(source, shape), array(target, shape), array(lengths, {count}), array(next, shape)};
}

std::vector<HostArray> TokenPairs::get(std::int64_t row) const {
  std::vector<HostArray> out = gather(std::span(&row, 1));
  for (HostArray& array : out) array.shape.erase(0);
  return out;
}

TokenPairs TokenPairs::sorted() const {
  std::vector<std::size_t> order(sources_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lengths_[i]; });
  std::vector<Ids> sources, targets;
  for (const std::size_t i : order) sources.push_back(sources_[i]), targets.push_back(targets_[i]);
  return {std::move(sources), std::move(targets), begin_, end_};
}

}  // namespace tegula::text
