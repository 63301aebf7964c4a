#include "tegula/ops/shape/join.h"

#include <algorithm>
#include <utility>

#include "tegula/graph/frame.h"
#include "tegula/graph/joined_products.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/row_kernel.h"

namespace tegula {
namespace {

using tile::Value;

class ConcatOp final : public KernelOp, public Joins {
 public:
  /// `begins`: the begin of each input along the axis, in order; the gaps between them are zero. Empty: one follows the other.
  explicit ConcatOp(int axis, std::vector<std::int64_t> begins = {}) : axis_(axis), begins_(std::move(begins)) {}
  std::string_view name() const override { return "concat"; }
  void attributes(Attributes& a) override {
    a("axis", axis_);
    std::optional<std::vector<std::int64_t>> begins;
    if (!begins_.empty()) begins = begins_;
    a("begins", begins);
    if (const Signature* node = a.made_for()) {
      begins_ = begins.value_or(std::vector<std::int64_t>());
      a.require(fits(*node), "axis");
    }
  }
  /// True if the pieces lie in the result one after another, and have its shape but for the axis.
  bool fits(const Signature& node) const {
    const Shape& y = node.results[0].shape;
    if (axis_ < 0 || axis_ >= y.rank() || (!begins_.empty() && begins_.size() != node.inputs.size())) return false;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Shape like = y;
      const Shape& x = node.inputs[i].shape;
      if (x.rank() != y.rank() || node.inputs[i].dtype != node.results[0].dtype) return false;
      like[axis_] = x[axis_];
      const std::int64_t begin = begin_of(i, end);
      if (x != like || begin < end || begin > y[axis_] - x[axis_]) return false;
      end = begin + x[axis_];
    }
    return !begins_.empty() || end == y[axis_];
  }
  const Joins* join() const override { return this; }
  int joined_axis() const override { return axis_; }
  const std::vector<std::int64_t>& joined_at() const override { return begins_; }
  Ref<const Op> without_gaps() const override { return begins_.empty() ? Ref<const Op>(this) : Ref<const Op>(new ConcatOp(axis_)); }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> out(wanted.size());
    std::int64_t end = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::int64_t size = y.inputs()[i]->shape()[axis_], begin = begin_of(i, end);
      if (wanted[i]) out[i] = ops::part(dy, axis_, begin, size, y.origin().where);
      end = begin + size;
    }
    return out;
  }

  // The lines (outer, size * inner) of each input go into those of the output.
  Numerics numerics() const override { return Numerics::Either; }
  bool takes_float8() const override { return true; }
  void lower(KernelContext& context) const override {
    const Shape& shape = context.output().shape;
    const std::int64_t outer = numel(shape, 0, axis_), inner = numel(shape, axis_ + 1, shape.rank());
    std::int64_t last = 0;  // size of the piece before
    // An input, or zeros (-1). Pieces of one size are one launch.
    const auto piece = [&](int input, std::int64_t begin, std::int64_t size) {
      if (size == 0) return;
      if (size == std::exchange(last, size)) context.beside();
      ops::RowKernel kernel(context, input < 0 ? "zeros" : "concat", outer, size * inner);
      const Value x = input < 0 ? Value() : kernel.input(input), y = kernel.output(), width = kernel.number(size * inner),
                  line = kernel.number(shape[axis_] * inner), first = kernel.number(begin * inner);
      const auto zeros = [&](const Shape& at) { return tile::broadcast(zero(kernel.builder(), context.output().dtype), at); };
      const auto loaded = [&] { return kernel.builder().load(x + (kernel.row() * width + kernel.column()), kernel.mask()); };
      const Value values = input < 0 ? zeros({kernel.tile_rows(), kernel.tile_columns()}) : loaded();
      kernel.builder().store(y + (kernel.row() * line + first + kernel.column()), values, kernel.mask());
      kernel.launch();
    };
    std::int64_t end = 0;
    for (int i = 0; i < context.input_count(); ++i) {
      const std::int64_t size = context.input(i).shape[axis_], begin = begin_of(static_cast<std::size_t>(i), end);
      piece(i, begin, size);
      end = begin + size;
    }
    end = 0;
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      piece(-1, end, begins_[i] - end);
      end = begins_[i] + context.input(static_cast<int>(i)).shape[axis_];
    }
    if (!begins_.empty()) piece(-1, end, shape[axis_] - end);
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    std::fill(y.begin(), y.end(), 0.0);
    const std::int64_t line = numel(shape, axis_, shape.rank()), inner = numel(shape, axis_ + 1, shape.rank());
    std::int64_t end = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t width = numel(shapes[i], axis_, shape.rank()), begin = begin_of(i, end);
      for (std::int64_t k = 0; k < static_cast<std::int64_t>(x[i].size()); ++k) {
        y[static_cast<std::size_t>(k / width * line + begin * inner + k % width)] = x[i][static_cast<std::size_t>(k)];
      }
      end = begin + shapes[i][axis_];
    }
  }

 private:
  static Value zero(tile::Builder& builder, DType dtype) {
    const DType computed = tile::compute_type(dtype);
    return is_float(computed) ? builder.constant(0.0, computed) : builder.constant(std::int64_t{0}, computed);
  }
  std::int64_t begin_of(std::size_t input, std::int64_t end) const { return begins_.empty() ? end : begins_[input]; }

  int axis_;
  std::vector<std::int64_t> begins_;
};

