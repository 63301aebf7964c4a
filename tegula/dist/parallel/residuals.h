#pragma once
// The residuals of gradients sent in FP8: the rounding errors that are added to the next gradients (error feedback: collectives/narrow_exchange.h).

#include <functional>

#include "tegula/dist/exchange/group.h"
#include "tegula/graph/variable.h"

namespace tegula::dist {

struct Fp8Sum;  // collectives/narrow_exchange.h

/// For each parameter a cell of its shape in f32, this rank's part of a sum over the ranks; zeros at first. A checkpoint holds the sum, which rank 0 takes over
/// when it is loaded, for any number of ranks.
class Residuals {
 public:
  Residuals() = default;
  Residuals(const Parameters& trained, const Group& group, Line where);

  /// Under names that begin with "exchange.": for checkpoints. Empty unless gradients travel in FP8.
  const Parameters& cells() const { return cells_; }
  /// gradients (as the parameters; undefined ones stay so) -> their sums over the ranks, in their dtypes, in messages of about `bucket_bytes` of f32. Writes
  /// the cells.
  /// Throws Error where gradients are not those of the parameters.
  std::vector<Tensor> sum(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, Line where) const;
  /// This rank's parts (k) of those sums, as with rows_of (collectives/rows.h).
  std::vector<Tensor> parts_of_sum(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, Line where) const;

 private:
  /// The layout of numbers of a parameter's shape where they travel, who carries them, and the way back.
  struct Way {
    std::function<Tensor(const Tensor& whole)> sent;
    std::function<Fp8Sum(const Tensor& sent)> exchange;
    std::function<Tensor(const Tensor& sent, const Shape& shape)> whole;
  };
  /// The sums, as they lie where they travel; writes the cells.
  std::vector<Tensor> exchanged(const std::vector<Tensor>& gradients, std::int64_t bucket_bytes, const Way& way, Line where) const;

  Parameters cells_;
  Group group_;
};

}  // namespace tegula::dist
