#include "tegula/ops/linalg/gradients.h"

#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/linalg/complex_pairs.h"
#include "tegula/ops/linalg/triangles.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using runtime::Routine;

Tensor turned(const Tensor& x) { return transpose(x); }
Tensor rows(const Tensor& x, std::int64_t begin, std::int64_t end) { return slice(x, -2, {begin, end}); }
Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) { return slice(x, -1, {begin, end}); }
/// X U⁻ᵀ.
Tensor behind_upper(const Tensor& x, const Tensor& u) { return turned(triangular_solve(u, turned(x), {.upper = true})); }
Tensor symmetric(const Tensor& x) { return 0.5 * (x + turned(x)); }
/// 1 / x off the diagonal of matrices, 0 on it.
Tensor reciprocal_off_diagonal(const Tensor& x) {
  const Tensor one = eye(x.size(-1), std::nullopt, boolean);
  return where(one, 0.0, 1.0 / where(one, 1.0, x));
}
Tensor sum_of(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

[[noreturn]] void refuse_full(std::string_view name, const Line& where) {
  refuse(name, "a gradient through a full basis of a tall matrix, part of which any rotation gives as well", "the reduced form", where,
         "leave .full out");
}

Tensor lu_gradient(const Tensor& packed, const Tensor& order, const Tensor& d) {
  const std::int64_t m = packed.size(-2), n = packed.size(-1), k = std::min(m, n);
  const Tensor square = slice(slice(packed, -2, {0, k}), -1, {0, k});
  const Tensor u = triu(rows(packed, 0, k)), dl = tril(columns(d, 0, k), -1), du = triu(rows(d, 0, k));
  const Tensor l = tril(columns(packed, 0, k), -1) + eye(m, k, packed.dtype());
  const Tensor l1 = rows(l, 0, k), u1 = columns(u, 0, k);
  Tensor lower = matmul(turned(l1), rows(dl, 0, k)), upper = matmul(columns(du, 0, k), turned(u1));
  if (m < n) lower = lower - matmul(columns(du, k, n), turned(columns(u, k, n)));
  if (m > n) upper = upper - matmul(turned(rows(l, k, m)), rows(dl, k, m));
  const Tensor core = behind_upper(tril(lower, -1) + triu(upper), u1);
  Tensor all = m < n ? concat({core, columns(du, k, n)}, -1) : core;
  all = triangular_solve(square, all, {.transposed = true, .unit = true});
  if (m > n) all = concat({all, behind_upper(rows(dl, k, m), u1)}, -2);
  return take_along_axis(all, unsqueeze(argsort(order), -1), -2);
}

Tensor cholesky_gradient(const Tensor& l, const Tensor& d) {
  const Tensor core = tril(matmul(turned(l), tril(d)));
  const Tensor halved = core * (1.0 - 0.5 * eye(l.size(-1), std::nullopt, l.dtype()));
  const Tensor left = triangular_solve(l, halved, {.transposed = true});
  return symmetric(turned(triangular_solve(l, turned(left), {.transposed = true})));
}

std::vector<Tensor> triangular_gradients(const MatrixOp& op, const Tensor& t, const Tensor& x, const Tensor& dx,
                                         const std::vector<bool>& wanted) {
  const auto& form = op.form();
  const Tensor db = triangular_solve(t, dx, {.upper = form.upper, .transposed = !form.transposed, .unit = form.unit});
  std::vector<Tensor> out(2);
  if (wanted[0]) {
    const Tensor dt = -(form.transposed ? matmul(x, turned(db)) : matmul(db, turned(x)));
    out[0] = form.upper ? triu(dt, form.unit ? 1 : 0) : tril(dt, form.unit ? -1 : 0);
  }
  if (wanted[1]) out[1] = db;
  return out;
}

Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const std::int64_t n = r.size(-1), k = r.size(-2);
  if (n > k) {
    const Tensor more = columns(r, k, n);
    Tensor through = dq, second;
    if (dr.defined()) {
      through = sum_of(dq, matmul(q, matmul(more, turned(columns(dr, k, n)))));
      second = matmul(q, columns(dr, k, n));
    } else {
      second = zeros_like(matmul(q, more));
    }
    return concat({qr_gradient(q, columns(r, 0, k), through, dr.defined() ? columns(dr, 0, k) : dr), second}, -1);
  }
  Tensor core;
  if (dr.defined()) core = matmul(r, turned(dr));
  if (dq.defined()) core = core.defined() ? core - matmul(turned(dq), q) : -matmul(turned(dq), q);
  const Tensor mirrored = tril(core) + turned(tril(core, -1));
  return behind_upper(sum_of(dq, matmul(q, mirrored)), r);
}

Tensor eigh_gradient(const Tensor& w, const Tensor& v, const Tensor& dw, const Tensor& dv) {
  Tensor core;
  if (dv.defined()) core = matmul(turned(v), dv) * reciprocal_off_diagonal(unsqueeze(w, -2) - unsqueeze(w, -1));
  if (dw.defined()) core = sum_of(core, eye(w.size(-1), std::nullopt, w.dtype()) * unsqueeze(dw, -2));
  return symmetric(matmul(matmul(v, core), turned(v)));
}

