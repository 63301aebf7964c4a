#include "tegula/ops/linalg/shapes.h"

#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/builder.h"

namespace tegula::ops {
namespace {

/// Inputs (x, which): x, if `which` is below zero everywhere, else an Error that names it.
class CheckMatricesOp final : public ElementwiseOp {
 public:
  CheckMatricesOp(std::string_view op, std::string_view complaint, std::string_view advice, bool batch)
      : op_(op),
        complaint_(complaint),
        advice_(advice),
        batch_(batch) {}
  std::string_view name() const override { return "check_matrices"; }
  std::string_view check_name() const override { return op_; }
  bool has_check() const override { return true; }
  void attributes(Attributes& a) override { a("of", op_), a("complaint", complaint_), a("advice", advice_), a("batch", batch_); }
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType) const override {
    builder.check(x[1] < 0, x[1], 0);
    return x[0];
  }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::string check_message(std::int64_t, std::int64_t value) const override {
    return complaint_ + (batch_ ? ", number " + std::to_string(value) + " of the batch" : "");
  }
  std::string check_advice() const override { return advice_; }
  /// Gradients may be computed without the result.
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {make_node(y.op_ref(), {dy, Tensor(y.inputs()[1])}, dy.shape(), dy.dtype(), y.origin().where), Tensor()};
  }

 private:
  std::string op_, complaint_, advice_;
  bool batch_;
};

Shape front_of(const Shape& shape) {
  Shape out;
  for (int i = 0; i + 2 < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}

/// The axes that a and b have in common when the shorter is repeated, or nothing.
bool broadcasts(const Shape& a, const Shape& b, Shape& out) {
  const int rank = std::max(a.rank(), b.rank());
  out = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t x = i < rank - a.rank() ? 1 : a[i - (rank - a.rank())], y = i < rank - b.rank() ? 1 : b[i - (rank - b.rank())];
    if (x != y && x != 1 && y != 1) return false;
    out[i] = x == 1 ? y : x;
  }
  return true;
}

Tensor with_front(const Tensor& x, Shape front) {
  front.push_back(x.size(-2)), front.push_back(x.size(-1));
  return front == x.shape() ? x : graph::expand(x, front);
}

}  // namespace

Tensor Matrix::back(const Tensor& result) const { return result.dtype() == given ? result : graph::cast(result, given); }

Matrix matrix_of(std::string_view op, const Arg& a, Extents2 extents) {
  const Tensor x = a.tensor(op);
  const Shape& s = x.shape();
  if (s.rank() < 2 || (extents == Extents2::Square && s.back() != s[s.rank() - 2]))
    refuse(op, "shape " + to_string(s), extents == Extents2::Square ? "(…, n, n)" : "(…, m, n)", a.loc);
  if (!is_float(x.dtype())) refuse(op, std::string(name(x.dtype())), "a float dtype", a.loc);
  return {x.dtype() == f64 ? x : graph::cast(x, f32, a.loc), x.dtype(), s[s.rank() - 2], s.back()};
}

Tensor System::back(const Tensor& result) const {
  const Tensor x = vectors ? squeeze(result, -1) : result;
  return x.dtype() == given ? x : graph::cast(x, given);
}

System system_of(std::string_view op, const Arg& of_a, const Arg& of_b, Extents2 extents) {
  const Tensor a = of_a.tensor(op), b = of_b.tensor(op);
  const Shape &s = a.shape(), &t = b.shape();
  const bool square = extents == Extents2::Square;
  const bool vectors = t.rank() + 1 == s.rank();
  const int row_axis = t.rank() - (vectors ? 1 : 2);
  bool fits = s.rank() >= 2 && row_axis >= 0 && (!square || s.back() == s[s.rank() - 2]) && t[row_axis] == s[s.rank() - 2];
  if (!is_float(a.dtype()) || !is_float(b.dtype()))
    refuse(op, std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())), "float dtypes", of_a.loc);
  const DType dtype = a.dtype() == f64 || b.dtype() == f64 ? f64 : f32;
  Shape front;
  const Tensor right = fits && vectors ? unsqueeze(b, -1) : b;
  fits = fits && broadcasts(front_of(s), front_of(right.shape()), front);
  if (!fits)
    refuse(op, "shapes " + to_string(s) + " and " + to_string(t),
           square ? "(…, n, n), and (…, n, m) or (…, n)" : "(…, m, n), and (…, m, k) or (…, m)", of_a.loc);
  return {with_front(graph::cast(a, dtype, of_a.loc), front), with_front(graph::cast(right, dtype, of_a.loc), front), vectors,
          dtype == f64             ? f64
          : a.dtype() == b.dtype() ? a.dtype()
                                   : f32};
}

Tensor checked(std::string_view op, const Tensor& x, const Tensor& wrong, std::string_view complaint, std::string_view advice,
               const Line& where) {
  const std::int64_t batch = numel(wrong.shape());
  if (batch == 0 || numel(x.shape()) == 0) return x;
  Shape named = wrong.shape();
  while (named.rank() < x.rank()) named.push_back(1);
  const Tensor which = reshape(tegula::where(wrong, reshape(tegula::arange(batch), wrong.shape()), std::int64_t{-1}), named);  // i64
  const Ref<const Op> op_ref(new CheckMatricesOp(op, complaint, advice, wrong.rank() > 0));
  return make_node(op_ref, {x, graph::expand(which, x.shape(), where)}, x.shape(), x.dtype(), where);
}

Tensor ended(std::string_view op, const Tensor& x, const Tensor& state, const Line& where) {
  return checked(op, x, state != 0, "a matrix for which the iteration came to no end", "scale it, or compute in f64", where);
}

}  // namespace tegula::ops

namespace tegula {

void add_check_matrices_ops(OpTable& table) { table.add_class<ops::CheckMatricesOp>("check_matrices", 2, "", "", "", false); }

}  // namespace tegula
