#include "tegula/nn/linear.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/dist/parallel/tensor_parallel.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/nn/checks.h"
#include "tegula/nn/init.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/image_axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {

Tensor Identity::operator()(Arg x) const { return graph::identity(x.tensor("Identity"), x.loc); }

Linear::Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options, Line where) {
  In frame("Linear", where);
  require_positive("Linear", {{"in_features", in_features}, {"out_features", out_features}}, where);
  weight = init::default_weight({out_features, in_features}, options.dtype, where);
  if (options.bias) bias = init::default_bias(out_features, weight.shape(), options.dtype, where);
}

Tensor Linear::operator()(Arg x) const { return with_weight(x, weight.read(x.loc)); }

Tensor Linear::with_weight(Arg x, const Tensor& weight) const {
  In frame("Linear", x.loc);
  const Tensor input = split.enter(x.tensor("Linear"), x.loc);
  require_dtype("Linear", input, weight.dtype(), x.loc);
  require_features("Linear", input, -1, weight.shape()[1], "features", x.loc);
  return dist::linear(input, weight, bias, split, x.loc);
}

void Linear::visit(Visitor& visitor, const Path& path) {
  visitor.split(path, split, {{&weight, 0, 1, split.blocks}, {&bias, 0, SplitField::kNone, split.blocks}});
  visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}});
}

Bilinear::Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, const LinearOptions& options,
                   Line where) {
  In frame("Bilinear", where);
  require_positive("Bilinear", {{"in1_features", in1_features}, {"in2_features", in2_features}, {"out_features", out_features}}, where);
  const double bound = 1 / std::sqrt(static_cast<double>(in1_features));  // PyTorch's choice
  weight = uniform({out_features, in1_features, in2_features}, -bound, bound, {.dtype = options.dtype}, where);
  if (options.bias) bias = uniform({out_features}, -bound, bound, {.dtype = options.dtype}, where);
}

Tensor Bilinear::operator()(Arg a, Arg b) const {
  In frame("Bilinear", a.loc);
  const Tensor left = a.tensor("Bilinear");    // (…, in1)
  const Tensor right = b.tensor("Bilinear");   // (…, in2)
  const Shape sizes = weight.shape();          // out, in1, in2
  require_dtype("Bilinear", left, weight.dtype(), a.loc);
  require_dtype("Bilinear", right, weight.dtype(), b.loc);
  require_features("Bilinear", left, -1, sizes[1], "features", a.loc);
  require_features("Bilinear", right, -1, sizes[2], "features", b.loc);
  const Tensor by_input = reshape(permute(weight, {1, 0, 2}), {sizes[1], sizes[0] * sizes[2]});
  Shape shape = left.shape();
  shape[shape.rank() - 1] = sizes[0];
  shape.push_back(sizes[2]);
  const Tensor y = sum(reshape(matmul(left, by_input), shape) * unsqueeze(right, -2), -1);  // (…, out)
  return bias.defined() ? y + bias : y;
}

void Bilinear::visit(Visitor& visitor, const Path& path) { visit_fields(visitor, path, {{"weight", &weight}, {"bias", &bias}}); }

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options, Line where)
    : padding_idx_(options.padding_idx) {
  In frame("Embedding", where);
  require_positive("Embedding", {{"num_embeddings", num_embeddings}, {"embedding_dim", embedding_dim}}, where);
  Tensor table = normal({num_embeddings, embedding_dim}, 0, 1, {.dtype = options.dtype}, where);
  if (padding_idx_) {
    if (*padding_idx_ < 0) *padding_idx_ += num_embeddings;
    if (*padding_idx_ < 0 || *padding_idx_ >= num_embeddings) {
      throw Error({.op = "Embedding",
                   .got = "padding_idx = " + std::to_string(*options.padding_idx),
                   .expected = "a row of the " + std::to_string(num_embeddings),
                   .where = origin_at(where).where});
    }
    table = masked_fill(table, iota(table.shape(), 0, where) == *padding_idx_, 0.0);
  }
  weight = table;
}

Tensor Embedding::operator()(Arg indices) const {
  In frame("Embedding", indices.loc);
  return dist::embedding(indices.tensor("Embedding"), weight.read(indices.loc), padding_idx_, split, indices.loc);
}

Tensor Embedding::scores(Arg x) const {
  using enum dist::Split::Style;
  In frame("Embedding", x.loc);
  dist::Split across = split;  // its rows come out, its columns go in
  across.style = split.is(Rows) ? Columns : split.is(Columns) ? Rows : None;
  across.input = dist::Placement::Replicated, across.output = split.is(Rows) ? split.scores : dist::Placement::Replicated;
  return dist::linear(across.enter(x.tensor("Embedding"), x.loc), weight.read(x.loc), {}, across, x.loc);
}

void Embedding::visit(Visitor& visitor, const Path& path) {
  visitor.split(path, split, {{&weight, 1, 0}});
  visit_fields(visitor, path, {{"weight", &weight}});
}

Tensor Flatten::operator()(Arg x) const {
  In frame("Flatten", x.loc);
  const Tensor given = x.tensor("Flatten");
  return flatten(Arg(ops::channels_first(given, given.rank() - 2, layout, x.loc), x.loc), start_dim, end_dim);
}

Tensor Unflatten::operator()(Arg x) const {
  In frame("Unflatten", x.loc);
  const Tensor input = x.tensor("Unflatten");
  const auto axis = normalize_axis(dim, input.rank());
  if (!axis || numel(sizes) != input.shape()[*axis]) {
    throw Error({.op = "Unflatten",
                 .got = "an input of shape " + to_string(input.shape()),
                 .expected = "axis " + std::to_string(dim) + " to hold " + to_string(sizes),
                 .where = origin_at(x.loc).where});
  }
  Shape shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != *axis) shape.push_back(input.shape()[i]);
    else
      for (auto size : sizes) shape.push_back(size);
  }
  return reshape(input, shape);
}

}  // namespace tegula::nn
