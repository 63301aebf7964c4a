#pragma once
// Linear layers and tables.

#include <optional>

#include "tegula/nn/module.h"

namespace tegula::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = f32;
};
/// x (…, in) · weightᵀ (in, out) + bias -> (…, out). weight (out, in) and bias (out) begin uniform in ±1/sqrt(in).
class Linear {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg x) const;
  /// The same with another weight of its shape (nn/weight_norm.h).
  Tensor with_weight(Arg x, const Tensor& weight) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (out, in)
  Variable bias;    // (out), or empty
  dist::Split split;  // split of its columns or rows among ranks (nn/tensor_parallel.h)
};

/// a (…, in1), b (…, in2) -> (…, out): a·weight[o]·b + bias[o]; weight (out, in1, in2).
class Bilinear {
 public:
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, const LinearOptions& options = {},
           Line where = Line::current());
  Tensor operator()(Arg a, Arg b) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (out, in1, in2)
  Variable bias;    // (out), or empty
};

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // this row begins as zeros and gets no gradient
  DType dtype = f32;
};
/// Integers (…) -> (…, dim), rows of weight (count, dim), which begins Gaussian. An index outside is an Error when it is computed.
class Embedding {
 public:
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options = {}, Line where = Line::current());
  Tensor operator()(Arg indices) const;
  /// x (…, dim) -> (…, count), x · weightᵀ: scores of tokens by the table that they come in by.
  Tensor scores(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (count, dim)
  dist::Split split{.vocabulary = dist::Split::Style::Rows};

 private:
  std::optional<std::int64_t> padding_idx_;
};

/// x itself.
struct Identity {
  Tensor operator()(Arg x) const;
};

/// Axes start_dim … end_dim become one; by default all but the batch. With `.layout = Layout::NHWC`, x (N, spatial…, C), its elements come in the order
/// (C, spatial…) nevertheless: the weights of a Linear layer behind it are the same in both layouts (io/keras puts Keras' into it). start_dim and end_dim
/// count the axes of (N, C, spatial…).
struct Flatten {
  int start_dim = 1;
  int end_dim = -1;
  AxisOrder layout = Layout::NCHW;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

/// Axis `dim` becomes the axes `sizes`.
struct Unflatten {
  int dim;
  Shape sizes;
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}
};

}  // namespace tegula::nn
