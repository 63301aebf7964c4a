#include "tegula/ops/linalg/matrix_op.h"

#include <algorithm>
#include <array>

#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/host_call.h"
#include "tegula/ops/linalg/gradients.h"
#include "tegula/ops/linalg/small_matrices.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/matrix_buffers.h"

namespace tegula::ops {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;

std::size_t inputs_of(Routine routine) { return routine == Routine::TriangularSolve ? 2 : 1; }

/// Rows and columns of the matrix in an operand of this shape.
bool by_columns(const MatrixRoutine& d) {
  return (d.routine == Routine::LU && !d.transposed) || d.routine == Routine::QR || d.routine == Routine::Eigen ||
         d.routine == Routine::SVD;
}

/// `front` and these two sizes.
Shape with(const Shape& front, std::initializer_list<std::int64_t> sizes) {
  Shape out = front;
  for (const std::int64_t size : sizes) out.push_back(size);
  return out;
}

std::vector<Result> results_of(const MatrixRoutine& d, const Shape& front) {
  const std::int64_t m = d.rows, n = d.columns, k = d.least();
  const Result state{front, i32};
  switch (d.routine) {
    case Routine::LU: return {{with(front, {d.transposed ? m : n, d.transposed ? n : m}), d.dtype}, {with(front, {m}), i64}, state};
    case Routine::Cholesky: return {{with(front, {n, n}), d.dtype}, state};
    case Routine::TriangularSolve: return {{with(front, {n, d.right}), d.dtype}};
    case Routine::QR: return {{with(front, {d.full ? m : k, m}), d.dtype}, {with(front, {n, d.full ? m : k}), d.dtype}};
    case Routine::SymmetricEigen: return {{with(front, {n}), d.dtype}, {with(front, {n, n}), d.dtype}, state};
    case Routine::Eigen: return {{with(front, {n, 2}), d.dtype}, {with(front, {n, n, 2}), d.dtype}, state};
    case Routine::SVD:
      return {{with(front, {d.full ? m : n, m}), d.dtype}, {with(front, {n}), d.dtype}, {with(front, {n, n}), d.dtype}, state};
  }
  return {};
}

/// The last two axes have changed places in memory.
bool lies_transposed(const Layout& layout) {
  if (layout.shape.rank() < 2) return false;
  Layout other = layout;
  const int last = layout.shape.rank() - 1;
  std::swap(other.shape[last], other.shape[last - 1]);
  std::swap(other.strides[last], other.strides[last - 1]);
  return other.is_dense();
}

Shape front_of(const Shape& shape) {
  Shape out;
  for (int i = 0; i + 2 < shape.rank(); ++i) out.push_back(shape[i]);
  return out;
}

}  // namespace

std::string_view MatrixOp::name_of(Routine routine) {
  switch (routine) {
    case Routine::LU: return "lu";
    case Routine::Cholesky: return "cholesky";
    case Routine::TriangularSolve: return "triangular_solve";
    case Routine::QR: return "qr";
    case Routine::SymmetricEigen: return "eigh";
    case Routine::Eigen: return "eig";
    case Routine::SVD: return "svd";
  }
  return "";
}

MatrixRoutine MatrixOp::of_shapes(std::span<const Shape> inputs) const {
  MatrixRoutine d = form_;
  const Shape& a = inputs[0];
  const std::int64_t last = a[a.rank() - 1], before = a[a.rank() - 2];
  d.rows = by_columns(d) ? last : before, d.columns = by_columns(d) ? before : last;
  d.batch = numel(a, 0, a.rank() - 2);
  if (d.routine == Routine::TriangularSolve) d.right = inputs[1].back();
  return d;
}

void MatrixOp::attributes(Attributes& a) {
  a.told_by_name(form_.routine);
  a("upper", form_.upper), a("transposed", form_.transposed), a("unit", form_.unit), a("full", form_.full);
  const Signature* const node = a.made_for();
  if (!node) return;
  std::vector<Shape> shapes;
  for (const Result& input : node->inputs) shapes.push_back(input.shape);
  a.require(shapes.size() == inputs_of(form_.routine) && shapes[0].rank() >= 2 && (shapes.size() == 1 || shapes[1].rank() >= 1), "upper");
  MatrixRoutine d = of_shapes(shapes);
  d.dtype = node->inputs[0].dtype;
  const bool square = d.routine != Routine::LU && d.routine != Routine::QR && d.routine != Routine::SVD;
  a.require((d.dtype == f32 || d.dtype == f64) && (!square || d.rows == d.columns), "full");
  a.require(d.routine != Routine::SVD || d.rows >= d.columns, "full");
  const Shape front = front_of(shapes[0]);
  a.require(shapes.size() == 1 || node->inputs[1] == Result{with(front, {d.columns, d.right}), d.dtype}, "transposed");
  a.require(node->results == results_of(d, front), "full");
}

runtime::CallDescription MatrixOp::describe(const Setting& setting) const {
  std::vector<Shape> shapes;
  for (const Layout& input : setting.inputs) shapes.push_back(input.shape);
  MatrixRoutine d = of_shapes(shapes);
  d.dtype = setting.dtype;
  if (d.routine == Routine::TriangularSolve && !setting.inputs[0].is_dense()) d.upper = !d.upper, d.transposed = !d.transposed;
  if (d.routine == Routine::SymmetricEigen || d.routine == Routine::Eigen) d.vectors = (setting.unwanted & 2) == 0;
  if (d.routine == Routine::SVD) d.vectors = (setting.unwanted & 5) != 5;
  return d;
}

