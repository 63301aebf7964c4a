#include "tegula/ops/products/matmul.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/e4m3.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/precision.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/e4m3.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/product_tiles.h"
#include "tegula/runtime/device.h"

namespace tegula {
namespace {

// An axis of size 1 may carry any stride; the device is told one that fits.
bool rows_and_columns(std::int64_t outer_size, std::int64_t outer_stride, std::int64_t inner_size, std::int64_t inner_stride) {
  return (inner_stride == 1 || inner_size == 1) && (outer_size == 1 || outer_stride >= inner_size);
}

bool is_matrix(const Layout& layout) {
  const int r = layout.shape.rank() - 2, c = r + 1;
  if (numel(layout.shape) == 0) return true;
  return rows_and_columns(layout.shape[r], layout.strides[r], layout.shape[c], layout.strides[c]) ||
         rows_and_columns(layout.shape[c], layout.strides[c], layout.shape[r], layout.strides[r]);
}

Layout settled(Layout layout) {
  const int r = layout.shape.rank() - 2, c = r + 1;
  const bool by_rows = rows_and_columns(layout.shape[r], layout.strides[r], layout.shape[c], layout.strides[c]);
  const int outer = by_rows ? r : c, inner = by_rows ? c : r;
  layout.strides[inner] = 1;
  if (layout.shape[outer] == 1) layout.strides[outer] = std::max<std::int64_t>(layout.shape[inner], 1);
  for (int i = 0; i < r; ++i) {
    if (layout.shape[i] == 1) layout.strides[i] = 0;
  }
  return layout;
}

Tensor transposed(const Tensor& x, const Line& where) {
  Dims order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[x.rank() - 2], order[x.rank() - 1]);
  return graph::permute(x, order, where);
}

class MatmulOp final : public LibraryOp, public InTiles {
 public:
  std::string_view name() const override { return "matmul"; }
  void attributes(Attributes& a) override {
    const Signature* const node = a.made_for();
    if (!node) return;
    const Shape &left = node->inputs[0].shape, &right = node->inputs[1].shape;
    const int rank = left.rank();
    a.require(rank >= 2 && right.rank() == rank && right[rank - 2] == left[rank - 1], "shape");
    Shape shape = left, other = right;
    shape[rank - 1] = other[rank - 1];
    other[rank - 2] = left[rank - 2];
    const DType dtype = node->results[0].dtype;
    a.require(node->results[0].shape == shape && other == shape && node->inputs[0].dtype == dtype && node->inputs[1].dtype == dtype,
              "shape");
    bias_axis_ = rank - 1;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;
  std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const override;

  runtime::CallDescription describe(const Setting& setting) const override {
    return runtime::Matmul::of(setting.dtype, settled(setting.inputs[0]), settled(setting.inputs[1]), settled(setting.results[0]));
  }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return is_matrix(layout); }
  bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const override {
    const runtime::LayoutRules& rules = device.traits().layouts;
    const Layout& layout = slice.layout;
    if (!is_matrix(layout) || !runs_are_aligned(slice, rules.alignment)) return false;
    if (which <= kResult) return layout.strides.back() == 1 && layout.strides[layout.shape.rank() - 2] >= layout.shape.back();
    const std::int64_t length = layout.strides.back() == 1 ? layout.shape.back() : layout.shape[layout.shape.rank() - 2];
    const auto is_bad = [&](std::int64_t distance) {
      return distance > length && static_cast<std::size_t>(distance) * size_of(slice.dtype) % rules.worst_distance == 0;
    };
    return rules.worst_distance == 0 || std::none_of(layout.strides.end() - 2, layout.strides.end(), is_bad);
  }
  const InTiles* in_tiles() const override { return this; }
  std::vector<TileWay> ways_in_tiles(const runtime::CallDescription& call, const Operands& operands,
                                     const tile::TilePreference& tiles) const override {
    return ops::product_ways(std::get<runtime::Matmul>(call), operands, tiles.instances);
  }
  bool multiplies_matrices() const override { return true; }
  int bias_axis() const override { return bias_axis_; }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    return 2.0 * static_cast<double>(numel(output)) * static_cast<double>(inputs[0].back());
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    const std::int64_t m = shape[shape.rank() - 2], n = shape.back(), k = shapes[0].back();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
      const std::int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        sum += x[0][static_cast<std::size_t>((batch * m + row) * k + j)] * x[1][static_cast<std::size_t>((batch * k + j) * n + column)];
      }
      y[static_cast<std::size_t>(i)] = sum;
    }
  }

  explicit MatmulOp(int rank) : bias_axis_(rank - 1) {}

 private:
  int bias_axis_;  // the last: a function of the inputs' rank, which the structural key holds
};

