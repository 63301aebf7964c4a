#include "tegula/functional/derivatives.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/functional/batch.h"
#include "tegula/graph/autodiff/vjp_parts.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

void check_float(std::string_view op, const Tensor& y, const Line& where) {
  if (!is_float(y.dtype(where))) ops::refuse(op, "an output of dtype " + std::string(name(y.dtype())), "a float dtype", where);
}

Shape joined(const Shape& front, const Shape& back, const Line& where) {
  if (front.rank() + back.rank() > kMaxRank) {
    ops::refuse("jacobian", "an output of shape " + to_string(front) + " by a tensor of shape " + to_string(back),
                "at most " + std::to_string(kMaxRank) + " axes together", where, "reshape one of them");
  }
  Shape out = front;
  for (const std::int64_t size : back) out.push_back(size);
  return out;
}

/// f of the unit vectors of this shape, one after another along axis 0 of the results.
std::vector<Tensor> of_unit_vectors(const Shape& shape, DType dtype, const std::function<std::vector<Tensor>(const Tensor&)>& f,
                                    const Line& where) {
  const std::int64_t count = numel(shape);
  functional::Batch batch(count, true, where);
  std::vector<Tensor> results;
  {
    const Trace trace(where, Trace::OfBody{});
    const Tensor unit = make_node(leaf_op(), {}, shape, dtype, where);
    Shape all = shape;
    all.insert(0, count);
    batch.set(unit, {graph::reshape(eye(count, std::nullopt, dtype), all, where), true});
    results = f(unit);
  }
  for (Tensor& result : results) result = batch.spread(batch.values(std::span(&result, 1))[0]);
  return results;
}

/// vjp, where xs that are not reached get zeros also if none is.
std::vector<Tensor> pulled(const std::vector<Tensor>& ys, const std::vector<Tensor>& dys, const std::vector<Wrt>& xs, const Line& where) {
  std::vector<Tensor> out = vjp_parts(ys, dys, xs, where);
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!out[i].defined()) out[i] = graph::full(xs[i].tensor().shape(), 0.0, xs[i].tensor().dtype(), where);
  return out;
}

/// Says if xs of which none is reached are an Error, as they are to grad, or have derivatives of 0.
enum class Unreached : std::uint8_t { Refuse, Zero };

std::vector<Tensor> along(const std::vector<Tensor>& ys, const WrtList& xs, const std::vector<Tensor>& vs, Unreached unreached,
                          const Line& where) {
  // Vectors whose values do not matter: what is computed from them is linear. Ones, because zeros absorb NaN (autodiff/absorb.h).
  std::vector<Tensor> us;
  std::vector<Wrt> wrt;
  for (const Tensor& y : ys) {
    us.push_back(graph::identity(graph::full(y.shape(), 1.0, y.dtype(), where), where));
    wrt.emplace_back(us.back());
  }
  return pulled(unreached == Unreached::Zero ? pulled(ys, us, xs.list(), where) : vjp(ys, us, xs, where), vs, wrt, where);
}

std::vector<Tensor> jacobians(const Tensor& y, const WrtList& xs, JacobianBy by, Unreached unreached, const Line& where) {
  check_float("jacobian", y, where);
  std::int64_t columns = 0;
  std::vector<Shape> shapes;
  for (const Wrt& x : xs.list()) {
    columns += x.tensor().numel();
    shapes.push_back(joined(y.shape(), x.tensor().shape(), where));
  }
  std::vector<Tensor> out;
  if (by == JacobianBy::Rows || (by == JacobianBy::Fewer && y.numel() <= columns)) {
    const auto row = [&](const Tensor& unit) {
      return unreached == Unreached::Zero ? pulled({y}, {unit}, xs.list(), where) : vjp({y}, {unit}, xs, where);
    };
    for (const Tensor& rows : of_unit_vectors(y.shape(), y.dtype(), row, where))
      out.push_back(graph::cast(graph::reshape(rows, shapes[out.size()], where), y.dtype(), where));
    return out;
  }
  for (const Wrt& x : xs.list()) {
    const auto column = [&](const Tensor& unit) { return along({y}, {x}, {unit}, unreached, where); };
    const Tensor columns_of_x = of_unit_vectors(x.tensor().shape(), x.tensor().dtype(), column, where)[0];
    out.push_back(graph::reshape(movedim(columns_of_x, 0, -1), shapes[out.size()], where));
  }
  return out;
}

}  // namespace

std::vector<Tensor> jvp(const std::vector<Tensor>& ys, const WrtList& xs, const std::vector<Tensor>& vs, Line where) {
  const In frame("jvp", where);
  const auto& list = xs.list();
  if (vs.size() != list.size())
    ops::refuse("jvp", std::to_string(vs.size()) + " vectors for " + std::to_string(list.size()) + " xs", "one for each", where);
  for (const Tensor& y : ys) check_float("jvp", y, where);
  std::vector<Tensor> own;
  for (std::size_t i = 0; i < vs.size(); ++i) {
    const Tensor& x = list[i].tensor();
    if (vs[i].shape(where) != x.shape() || !is_float(vs[i].dtype()) || !is_float(x.dtype())) {
      ops::refuse("jvp",
                  "a vector " + std::string(name(vs[i].dtype())) + to_string(vs[i].shape()) + " for an x " + std::string(name(x.dtype())) +
                      to_string(x.shape()),
                  "two of one shape, of float dtypes", where);
    }
    own.push_back(graph::cast(vs[i], x.dtype(), where));
  }
  return along(ys, xs, own, Unreached::Refuse, where);
}

Tensor jvp(const Tensor& y, const Wrt& x, const Tensor& v, Line where) { return jvp(std::vector{y}, WrtList{x}, {v}, where)[0]; }

std::vector<Tensor> jacobian(const Tensor& y, const WrtList& xs, JacobianBy by, Line where) {
  const In frame("jacobian", where);
  return jacobians(y, xs, by, Unreached::Refuse, where);
}

Tensor hessian(const Tensor& y, const Wrt& x, Line where) {
  const In frame("hessian", where);
  return jacobians(grad(y, WrtList{x}, where)[0], {x}, JacobianBy::Fewer, Unreached::Zero, where)[0];
}

std::vector<std::vector<Tensor>> hessian(const Tensor& y, const WrtList& xs, Line where) {
  const In frame("hessian", where);
  std::vector<std::vector<Tensor>> out;
  for (const Tensor& g : grad(y, xs, where)) out.push_back(jacobians(g, xs, JacobianBy::Fewer, Unreached::Zero, where));
  return out;
}

}  // namespace tegula
