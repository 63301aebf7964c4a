#include "tegula/dist/collectives/narrow_exchange.h"

#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/rows.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/e4m3.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

constexpr std::int64_t kBlock = 128;  // numbers that share a factor: less than 1 % of the bytes

/// The rounding error of x; 0 where x is not finite, since nothing can be given back there.
Tensor lost(const Tensor& x, const Tensor& rounded, const Line& where) {
  const Tensor difference = Arg(x, where) - rounded;
  return tegula::where(isfinite(Arg(difference, where)), difference, zeros(x.shape(), f32, where));
}

/// A sum of summands (n, part) that travel as codes, part a multiple of kBlock: (1, part), and the rounding errors (n, part).
Fp8Sum scattered(const Tensor& own, const Group& group, const Line& where) {
  const Tensor codes = pack_e4m3(Arg(own, where), kBlock);
  const Tensor mine = unpack_e4m3(Arg(all_to_all(Arg(codes, where), group), where), kBlock);  // row r is rank r's
  return {sum(Arg(mine, where), {0}, Keep::Yes), lost(own, unpack_e4m3(Arg(codes, where), kBlock), where)};
}

std::int64_t in_blocks(std::int64_t k) { return (k + kBlock - 1) / kBlock * kBlock; }

}  // namespace

Tensor reduce_scatter_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const Line& where) {
  const std::int64_t n = group.size();
  Shape parts = x.shape();  // (n, k, …)
  parts[0] /= n;
  parts.insert(0, n);
  const Tensor mine = reshape(Arg(all_to_all(Arg(cast(Arg(x, where), bf16), where), group), where), parts);  // the r-th is rank r's
  const Tensor sums = sum(Arg(cast(Arg(mine, where), f32), where), {0});
  return reduction == Reduction::Mean ? sums / static_cast<double>(n) : sums;
}

Tensor all_reduce_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const Line& where) {
  const std::int64_t n = group.size(), part = (x.numel() + n - 1) / n;
  const Tensor mine = reduce_scatter_in_bf16(rows_of(x, n, part, where), group, reduction, where);  // (1, part)
  const Tensor all = all_gather(Arg(cast(Arg(mine, where), bf16), where), group);  // (n, part)
  return cast(Arg(from_rows(all, x.shape(), where), where), x.dtype());
}

Fp8Sum reduce_scatter_in_fp8(const Tensor& x, const Group& group, const Line& where) {
  const std::int64_t n = group.size(), k = x.size(-1), missing = in_blocks(k) - k;
  if (n == 1 || k == 0) return {slice(Arg(x, where), 0, {0, 1}), zeros(x.shape(), f32, where)};
  const Tensor own = missing > 0 ? concat({x, zeros({n, missing}, f32, where)}, 1, where) : x;
  const auto [sum, left] = scattered(own, group, where);
  const auto cut = [&](const Tensor& rows) { return slice(Arg(rows, where), 1, {0, k}); };
  return {cut(sum), cut(left)};
}

Fp8Sum all_reduce_in_fp8(const Tensor& x, const Group& group, const Line& where) {
  const std::int64_t n = group.size(), k = x.numel(), part = in_blocks((k + n - 1) / n);
  if (n == 1 || k == 0) return {x, zeros(x.shape(), f32, where)};
  const auto [sums, left] = scattered(rows_of(x, n, part, where), group, where);
  const Tensor sum_codes = pack_e4m3(Arg(sums, where), kBlock);  // (1, part)
  const Tensor all = unpack_e4m3(Arg(all_gather(Arg(sum_codes, where), group), where), kBlock);  // (n, part)

  const Tensor left_of_sum = lost(sums, unpack_e4m3(Arg(sum_codes, where), kBlock), where);
  const std::int64_t r = group.rank();
  const auto rows = [&, &left = left](std::int64_t begin, std::int64_t end) { return slice(Arg(left, where), 0, {begin, end}); };
  const Tensor all_left = concat({rows(0, r), rows(r, r + 1) + left_of_sum, rows(r + 1, n)}, 0, where);
  return {from_rows(all, x.shape(), where), from_rows(all_left, x.shape(), where)};
}

}  // namespace tegula::dist