/// True if it must be rounded for an FP8 matmul: a float that is not rounded already, seen through pending views (an evaluated view has
/// forgotten its input; rounding twice is the same as once).
bool wants_rounding(const Tensor& x) {
  const Node* node = x.node().get();
  while (shows_input(node->op().role()) && !node->inputs().empty()) node = node->inputs()[0].get();
  return &node->op() != e4m3_round_op().get() && is_float(x.dtype()) && x.dtype() != f64;
}

// a (batch…, M, K), b (batch…, K, N) of one dtype and batch.
Tensor product(const Tensor& left, const Tensor& right, const Line& where) {
  Tensor a = left, b = right;
  if (current_precision() == Precision::fp8) {  // both with K innermost, as products of codes want them
    if (wants_rounding(a)) a = round_e4m3(Arg(a, where));
    if (wants_rounding(b)) b = transposed(round_e4m3(Arg(transposed(b, where), where)), where);
  }
  Shape shape = a.shape();
  shape[shape.rank() - 1] = b.shape().back();
  return make_node(Ref<const Op>(new MatmulOp(shape.rank())), {a, b}, shape, a.dtype(), where);
}

// The gradient of a transposed operand is computed the other way round, so that the tensor behind it gets a dense one.
std::vector<Tensor> MatmulOp::gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const {
  const Tensor a(y.inputs()[0]), b(y.inputs()[1]);
  const auto& where = y.origin().where;
  std::vector<Tensor> out(2);
  const auto is_view = [](const Tensor& x) { return x.node()->op().role() == Role::View && x.node()->op().name() == "permute"; };
  if (wanted[0])
    out[0] = is_view(a) ? transposed(product(b, transposed(dy, where), where), where) : product(dy, transposed(b, where), where);
  if (wanted[1])
    out[1] = is_view(b) ? transposed(product(transposed(dy, where), a, where), where) : product(transposed(a, where), dy, where);
  return out;
}

// Returns the product as its definition has it.
Tensor sum_of_products(const Tensor& a, const Tensor& b, const Line& where) {
  Shape left = a.shape(), right = b.shape();
  left.push_back(1);  // (batch…, M, K, 1)
  right.insert(right.rank() - 2, 1);  // (batch…, 1, K, N)
  const Tensor terms = graph::reshape(a, left, where) * graph::reshape(b, right, where);
  return graph::sum(terms, {terms.rank() - 2}, where);
}

std::vector<Tensor> MatmulOp::spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const {
  const Tensor &a = inputs[0], &b = inputs[1];
  const auto ways =
      device.candidates(runtime::Matmul::of(a.dtype(), Layout::dense(a.shape()), Layout::dense(b.shape()), Layout::dense(shape)));
  if (ways.empty() || !ways.front().programs_are_faster) return {};
  const DType dtype = is_half(a.dtype()) ? f32 : a.dtype();
  return {graph::cast(sum_of_products(graph::cast(a, dtype), graph::cast(b, dtype), {}), a.dtype())};
}

[[noreturn]] void refuse(std::string_view op, const Tensor& a, const Tensor& b, std::string expected, std::string advice,
                         const Line& where) {
  throw Error({.op = std::string(op),
               .got = "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()),
               .expected = std::move(expected),
               .advice = std::move(advice),
               .where = origin_at(where).where});
}

struct Operands {
  Tensor a, b;
};

Operands operands(std::string_view op, const Arg& left, const Arg& right) {
  Tensor a = left.tensor(op), b = right.tensor(op);
  const DType dtype = promote(a.dtype(), b.dtype());
  if (a.dtype() == DType::boolean || b.dtype() == DType::boolean) {
    throw Error({.op = std::string(op),
                 .got = "dtypes " + std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())),
                 .expected = "numbers",
                 .advice = "cast the booleans first",
                 .where = origin_at(left.loc).where});
  }
  return {graph::cast(a, dtype, left.loc), graph::cast(b, dtype, left.loc)};
}

Tensor multiply(const Tensor& a, const Tensor& b, const Line& where) {
  return is_float(a.dtype()) ? product(a, b, where) : sum_of_products(a, b, where);
}