std::vector<Tensor> tensors(std::string_view op, std::initializer_list<Arg> xs) {
  std::vector<Tensor> out;
  for (const Arg& x : xs) out.push_back(x.tensor(op));
  return out;
}

Line first_location(std::initializer_list<Arg> xs) { return xs.size() > 0 ? xs.begin()->loc : Line{}; }

std::vector<Tensor> promoted(std::string_view op, const std::vector<Tensor>& xs, const Line& where) {
  if (xs.empty()) ops::refuse(op, "no tensors", "at least one", where);
  DType dtype = xs[0].dtype(where);
  for (const auto& x : xs) dtype = promote(dtype, x.dtype(where));
  std::vector<Tensor> out;
  for (const auto& x : xs) out.push_back(graph::cast(x, dtype, where));
  return out;
}

/// i64 (rows, columns) of the last two axes, j - i, as a view of x's shape.
Tensor column_minus_row(const Tensor& x, const Line& where) {
  Layout pattern{x.shape(), Dims::filled(x.rank(), 0), 0};
  pattern.strides[x.rank() - 2] = -1;
  pattern.strides[x.rank() - 1] = 1;
  return graph::index(pattern, where);
}

void refuse_vectors(std::string_view op, const Tensor& x, const Line& where) {
  if (x.rank() < 2) ops::refuse(op, "shape " + to_string(x.shape()), "matrices in the last two axes", where);
}

}  // namespace

Tensor ops::joined(std::span<const Tensor> xs, int axis, const Line& where) {
  Shape shape = xs[0].shape();
  shape[axis] = 0;
  for (const auto& x : xs) shape[axis] += x.shape()[axis];
  if (xs.size() == 1) return graph::identity(xs[0], where);
  return make_node(join_op(axis), xs, shape, xs[0].dtype(), where);
}

Ref<const Op> join_op(int axis) { return Ref<const Op>(new ConcatOp(axis)); }

Ref<const Op> ops::join_between_zeros(int axis, std::vector<std::int64_t> begins) {
  return Ref<const Op>(new ConcatOp(axis, std::move(begins)));
}

Tensor concat(const std::vector<Tensor>& xs, int axis, Line where) {
  const std::vector<Tensor> parts = promoted("concat", xs, where);
  const Shape& first = parts[0].shape();
  const int a = ops::axis_of("concat", axis, first, where);
  for (const auto& x : parts) {
    Shape shape = x.shape();
    if (shape.rank() == first.rank()) shape[a] = first[a];
    if (shape != first) {
      ops::refuse("concat", "shapes " + to_string(first) + " and " + to_string(x.shape()),
                  "sizes that agree on all axes but " + std::to_string(a), where,
                  shape.rank() == first.rank() ? "" : "stack() joins along a new axis");
    }
  }
  return ops::joined(parts, a, where);
}

Tensor concat(std::initializer_list<Arg> xs, int axis) { return concat(tensors("concat", xs), axis, first_location(xs)); }

