#include "tegula/ops/images/resample.h"

#include <algorithm>

#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/tile_launch.h"

namespace tegula {
namespace {

/// Inputs x (outer, length, inner), first (count), weight (count, taps), and the same of the transposed matrix, for the gradient alone.
class ResampleOp final : public KernelOp {
 public:
  std::string_view name() const override { return "resample"; }
  void attributes(Attributes& a) override {
    const Signature* const node = a.made_for();
    if (!node) return;
    const Shape &x = node->inputs[0].shape, &y = node->results[0].shape;
    a.require(x.rank() == 3 && y.rank() == 3 && x[0] == y[0] && x[2] == y[2] && node->inputs[0].dtype == node->results[0].dtype, "shape");
    for (const auto& [at, count] : {std::pair(1u, y[1]), std::pair(3u, x[1])}) {
      const Result &first = node->inputs[at], &weight = node->inputs[at + 1];
      a.require(first == Result{{count}, i64} && weight.shape.rank() == 2 && weight.shape[0] == count && is_float(weight.dtype), "shape");
    }
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const auto in = [&](int i) { return Tensor(y.inputs()[static_cast<std::size_t>(i)]); };
    std::vector<Tensor> out(5);
    out[0] = make_node(y.op_ref(), {dy, in(3), in(4), in(1), in(2)}, in(0).shape(), dy.dtype(), y.origin().where);
    return out;
  }

  void lower(KernelContext& context) const override {
    const Shape &from = context.input(0).shape, &to = context.output().shape;
    const std::int64_t outer = from[0], length = from[1], inner = from[2], count = to[1], taps = context.input(2).shape[1];
    // Lines of inner elements as a whole; where there is one each, along the axis.
    const bool lines = inner != 1;
    ops::TileRows kernel(context, "resample", lines ? outer * count : outer, lines ? inner : count);
    auto x = kernel.input(0), first = kernel.input(1), weight = kernel.input(2), y = kernel.output();
    auto width = kernel.number(length), places = kernel.number(count), steps = kernel.number(taps), line = kernel.number(inner);
    auto row = kernel.row(), column = kernel.column(), k = lines ? row % places : column;
    auto k_mask = lines ? kernel.row_mask() : kernel.column_mask();
    auto begin = (lines ? row / places : row) * width, from_place = kernel.load(first + k, k_mask), sum = kernel.zeros(kernel.tile());
    for (auto t : tile::range(0, steps)) {
      auto place = from_place + t, w = kernel.load(weight + (k * steps + t), k_mask);
      auto at = lines ? (begin + place) * line + column : begin + place;
      sum += w * kernel.load(x + at, kernel.both(kernel.mask(), place >= 0 && place < width && w != 0));
    }
    kernel.store(y + (lines ? row * line + column : row * places + column), sum, kernel.mask());
    kernel.launch();
  }

  void reference(std::span<const std::span<const double>> in, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    const std::int64_t length = shapes[0][1], inner = shape[2], count = shape[1], taps = shapes[2][1];
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
      const std::int64_t outer = i / (count * inner), k = i / inner % count;
      double sum = 0;
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t place = static_cast<std::int64_t>(in[1][static_cast<std::size_t>(k)]) + t;
        const double w = in[2][static_cast<std::size_t>(k * taps + t)];
        if (place >= 0 && place < length && w != 0)
          sum += w * in[0][static_cast<std::size_t>((outer * length + place) * inner + i % inner)];
      }
      y[static_cast<std::size_t>(i)] = sum;
    }
  }
};

}  // namespace

Tensor ops::cubic(const Tensor& distance, double a) {
  const Tensor d = abs(distance);
  const Tensor near = ((a + 2) * d - (a + 3)) * d * d + 1, far = ((d - 5) * d + 8) * d * a - 4 * a;
  return where(d <= 1, near, where(d < 2, far, 0));
}

Tensor ops::resample(const Tensor& x, int axis, const Band& matrix, const Band& transposed, const Line& where) {
  Shape shape = x.shape(), lines{numel(shape, 0, axis), shape[axis], numel(shape, axis + 1, shape.rank())};
  const Tensor from = graph::reshape(x, lines, where);
  lines[1] = shape[axis] = matrix.first.numel();
  const Tensor y = make_node(make<const ResampleOp>(), {from, matrix.first, matrix.weight, transposed.first, transposed.weight}, lines,
                             x.dtype(), where);
  return graph::reshape(y, shape, where);
}

void add_resample_ops(OpTable& table) { table.add_class<ResampleOp>("resample", 5); }

}  // namespace tegula