// Both with at least two axes.
Tensor matrices(std::string_view op, Tensor a, Tensor b, const Line& where) {
  if (a.shape().back() != b.shape()[b.rank() - 2]) {
    const bool twisted = a.shape().back() == b.shape().back();
    refuse(op, a, b,
           "the inner sizes (" + std::to_string(a.shape().back()) + " and " + std::to_string(b.shape()[b.rank() - 2]) + ") to be equal",
           twisted ? "transpose the right operand" : "", where);
  }
  if (b.rank() == 2 && a.rank() > 2) {  // one large product instead of many small ones
    Shape shape = a.shape();
    shape[shape.rank() - 1] = b.shape()[1];
    std::int64_t rows = 1;
    for (int i = 0; i + 1 < a.rank(); ++i) rows *= a.shape()[i];
    return graph::reshape(multiply(graph::reshape(a, {rows, a.shape().back()}, where), b, where), shape, where);
  }
  const auto leading = [](const Shape& shape) { return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2))); };
  const auto batch = broadcast(leading(a.shape()), leading(b.shape()));
  if (!batch) refuse(op, a, b, "leading axes that broadcast", "they must agree or have size 1, counted from the third last", where);
  const auto with_batch = [&](const Tensor& x) {
    Shape shape = *batch;
    shape.push_back(x.shape()[x.rank() - 2]);
    shape.push_back(x.shape().back());
    return graph::expand(x, shape, where);
  };
  return multiply(with_batch(a), with_batch(b), where);
}

void expect_rank(std::string_view op, const Tensor& a, int first, const Tensor& b, int second, const Line& where) {
  if (a.rank() == first && b.rank() == second) return;
  refuse(op, a, b, std::to_string(first) + " and " + std::to_string(second) + " axes", "matmul takes other ranks", where);
}

}  // namespace

Tensor matmul(Arg left, Arg right) {
  const In frame("matmul", left.loc);
  auto [a, b] = operands("matmul", left, right);
  const auto& where = left.loc;
  if (a.rank() == 0 || b.rank() == 0) refuse("matmul", a, b, "at least one axis each", "multiply by a number with *", where);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = graph::reshape(a, {1, a.shape()[0]}, where);
  if (column) b = graph::reshape(b, {b.shape()[0], 1}, where);
  const Tensor y = matrices("matmul", a, b, where);
  Shape shape = y.shape();
  if (column) shape.erase(shape.rank() - 1);
  if (row) shape.erase(column ? shape.rank() - 1 : shape.rank() - 2);
  return graph::reshape(y, shape, where);
}

namespace {

Tensor linear(const Arg& input, const Arg& matrix, const Arg* bias) {
  const In frame("linear", input.loc);
  auto [x, weight] = operands("linear", input, matrix);
  const auto& where = input.loc;
  if (weight.rank() != 2 || x.rank() == 0 || x.shape().back() != weight.shape()[1]) {
    refuse("linear", x, weight, "x (…, in) and a weight (out, in)", "", where);
  }
  const std::int64_t in = weight.shape()[1], out = weight.shape()[0];
  Shape shape = x.shape();
  shape[shape.rank() - 1] = out;
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  Tensor y = multiply(graph::reshape(x, {rows, in}, where), transposed(weight, where), where);  // (rows, out)
  if (bias) {
    const Tensor b = bias->tensor("linear");
    if (b.shape() != Shape{out}) refuse("linear", weight, b, "a bias of shape (" + std::to_string(out) + ",) for this weight", "", where);
    y = y + graph::cast(b, y.dtype(), where);  // before the reshape, so that it folds into the product
  }
  return graph::reshape(y, shape, where);
}

}  // namespace

Tensor linear(Arg x, Arg weight) { return linear(x, weight, nullptr); }
Tensor linear(Arg x, Arg weight, Arg bias) { return linear(x, weight, &bias); }

Tensor dot(Arg left, Arg right) {
  const In frame("dot", left.loc);
  auto [a, b] = operands("dot", left, right);
  if (a.rank() != 1 || a.shape() != b.shape()) refuse("dot", a, b, "two vectors of one length", "matmul takes other ranks", left.loc);
  return graph::sum(a * b, {0}, left.loc);
}

