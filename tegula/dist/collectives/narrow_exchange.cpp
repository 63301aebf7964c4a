#include "tegula/dist/collectives/narrow_exchange.h"

#include "tegula/dist/collectives/collectives.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {

Tensor all_reduce_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const std::source_location& where) {
  const std::int64_t n = group.size(), part = (x.numel() + n - 1) / n, missing = part * n - x.numel();
  const Tensor rounded = cast(Arg(x, where), bf16);
  const Tensor padded = missing > 0 ? concat({rounded, zeros({missing}, bf16, where)}, 0, where) : rounded;  // (n·part)
  const Tensor mine = reshape(Arg(all_to_all(Arg(padded, where), group), where), {n, part});  // row r is rank r's
  const Tensor sums = sum(Arg(cast(Arg(mine, where), f32), where), {0});  // (part)
  const Tensor scaled = reduction == Reduction::Mean ? sums / static_cast<double>(n) : sums;
  const Tensor all = all_gather(Arg(cast(Arg(scaled, where), bf16), where), group);  // (n·part)
  return cast(Arg(slice(Arg(all, where), 0, {0, x.numel()}), where), x.dtype());
}

}  // namespace tegula::dist