Tensor stack(const std::vector<Tensor>& xs, int axis, Line where) {
  const In frame("stack", where);
  std::vector<Tensor> parts = promoted("stack", xs, where);
  const Shape first = parts[0].shape();
  for (auto& x : parts) {
    if (x.shape() != first) {
      ops::refuse("stack", "shapes " + to_string(first) + " and " + to_string(x.shape()), "equal shapes", where,
                  "concat() joins along an axis that is there");
    }
    x = expand_dims(x, axis);
  }
  return ops::joined(parts, axis < 0 ? axis + first.rank() + 1 : axis, where);
}

Tensor stack(std::initializer_list<Arg> xs, int axis) { return stack(tensors("stack", xs), axis, first_location(xs)); }

std::vector<Tensor> split(Arg x, const std::vector<std::int64_t>& sizes, int axis) {
  const Tensor t = x.tensor("split");
  const int a = ops::axis_of("split", axis, t.shape(), x.loc);
  std::int64_t total = 0;
  Dims shown;
  bool negative = false;
  for (const auto size : sizes) {
    negative = negative || size < 0;
    total += size;
    if (shown.rank() < kMaxRank) shown.push_back(size);
  }
  if (negative || total != t.shape()[a]) {
    ops::refuse("split",
                "sizes " + to_string(shown) + (sizes.size() > kMaxRank ? " …" : "") + " for axis " + std::to_string(a) + " of shape " +
                    to_string(t.shape()),
                "sizes that add up to " + std::to_string(t.shape()[a]), x.loc);
  }
  std::vector<Tensor> out;
  std::int64_t begin = 0;
  for (const auto size : sizes) {
    out.push_back(graph::distinct(ops::part(t, a, begin, size, x.loc), t, x.loc));
    begin += size;
  }
  return out;
}

std::vector<Tensor> split(Arg x, std::int64_t size, int axis) {
  const Tensor t = x.tensor("split");
  const std::int64_t length = t.shape()[ops::axis_of("split", axis, t.shape(), x.loc)];
  if (size < 1) ops::refuse("split", "pieces of " + std::to_string(size), "at least 1", x.loc);
  std::vector<std::int64_t> sizes;
  for (std::int64_t begin = 0; begin < length; begin += size) sizes.push_back(std::min(size, length - begin));
  if (sizes.empty()) sizes.push_back(0);
  return split(x, sizes, axis);
}

std::vector<Tensor> chunk(Arg x, std::int64_t count, int axis) {
  const Tensor t = x.tensor("chunk");
  const std::int64_t length = t.shape()[ops::axis_of("chunk", axis, t.shape(), x.loc)];
  if (count < 1) ops::refuse("chunk", std::to_string(count) + " pieces", "at least 1", x.loc);
  return split(x, std::max<std::int64_t>(1, (length + count - 1) / count), axis);
}

std::vector<Tensor> unbind(Arg x, int axis) {
  const In frame("unbind", x.loc);
  const Tensor t = x.tensor("unbind");
  const int a = ops::axis_of("unbind", axis, t.shape(), x.loc);
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < t.shape()[a]; ++i) out.push_back(select(t, a, i));
  return out;
}

Tensor repeat(Arg x, const Dims& counts) {
  const In frame("repeat", x.loc);
  const Tensor given = x.tensor("repeat");
  Tensor t = given;
  const bool negative = std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 0; });
  if (negative || counts.rank() < t.rank()) {
    ops::refuse("repeat", "counts " + to_string(counts) + " for shape " + to_string(t.shape()), "a count of at least 0 for each axis",
                x.loc);
  }
  while (t.rank() < counts.rank()) t = expand_dims(t, 0);
  for (int i = 0; i < counts.rank(); ++i) {
    if (counts[i] == 1) continue;
    Shape all = t.shape();
    if (__builtin_mul_overflow(all[i], counts[i], &all[i]))
      ops::refuse("repeat", "counts " + to_string(counts), "fewer than 2^60 elements", x.loc);
    if (t.shape()[i] == 1) {
      t = graph::expand(t, all, x.loc);
      continue;
    }
    // Axes before and after may be one each: that leaves room for the new one at any rank.
    const std::int64_t outer = numel(t.shape(), 0, i), line = numel(t.shape(), i, t.rank());
    t = graph::reshape(t, {outer, 1, line}, x.loc);
    t = graph::reshape(graph::expand(t, {outer, counts[i], line}, x.loc), all, x.loc);
  }
  return graph::distinct(t, given, x.loc);
}

