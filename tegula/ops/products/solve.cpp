#include "tegula/ops/products/solve.h"

#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "solve";

/// a (…, n, n), b (…, n, m), both f64 or f32.
Tensor eliminated(const Tensor& a, const Tensor& b, const Line& where) {
  const std::int64_t n = a.size(-1);
  if (n == 0) return b * 1.0;  // there is no column to look for a pivot in
  const Tensor rows = reshape(arange(n), {n, 1});  // i64
  // In step k row k gets the greatest pivot of column k, which becomes 1 there and 0 elsewhere.
  const auto step = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    const Tensor& k = x[0];  // ()
    const Tensor sizes = tegula::where(rows >= k, abs(dynamic_slice(carry[0], k, 1, -1)), -1.0);  // (…, n, 1)
    const Tensor greatest = argmax(sizes, -2, Keep::Yes);  // (…, 1, 1)
    const Tensor order = tegula::where(rows == k, greatest, tegula::where(rows == greatest, k, rows));  // (…, n, 1): the two change places
    const Tensor system = take_along_axis(carry[0], order, -2);  // (…, n, n + m)
    const Tensor row = dynamic_slice(system, k, 1, -2), pivot = dynamic_slice(row, k, 1, -1);
    const Tensor one = ops::check_range(kName, cast(pivot != 0.0, i64), 1, 1, "a singular matrix, expected one that can be inverted", where,
                                        "add a small number to its diagonal, or leave equations out that follow from others");
    const Tensor scaled = row / (pivot * cast(one, pivot.dtype()));
    const Tensor factors = dynamic_slice(system, k, 1, -1);
    return Scanned{{tegula::where(rows == k, scaled, system - factors * scaled)}, {}};
  };
  const Scanned solved = scan(step, {concat({a, b}, -1)}, {arange(n)}, {}, where);
  return slice(solved.carry[0], -1, {n, {}});
}

Tensor solved(const Tensor& a, const Tensor& b, const Line& where) {
  return custom_function(
      std::string(kName), [&](const std::vector<Tensor>& in) { return eliminated(in[0], in[1], where); },
      [where](const std::vector<Tensor>& in, const Tensor& x, const Tensor& dx) {
        const Tensor db = solved(transpose(in[0]), dx, where);
        return std::vector<Tensor>{-matmul(db, transpose(x)), db};
      },
      {a, b}, where);
}

}  // namespace

Tensor solve(Arg of_a, Arg of_b) {
  const In frame(kName, of_a.loc);
  const Tensor a = of_a.tensor(kName), b = of_b.tensor(kName);
  const Shape &s = a.shape(), &t = b.shape();
  const bool vectors = t.rank() + 1 == s.rank();
  bool fits = s.rank() >= 2 && s.back() == s[s.rank() - 2] && (vectors || t.rank() == s.rank());
  for (int i = 0; fits && i + 1 < s.rank(); ++i) fits = s[i] == t[i];
  if (!fits) ops::refuse(kName, "shapes " + to_string(s) + " and " + to_string(t), "(…, n, n), and (…, n, m) or (…, n)", of_a.loc);
  if (!is_float(a.dtype()) || !is_float(b.dtype()))
    ops::refuse(kName, std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())), "float dtypes", of_a.loc);
  const DType dtype = a.dtype() == f64 || b.dtype() == f64 ? f64 : f32;
  const Tensor right = cast(b, dtype), x = solved(cast(a, dtype), vectors ? unsqueeze(right, -1) : right, of_a.loc);
  return cast(vectors ? squeeze(x, -1) : x, dtype == f64 ? f64 : a.dtype() == b.dtype() ? a.dtype() : f32);
}

Tensor inverse(Arg of_a) {
  const In frame("inverse", of_a.loc);
  const Tensor a = of_a.tensor("inverse");
  const Shape& shape = a.shape();
  if (shape.rank() < 2 || shape.back() != shape[shape.rank() - 2])
    ops::refuse("inverse", "shape " + to_string(shape), "(…, n, n)", of_a.loc);
  if (!is_float(a.dtype())) ops::refuse("inverse", std::string(name(a.dtype())), "a float dtype", of_a.loc);
  return solve(a, expand(eye(shape.back(), std::nullopt, a.dtype()), shape));
}

}  // namespace tegula
