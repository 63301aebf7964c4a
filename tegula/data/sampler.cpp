#include "tegula/data/sampler.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/data/random_stream.h"

namespace tegula::data {

Sampler::Sampler(std::int64_t count, const SamplerOptions& options, std::source_location where) : count_(count), options_(options) {
  if (count < 0 || count > UINT32_MAX) {
    throw Error({.op = "Sampler",
                 .got = std::to_string(count) + " rows",
                 .expected = "0 to 2^32 - 1",
                 .advice = "split a larger set into several",
                 .where = where});
  }
  if (options.batch < 1) {
    throw Error({.op = "Sampler",
                 .got = "batch " + std::to_string(options.batch),
                 .expected = "at least 1",
                 .advice = "set .batch to the number of rows per step",
                 .where = where});
  }
}

std::int64_t Sampler::batches() const {
  const std::int64_t full = count_ / options_.batch;
  return full + (options_.last == Last::Keep && count_ % options_.batch != 0);
}

void Sampler::order_epoch() {
  if (ordered_epoch_ == position_.epoch || (!options_.shuffle && !rows_.empty())) return;
  rows_.resize(static_cast<std::size_t>(count_));
  std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
  ordered_epoch_ = position_.epoch;
  if (!options_.shuffle) return;
  RandomStream random(options_.seed, static_cast<std::uint64_t>(position_.epoch));
  for (std::size_t i = rows_.size(); i > 1; --i)
    std::swap(rows_[i - 1], rows_[random.below(static_cast<std::uint32_t>(i))]);  // Fisher-Yates
}

std::span<const std::int64_t> Sampler::next() {
  if (position_.batch >= batches()) {
    position_ = {position_.epoch + 1, 0};
    return {};
  }
  order_epoch();
  const std::int64_t begin = position_.batch++ * options_.batch;
  const std::int64_t size = std::min(options_.batch, count_ - begin);
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