Tensor repeat_interleave(Arg x, std::int64_t count, std::optional<int> axis) {
  const In frame("repeat_interleave", x.loc);
  Tensor t = x.tensor("repeat_interleave");
  if (count < 0) ops::refuse("repeat_interleave", "count " + std::to_string(count), "at least 0", x.loc);
  if (!axis) t = graph::reshape(t, {t.numel()}, x.loc);
  const int a = ops::axis_of("repeat_interleave", axis.value_or(0), t.shape(), x.loc);
  Shape all = t.shape();
  if (__builtin_mul_overflow(all[a], count, &all[a]))
    ops::refuse("repeat_interleave", "count " + std::to_string(count), "fewer than 2^60 elements", x.loc);
  // The other axes stay as they are where there is room for one more: they need not lie in order.
  const std::int64_t outer = numel(t.shape(), 0, a + 1), inner = numel(t.shape(), a + 1, t.rank());
  Shape one = t.shape();
  if (t.rank() < kMaxRank) one.insert(a + 1, 1);
  else one = {outer, 1, inner};
  Shape many = one;
  many[t.rank() < kMaxRank ? a + 1 : 1] = count;
  const Tensor repeated = graph::reshape(graph::expand(graph::reshape(t, one, x.loc), many, x.loc), all, x.loc);
  return graph::distinct(repeated, x.tensor("repeat_interleave"), x.loc);
}

Tensor roll(Arg x, std::int64_t shift, int axis) { return roll(x, Dims{shift}, Dims{axis}); }

Tensor roll(Arg x, const Dims& shifts, const Dims& axes) {
  const In frame("roll", x.loc);
  Tensor t = x.tensor("roll");
  if (shifts.rank() != axes.rank())
    ops::refuse("roll", "shifts " + to_string(shifts) + " for axes " + to_string(axes), "one shift for each axis", x.loc);
  for (int i = 0; i < axes.rank(); ++i) {
    const int axis = ops::axis_of("roll", axes[i], t.shape(), x.loc);
    const std::int64_t size = t.shape()[axis], shift = size > 0 ? (shifts[i] % size + size) % size : 0;
    if (shift == 0) continue;
    const Tensor pieces[]{ops::part(t, axis, size - shift, shift, x.loc), ops::part(t, axis, 0, size - shift, x.loc)};
    t = ops::joined(pieces, axis, x.loc);
  }
  return graph::distinct(t, x.tensor("roll"), x.loc);
}

/// A diagonal that no matrix reaches is as good as one further out, and its neighbours can be counted.
std::int64_t within(std::int64_t k) { return std::clamp<std::int64_t>(k, -(std::int64_t{1} << 60), std::int64_t{1} << 60); }

Tensor tril(Arg x, std::int64_t k) {
  const In frame("tril", x.loc);
  const Tensor t = x.tensor("tril");
  refuse_vectors("tril", t, x.loc);
  return where(column_minus_row(t, x.loc) <= within(k), t, graph::scalar(0, t.dtype(), x.loc));
}

Tensor triu(Arg x, std::int64_t k) {
  const In frame("triu", x.loc);
  const Tensor t = x.tensor("triu");
  refuse_vectors("triu", t, x.loc);
  return where(column_minus_row(t, x.loc) >= within(k), t, graph::scalar(0, t.dtype(), x.loc));
}

Tensor diag(Arg x, std::int64_t k) {
  const In frame("diag", x.loc);
  const Tensor t = x.tensor("diag");
  if (t.rank() == 2) return diagonal(t, k);
  if (t.rank() != 1) ops::refuse("diag", "shape " + to_string(t.shape()), "a vector or a matrix", x.loc);
  // Row i holds x[i] (k >= 0), or column j holds x[j]; only the diagonal is kept.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // its square can be counted
  if (k < -kMost || k > kMost) ops::refuse("diag", "diagonal " + std::to_string(k), "at most 2^30 from the main one", x.loc);
  const std::int64_t n = t.numel() + (k < 0 ? -k : k);
  const Tensor line = ops::embed(t, {0}, {1}, {n}, 0, x.loc);
  const Tensor spread = graph::expand(k >= 0 ? expand_dims(line, 1) : expand_dims(line, 0), {n, n}, x.loc);
  return where(column_minus_row(spread, x.loc) == k, spread, graph::scalar(0, t.dtype(), x.loc));
}

