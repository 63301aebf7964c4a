#pragma once
// Normalisation layers.

#include <optional>

#include "tegula/nn/module.h"

namespace tegula::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // share of the new batch in the running statistics; empty: the average over all batches
  bool affine = true;                    // weight and bias
  bool track_running_stats = true;       // without: the batch's statistics in evaluation too
  DType dtype = f32;
  AxisOrder layout = Layout::NCHW;       // NHWC: x (N, spatial…, C)
};
/// x (N, C, spatial…) with `Axes` spatial axes (BatchNorm1d: (N, C) too), each channel normalised by the statistics of the batch in
/// training and by the running ones in evaluation (Ioffe and Szegedy, 2015). The running variance is unbiased, as in PyTorch.
template <int Axes>
class BatchNorm {
 public:
  explicit BatchNorm(std::int64_t num_features, const BatchNormOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x);
  void visit(Visitor& visitor, const Path& path);

  Variable weight, bias;             // (C), or empty
  Buffer running_mean, running_var;  // (C), or empty
  Buffer num_batches_tracked;        // () i64, or empty
  Flag training{1};
  Flag frozen{0};  // as in evaluation also while training (nn/freeze.h)
  /// Statistics in training are those of the rows of all of them (sync_batch_norm below); alone: of this process's.
  dist::Group group;

 private:
  double eps_;
  std::optional<double> momentum_;
  AxisOrder layout_;
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

/// From now on the batch norms of the module take the statistics of all rows that the ranks have together, and so does the gradient: a batch that is
/// shared out trains as in one process (PyTorch: nn.SyncBatchNorm.convert_sync_batchnorm). Two numbers a channel travel each way. A rank that got no row
/// of a batch (fewer rows than ranks) counts the one it was given instead, unless it says so (dist::CountedRows), as the Trainer does. Returns how many layers it found.
int sync_batch_norm(const AnyModule& module, const dist::Group& group = dist::world());
/// Back to each rank's own rows: for an evaluation by one rank without running statistics.
inline int unsync_batch_norm(const AnyModule& module) { return sync_batch_norm(module, {}); }

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  DType dtype = f32;
};
/// Over the last axes, of sizes normalized_shape (Ba et al., 2016).
class LayerNorm {
 public:
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {}, Line where = Line::current());
  explicit LayerNorm(std::int64_t size, const LayerNormOptions& options = {}, Line where = Line::current())
      : LayerNorm(Shape{size}, options, where) {}
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight, bias;  // normalized_shape, or empty
  dist::Split split;  // split of the steps among ranks (nn/tensor_parallel.h)

 private:
  Shape shape_;
  double eps_;
};

struct RMSNormOptions {
  double eps = 1e-6;
  bool elementwise_affine = true;
  DType dtype = f32;
};
/// x * rsqrt(mean(x²) + eps) * weight over the last axes (Zhang and Sennrich, 2019).
class RMSNorm {
 public:
  explicit RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options = {}, Line where = Line::current());
  explicit RMSNorm(std::int64_t size, const RMSNormOptions& options = {}, Line where = Line::current())
      : RMSNorm(Shape{size}, options, where) {}
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // normalized_shape, or empty
  dist::Split split;  // split of the steps among ranks (nn/tensor_parallel.h)

 private:
  Shape shape_;
  double eps_;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  DType dtype = f32;
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, …, C)
};
/// x (N, C, …), the channels in groups (Wu and He, 2018).
class GroupNorm {
 public:
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, const GroupNormOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight, bias;  // (C), or empty

 private:
  std::int64_t groups_;
  double eps_;
  AxisOrder layout_;
};

struct InstanceNormOptions {
  double eps = 1e-5;
  bool affine = false;  // PyTorch's default
  DType dtype = f32;
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, spatial…, C)
};
/// x (N, C, spatial…), each channel of each sample over its spatial axes (Ulyanov et al., 2016). No running statistics.
template <int Axes>
class InstanceNorm {
 public:
  explicit InstanceNorm(std::int64_t num_features, const InstanceNormOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight, bias;  // (C), or empty

 private:
  std::int64_t features_;
  double eps_;
  AxisOrder layout_;
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

/// x / (k + alpha/size * Σ x²)^beta over `size` neighbouring channels (Krizhevsky et al., 2012).
struct LocalResponseNorm {
  std::int64_t size;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, spatial…, C)
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

}  // namespace tegula::nn