std::unique_ptr<runtime::Call> MatrixOp::by_host(runtime::Device& device, const Setting& setting) const {
  const runtime::CallDescription description = describe(setting);
  const auto& d = std::get<MatrixRoutine>(description);
  const runtime::MatrixBuffers buffers = runtime::buffers_of(d);
  std::vector<std::size_t> inputs, outputs;
  for (std::size_t i = 0; i < buffers.bytes.size(); ++i)
    (i < buffers.inputs ? inputs : outputs).push_back(buffers.bytes[i] * static_cast<std::size_t>(d.batch));
  return host_call(device, description, inputs, outputs);
}

std::vector<Tensor> MatrixOp::spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape&) const {
  if (inputs.size() > 1) return {};
  const Tensor& a = inputs[0];
  MatrixRoutine d = of_shapes(std::array{a.shape()});
  d.dtype = a.dtype();
  if (d.routine == Routine::LU && !d.transposed) {
    MatrixRoutine by_rows = d;
    by_rows.transposed = true;
    if (!device.takes(by_rows)) return {};
    MatrixRoutine form = form_;
    form.transposed = true;
    auto parts = matrix_routine(form, {transpose(a)}, a.node()->origin().where);
    parts[0] = transpose(parts[0]);
    return parts;
  }
  if (d.routine == Routine::Cholesky && d.full && !device.takes(d)) {
    MatrixRoutine form = form_;
    form.full = false;
    auto parts = matrix_routine(form, {a}, a.node()->origin().where);
    parts[0] = tril(parts[0]);
    return parts;
  }
  if (!suits_tiles(device, d)) return {};
  return by_tiles(form_, a, results_of(d, front_of(a.shape())), a.node()->origin().where);
}

bool MatrixOp::accepts(const runtime::Device&, int index, const Layout& layout) const {
  if (layout.is_dense()) return true;
  return form_.routine == Routine::TriangularSolve && index == 0 && lies_transposed(layout);
}

double MatrixOp::operations(std::span<const Shape> inputs, const Shape&) const { return runtime::work_of(of_shapes(inputs)).operations; }

void MatrixOp::reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                         const Shape&) const {
  references(x, shapes, std::span(&y, 1));
}

/// The CPU's own call, in f64.
void MatrixOp::references(std::span<const std::span<const double>> x, std::span<const Shape> shapes,
                          std::span<const std::span<double>> ys) const {
  MatrixRoutine d = of_shapes(shapes);
  d.dtype = f64;
  const auto call = runtime::cpu().make(d);
  const std::vector<Result> results = results_of(d, front_of(shapes[0]));
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> buffers;
  for (const auto& input : x) buffers.push_back(const_cast<double*>(input.data()));
  for (const Result& result : results)
    buffers.push_back(memory.emplace_back(static_cast<std::size_t>(numel(result.shape)) * size_of(result.dtype)).data());
  const Ref<Buffer> scratch = runtime::cpu().allocate(call->scratch_bytes());
  call->run(buffers, {.scratch = scratch->data()});
  const auto copy = [](const auto* from, std::span<double> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(from[i]);
  };
  for (std::size_t k = 0; k < ys.size(); ++k) {
    const void* const from = buffers[x.size() + k];
    if (results[k].dtype == i32) copy(static_cast<const std::int32_t*>(from), ys[k]);
    else if (results[k].dtype == i64) copy(static_cast<const std::int64_t*>(from), ys[k]);
    else copy(static_cast<const double*>(from), ys[k]);
  }
}

std::vector<Tensor> MatrixOp::gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const {
  return gradients(y, std::span(&dy, 1), wanted);
}

std::vector<Tensor> MatrixOp::gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const {
  return matrix_gradients(*this, y, dys, wanted);
}

std::vector<Tensor> matrix_routine(const MatrixRoutine& form, std::initializer_list<Tensor> inputs, const Line& where) {
  const Tensor& a = *inputs.begin();
  MatrixRoutine d = form;
  const Shape& s = a.shape();
  const std::int64_t last = s[s.rank() - 1], before = s[s.rank() - 2];
  d.dtype = a.dtype(), d.rows = by_columns(d) ? last : before, d.columns = by_columns(d) ? before : last;
  if (inputs.size() == 2) d.right = inputs.begin()[1].shape().back();
  const Ref<const Op> op(new MatrixOp(form));
  const std::vector<Result> results = results_of(d, front_of(s));
  if (results.size() == 1) return {make_node(op, inputs, results[0].shape, d.dtype, where)};
  return make_nodes(op, std::span(inputs.begin(), inputs.size()), results, where);
}

}  // namespace tegula::ops

namespace tegula {

void add_matrix_ops(OpTable& table) {
  using runtime::Routine;
  for (const Routine routine :
       {Routine::LU, Routine::Cholesky, Routine::TriangularSolve, Routine::QR, Routine::SymmetricEigen, Routine::Eigen, Routine::SVD}) {
    const std::string name(ops::MatrixOp::name_of(routine));
    if (routine == Routine::TriangularSolve) table.add_class<ops::MatrixOp>(name, 2, ops::MatrixOp::Form{.routine = routine});
    else table.add_several<ops::MatrixOp>(name, 1, ops::MatrixOp::Form{.routine = routine});
  }
}

}  // namespace tegula