Tensor outer(Arg left, Arg right) {
  const In frame("outer", left.loc);
  auto [a, b] = operands("outer", left, right);
  expect_rank("outer", a, 1, b, 1, left.loc);
  return graph::reshape(a, {a.numel(), 1}, left.loc) * b;
}

Tensor mv(Arg left, Arg right) {
  const In frame("mv", left.loc);
  expect_rank("mv", left.tensor("mv"), 2, right.tensor("mv"), 1, left.loc);
  return matmul(left, right);
}

Tensor mm(Arg left, Arg right) {
  const In frame("mm", left.loc);
  auto [a, b] = operands("mm", left, right);
  expect_rank("mm", a, 2, b, 2, left.loc);
  return matrices("mm", a, b, left.loc);
}

Tensor bmm(Arg left, Arg right) {
  const In frame("bmm", left.loc);
  auto [a, b] = operands("bmm", left, right);
  expect_rank("bmm", a, 3, b, 3, left.loc);
  if (a.shape()[0] != b.shape()[0]) refuse("bmm", a, b, "the same number of matrices", "matmul broadcasts", left.loc);
  return matrices("bmm", a, b, left.loc);
}

Tensor addmm(Arg input, Arg left, Arg right, const AddmmOptions& options) {
  const In frame("addmm", input.loc);
  Tensor y = mm(left, right), c = input.tensor("addmm");
  if (broadcast(c.shape(), y.shape()) != y.shape()) refuse("addmm", c, y, "an input that broadcasts to the product", "", input.loc);
  if (options.alpha != 1) y = y * options.alpha;
  if (options.beta != 1) c = c * options.beta;
  return y + c;
}

std::vector<OpCase> matmul_cases() {
  constexpr double kSums = 64;  // tolerance of sums of products: errors add up
  const auto product = [](const auto& x) { return matmul(x[0], x[1]); };
  std::vector<OpCase> cases{
      {.op = "matmul",
       .function = product,
       .inputs = {{{5, 7}}, {{7, 3}}},
       .dtypes = kNumbers,
       .more_shapes = {{{1, 1}, {1, 1}},
                       {{33, 65}, {65, 17}},
                       {{7}, {7}},
                       {{4, 7}, {7}},
                       {{7}, {7, 4}},
                       {{2, 3, 4, 5}, {3, 5, 2}},
                       {{3, 4, 5}, {5, 6}},
                       {{4, 5}, {3, 5, 2}},
                       {{2, 1, 4, 5}, {1, 3, 5, 2}},
                       {{0, 3}, {3, 4}},
                       {{3, 4}, {4, 0}}},
       .tolerance = kSums},
      {.op = "linear",
       .function = [](const auto& x) { return linear(x[0], x[1], x[2]); },
       .inputs = {{{5, 7}}, {{3, 7}}, {{3}}},
       .dtypes = kNumbers,
       .more_shapes = {{{7}, {3, 7}, {3}}, {{2, 3, 7}, {4, 7}, {4}}, {{0, 7}, {3, 7}, {3}}},
       .tolerance = kSums},
      {.op = "dot",
       .function = [](const auto& x) { return dot(x[0], x[1]); },
       .inputs = {{{33}}, {{33}}},
       .dtypes = kNumbers,
       .tolerance = kSums},
      {.op = "outer", .function = [](const auto& x) { return outer(x[0], x[1]); }, .inputs = {{{5}}, {{7}}}, .dtypes = kNumbers},
      {.op = "mv",
       .function = [](const auto& x) { return mv(x[0], x[1]); },
       .inputs = {{{5, 7}}, {{7}}},
       .dtypes = kNumbers,
       .tolerance = kSums},
      {.op = "mm",
       .function = [](const auto& x) { return mm(x[0], x[1]); },
       .inputs = {{{5, 7}}, {{7, 2}}},
       .dtypes = kNumbers,
       .tolerance = kSums},
      {.op = "bmm",
       .function = [](const auto& x) { return bmm(x[0], x[1]); },
       .inputs = {{{3, 5, 7}}, {{3, 7, 2}}},
       .dtypes = kNumbers,
       .tolerance = kSums},
      {.op = "addmm",
       .function = [](const auto& x) { return addmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = 2}); },
       .inputs = {{{3}}, {{5, 7}}, {{7, 3}}},
       .tolerance = kSums},
  };
  return cases;
}

void add_matmul_ops(OpTable& table) { table.add_class<MatmulOp>("matmul", 2, 2); }

}  // namespace tegula
