#pragma once
// The rows of a rank that count where several ranks share out a batch.

#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// From now on, on this thread, the rows that a rank computes with count if `share` (), its part of a batch's rows, is above 0, until this goes. A batch of fewer rows than
/// ranks has none for some (data::Batch::rows), and those get one that does not count: what takes statistics of all ranks' rows (nn::sync_batch_norm) leaves it out. The
/// Trainer does this by itself. Undefined: they count.
class CountedRows {
 public:
  explicit CountedRows(const Tensor& share);
  ~CountedRows();
  CountedRows(const CountedRows&) = delete;
  CountedRows& operator=(const CountedRows&) = delete;

  /// The innermost one's, or undefined.
  static Tensor share();

 private:
  Tensor share_;
  const CountedRows* before_;
};

}  // namespace tegula::dist
