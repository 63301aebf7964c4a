#pragma once
// The order in which the rows of a data set are visited, batch by batch.

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/core/line.h"

namespace tegula::data {

/// The treatment of the rows that do not fill the last batch of an epoch.
enum class Last { Keep, Drop };

struct SamplerOptions {
  std::int64_t batch = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;  // for shuffling
  Last last = Last::Keep;
  /// The weight of each row: how often it is drawn, relative to the others. An epoch draws as many rows as there are, with replacement.
  std::vector<double> weights = {};
  /// The class of each row: every batch has the classes as the whole has them, to within one row. With `shuffle` the rows of a class come
  /// in another order each epoch.
  std::vector<std::int64_t> strata = {};
  /// The length of each row: the rows of a batch are of similar length, so that little is padded (text::pad_sequences). Within each run of a hundred
  /// batches rows are sorted by length; with `shuffle` rows come in another order before that, and batches behind it, each epoch.
  std::vector<std::int64_t> lengths = {};
};

/// Gives the row numbers of one batch after the other; every epoch visits each row once (but those dropped at the end, and with weights). The order
/// of an epoch depends only on seed, epoch and count, so a position is two numbers and a run resumes anywhere.
class Sampler {
 public:
  struct Position {
    std::int64_t epoch = 0;
    std::int64_t batch = 0;  // the next one within the epoch
    bool operator==(const Position&) const = default;
  };

  /// Throws Error when count is negative or above 2^32 - 1, options.batch is not positive, or weights, strata or lengths are not one for each row
  /// (weights finite, none negative, not all zero; only one of the three).
  explicit Sampler(std::int64_t count, const SamplerOptions& options = {}, Line where = Line::current());

  std::int64_t count() const { return count_; }  // rows
  std::int64_t batches() const;  // per epoch
  const SamplerOptions& options() const { return options_; }

  /// The rows of the next batch, valid until the next call; empty once at the end of each epoch, after which the next one begins.
  std::span<const std::int64_t> next();

  Position position() const { return position_; }
  /// Continues from a position as position() gave it. Throws Error when it is negative or behind the end of an epoch.
  void seek(Position position);

 private:
  bool as_they_are() const;
  void order_epoch();
  void draw(class RandomStream& random);
  void interleave();
  void put_into_buckets(class RandomStream& random);

  std::int64_t count_;
  SamplerOptions options_;
  Position position_;
  std::vector<std::int64_t> rows_;  // row numbers of the current epoch, or of a batch if rows are not reordered
  std::int64_t ordered_epoch_ = -1;  // the epoch whose order is in rows_
  std::vector<double> sums_;  // sums of the weights up to and including each row
};

/// Copies of the given rows (slices along the first axis) of a (N, ...) array: (rows.size(), ...), same dtype.
/// Throws Error for rank 0 and for rows outside [0, N).
HostArray gather_batch(const HostArray& array, std::span<const std::int64_t> rows);

}  // namespace tegula::data
