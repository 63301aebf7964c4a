#include "tegula/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/random_stream.h"

namespace tegula::data {

namespace {

[[noreturn]] void refuse(std::string got, std::string expected, std::string advice, const Line& where) {
  throw Error({.op = "Sampler", .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where});
}

void shuffle(std::span<std::int64_t> rows, RandomStream& random) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(static_cast<std::uint32_t>(i))]);  // Fisher-Yates
}

}  // namespace

Sampler::Sampler(std::int64_t count, const SamplerOptions& options, Line where) : count_(count), options_(options) {
  if (count < 0 || count > UINT32_MAX) refuse(std::to_string(count) + " rows", "0 to 2^32 - 1", "split a larger set into several", where);
  if (options.batch < 1) refuse("batch " + std::to_string(options.batch), "at least 1", "set .batch to the number of rows per step", where);
  for (const std::size_t given : {options.weights.size(), options.strata.size(), options.lengths.size()}) {
    if (given != 0 && given != static_cast<std::size_t>(count))
      refuse(std::to_string(given) + " weights, strata or lengths for " + std::to_string(count) + " rows", "one for each row", "", where);
  }
  if (!options.weights.empty() && !options.strata.empty())
    refuse("weights and strata", "one of them", "give each row of a class its weight", where);
  if (!options.lengths.empty() && !(options.weights.empty() && options.strata.empty()))
    refuse("lengths with weights or strata", "one of them", "", where);
  double sum = 0;
  for (const double weight : options.weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) refuse("a weight of " + number_text(weight), "finite numbers of at least 0", "", where);
    sums_.push_back(sum += weight);
  }
  if (!sums_.empty() && !(sum > 0 && std::isfinite(sum))) refuse("weights with the sum " + number_text(sum), "a positive sum", "", where);
}

std::int64_t Sampler::batches() const {
  const std::int64_t full = count_ / options_.batch;
  return full + (options_.last == Last::Keep && count_ % options_.batch != 0);
}

/// Then nothing is listed, and a set may be as good as endless (text/token_windows.h).
bool Sampler::as_they_are() const {
  return !options_.shuffle && options_.weights.empty() && options_.strata.empty() && options_.lengths.empty();
}

void Sampler::order_epoch() {
  const bool random_order = options_.shuffle || !sums_.empty();
  if (ordered_epoch_ == position_.epoch || (!random_order && !rows_.empty())) return;
  rows_.resize(static_cast<std::size_t>(count_));
  std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
  ordered_epoch_ = position_.epoch;
  RandomStream random(options_.seed, static_cast<std::uint64_t>(position_.epoch));
  if (!sums_.empty()) return draw(random);
  if (options_.shuffle) shuffle(rows_, random);
  if (!options_.strata.empty()) interleave();
  if (!options_.lengths.empty()) put_into_buckets(random);
}

void Sampler::put_into_buckets(RandomStream& random) {
  constexpr std::int64_t kBatches = 100;  // that are sorted together: fewer leave more to pad, more leave less to chance
  const auto length = [&](std::int64_t row) { return options_.lengths[static_cast<std::size_t>(row)]; };
  for (std::int64_t begin = 0; begin < count_; begin += kBatches * options_.batch) {
    const auto first = rows_.begin() + begin, last = rows_.begin() + std::min(count_, begin + kBatches * options_.batch);
    std::stable_sort(first, last, [&](std::int64_t a, std::int64_t b) { return length(a) < length(b); });
  }
  if (!options_.shuffle) return;
  std::vector<std::int64_t> batches(static_cast<std::size_t>(count_ / options_.batch));  // one that is not full stays the last
  std::iota(batches.begin(), batches.end(), std::int64_t{0});
  shuffle(batches, random);
  const std::vector<std::int64_t> sorted = rows_;
  auto to = rows_.begin();
  for (const std::int64_t batch : batches) to = std::copy_n(sorted.begin() + batch * options_.batch, options_.batch, to);
}

void Sampler::draw(RandomStream& random) {
  for (std::int64_t& row : rows_) {
    const std::uint64_t high = random.word(), bits = (high << 32 | random.word()) >> 11;
    const double at = static_cast<double>(bits) * 0x1p-53 * sums_.back();
    row = std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin();
  }
}

/// Row k of the n of a class goes to (k + 1/2) / n of the epoch.
void Sampler::interleave() {
  std::map<std::int64_t, std::int64_t> size, seen;
  for (const std::int64_t stratum : options_.strata) ++size[stratum];
  std::vector<std::pair<double, std::int64_t>> places;
  for (const std::int64_t row : rows_) {
    const std::int64_t stratum = options_.strata[static_cast<std::size_t>(row)];
    places.emplace_back((static_cast<double>(seen[stratum]++) + 0.5) / static_cast<double>(size[stratum]), row);
  }
  std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < places.size(); ++i) rows_[i] = places[i].second;
}

std::span<const std::int64_t> Sampler::next() {
  if (position_.batch >= batches()) {
    position_ = {position_.epoch + 1, 0};
    return {};
  }
  const std::int64_t begin = position_.batch++ * options_.batch;
  const std::int64_t size = std::min(options_.batch, count_ - begin);
  if (as_they_are()) {
    rows_.resize(static_cast<std::size_t>(size));
    std::iota(rows_.begin(), rows_.end(), begin);
    return rows_;
  }
  order_epoch();
  return std::span<const std::int64_t>(rows_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
}

void Sampler::seek(Position position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches()) {
    throw Error({.op = "Sampler",
                 .got = "epoch " + std::to_string(position.epoch) + ", batch " + std::to_string(position.batch),
                 .expected = "epoch 0 or later, batch 0 to " + std::to_string(batches()),
                 .advice = "resume with the data set and batch size the position was saved with"});
  }
  position_ = position;
}

HostArray gather_batch(const HostArray& array, std::span<const std::int64_t> rows) {
  if (array.shape.rank() == 0) {
    throw Error({.op = "gather_batch",
                 .got = "shape ()",
                 .expected = "at least one axis",
                 .advice = "give the array a first axis that counts the rows"});
  }
  Shape shape = array.shape;
  shape[0] = static_cast<std::int64_t>(rows.size());
  HostArray batch = HostArray::empty(array.dtype, shape);
  const std::size_t row_bytes = rows.empty() ? 0 : batch.bytes() / rows.size();
  const auto* from = static_cast<const std::byte*>(array.buffer->data());
  auto* to = static_cast<std::byte*>(batch.buffer->data());
  for (auto row : rows) {
    if (row < 0 || row >= array.shape[0]) {
      throw Error({.op = "gather_batch",
                   .got = "row " + std::to_string(row) + " of shape " + to_string(array.shape),
                   .expected = "0 to " + std::to_string(array.shape[0] - 1),
                   .advice = "give the sampler the number of rows of this array"});
    }
    std::memcpy(to, from + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    to += row_bytes;
  }
  return batch;
}

}  // namespace tegula::data