std::vector<OpCase> join_cases() {
  std::vector<OpCase> cases;
  using Inputs = std::vector<Tensor>;
  const auto add = [&](std::string op, const std::vector<Shape>& shapes, std::function<Tensor(const Inputs&)> function,
                       std::vector<std::vector<Shape>> more = {}) {
    OpCase one{.op = std::move(op), .function = std::move(function), .inputs = {}, .dtypes = kEverything, .more_shapes = std::move(more)};
    for (const Shape& shape : shapes) one.inputs.push_back({shape});
    cases.push_back(std::move(one));
  };
  add("concat", {{5, 7}, {5, 33}, {5, 1}}, [](const Inputs& x) { return concat(x, -1); },
      {{{0, 3}, {0, 2}, {0, 1}}, {{3, 0}, {3, 4}, {3, 0}}, {{3000}, {17}, {1}}});
  add("concat", {{5, 7}, {3, 7}}, [](const Inputs& x) { return concat(x, 0); });
  add("concat", {{2, 5, 3}, {2, 4, 3}}, [](const Inputs& x) { return concat(x, 1); });
  add("stack", {{5, 7}, {5, 7}}, [](const Inputs& x) { return stack(x, -2); });
  add("stack", {{5}, {5}}, [](const Inputs& x) { return stack(x, -1); }, {{{}, {}}, {{0}, {0}}});
  add("split", {{5, 7}}, [](const Inputs& x) { return split(x[0], 3, 1)[1]; });
  add("chunk", {{5, 7}}, [](const Inputs& x) { return chunk(x[0], 3, 1)[2]; });
  add("unbind", {{5, 7}}, [](const Inputs& x) { return unbind(x[0], -1)[4]; });
  const auto pads = [&](PadMode mode) {
    return [mode](const Inputs& x) { return pad(x[0], {{2, 1}, {1, 3}}, {.mode = mode, .value = 3}); };
  };
  add("pad", {{7, 33}}, pads(PadMode::Constant), {{{0, 3}}, {{1, 1}}, {{3, 3000}}, {{3000, 2}}});
  add("pad", {{7, 33}}, [](const Inputs& x) { return pad(x[0], {{-2, 1}, {1, -3}}); });
  add("pad", {{3, 5, 6, 2}}, [](const Inputs& x) { return pad(x[0], {{0, 0}, {1, 1}, {0, 2}, {0, 0}}); });
  add("pad reflect", {{7, 33}}, pads(PadMode::Reflect), {{{3, 4}}});
  add("pad replicate", {{7, 33}}, pads(PadMode::Replicate), {{{1, 1}}});
  add("pad circular", {{7, 33}}, pads(PadMode::Circular), {{{2, 3}}});
  add("repeat", {{5, 7}}, [](const Inputs& x) { return repeat(x[0], {2, 3, 2}); }, {{{1, 7}}, {{0, 2}}});
  add("repeat_interleave", {{5, 7}}, [](const Inputs& x) { return repeat_interleave(x[0], 3, 1); });
  add("repeat_interleave", {{5, 7}}, [](const Inputs& x) { return repeat_interleave(x[0], 2); });
  add("roll", {{5, 7}}, [](const Inputs& x) { return roll(x[0], {2, -3}, {0, 1}); }, {{{0, 3}}});
  add("tril", {{5, 7}}, [](const Inputs& x) { return tril(x[0], 1); }, {{{2, 7, 3}}});
  add("triu", {{5, 7}}, [](const Inputs& x) { return triu(x[0], -1); }, {{{2, 7, 3}}});
  add("diag", {{7}}, [](const Inputs& x) { return diag(x[0], -2); }, {{{7, 5}}});
  add("diag", {{7}}, [](const Inputs& x) { return diag(x[0], 1); }, {{{7, 5}}});
  return cases;
}

void add_join_ops(OpTable& table) { table.add_class<ConcatOp>("concat", OpTable::kAnyInputs, 0); }

}  // namespace tegula