Tensor svd_gradient(const Tensor& u, const Tensor& s, const Tensor& v, const Tensor& du, const Tensor& ds, const Tensor& dv) {
  const Tensor across = unsqueeze(s, -2), down = unsqueeze(s, -1);
  Tensor core;
  if (ds.defined()) core = eye(s.size(-1), std::nullopt, s.dtype()) * unsqueeze(ds, -2);
  if (du.defined() || dv.defined()) {
    const Tensor apart = reciprocal_off_diagonal((across - down) * (across + down));
    const auto skew = [&](const Tensor& x, const Tensor& dx) {
      const Tensor product = matmul(turned(x), dx);
      return (product - turned(product)) * apart;
    };
    if (du.defined()) core = sum_of(core, skew(u, du) * across);
    if (dv.defined()) core = sum_of(core, down * skew(v, dv));
  }
  Tensor all = matmul(u, core);
  if (du.defined() && u.size(-2) > u.size(-1)) {
    const Tensor scaled = du / across;
    all = all + scaled - matmul(u, matmul(turned(u), scaled));
  }
  return matmul(all, turned(v));
}

/// values (…, n, 2), vectors (…, n, 2, …) as the routine gives them.
Tensor eig_gradient(const Tensor& values, const Tensor& vectors, const Tensor& dvalues, const Tensor& dvectors) {
  const auto of = [](const Tensor& x) { return Pairs{turned(select(x, -1, 0)), turned(select(x, -1, 1))}; };
  const Pairs v = of(vectors), adjoint = v.adjoint();
  const Tensor one = eye(values.size(-2), std::nullopt, values.dtype());
  Pairs core;
  if (dvectors.defined()) {
    const Pairs product = matmul(adjoint, of(dvectors));
    const Tensor along = unsqueeze(diagonal(product.re), -2);
    const Pairs off = product - matmul(adjoint, Pairs{v.re * along, v.im * along});
    const Tensor re = select(values, -1, 0), im = select(values, -1, 1);
    const Pairs apart{unsqueeze(re, -2) - unsqueeze(re, -1) + one, unsqueeze(im, -1) - unsqueeze(im, -2)};  // conjugated
    const Pairs ratio = off / apart;
    core = {ratio.re * (1.0 - one), ratio.im * (1.0 - one)};
  }
  if (dvalues.defined()) {
    const Pairs on{one * unsqueeze(select(dvalues, -1, 0), -2), one * unsqueeze(select(dvalues, -1, 1), -2)};
    core = core.re.defined() ? core + on : on;
  }
  return solve(adjoint, matmul(core, adjoint)).re;
}

}  // namespace

std::vector<Tensor> matrix_gradients(const MatrixOp& op, const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) {
  const auto part = [&](int k) { return graph::part(y, k); };
  const auto d = [&](std::size_t k) { return dys.size() > k ? dys[k] : Tensor(); };
  const auto maybe_turned = [](const Tensor& x) { return x.defined() ? turned(x) : x; };
  const Tensor none;
  switch (op.form().routine) {
    case Routine::LU:
      if (!d(0).defined()) return {none};
      if (op.form().transposed) return {lu_gradient(part(0), part(1), d(0))};
      return {turned(lu_gradient(turned(part(0)), part(1), turned(d(0))))};
    case Routine::Cholesky: return {d(0).defined() ? cholesky_gradient(tril(part(0)), d(0)) : none};
    case Routine::TriangularSolve:
      return triangular_gradients(op, Tensor(y.inputs()[0]), Tensor(Ref<Node>(const_cast<Node*>(&y))), d(0), wanted);
    case Routine::QR: {
      const Tensor q = turned(part(0)), r = triu(turned(part(1)));
      if (!d(0).defined() && !d(1).defined()) return {none};
      if (q.size(-1) > r.size(-1)) refuse_full("qr", y.origin().where);
      return {turned(qr_gradient(q, r, maybe_turned(d(0)), d(1).defined() ? triu(turned(d(1))) : none))};
    }
    case Routine::SymmetricEigen:
      if (!d(0).defined() && !d(1).defined()) return {none};
      return {eigh_gradient(part(0), turned(part(1)), d(0), maybe_turned(d(1)))};
    case Routine::Eigen:
      if (!d(0).defined() && !d(1).defined()) return {none};
      return {turned(eig_gradient(part(0), part(1), d(0), d(1)))};
    case Routine::SVD: {
      if (!d(0).defined() && !d(1).defined() && !d(2).defined()) return {none};
      const Tensor u = turned(part(0));
      if (d(0).defined() && u.size(-1) > part(1).size(-1)) refuse_full("svd", y.origin().where);
      return {turned(svd_gradient(columns(u, 0, part(1).size(-1)), part(1), part(2), maybe_turned(d(0)), d(1), d(2)))};
    }
  }
  return {};
}

}  // namespace tegula::ops
