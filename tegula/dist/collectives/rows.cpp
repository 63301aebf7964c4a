#include "tegula/dist/collectives/rows.h"

#include "tegula/ops/creation.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {

Tensor rows_of(const Tensor& x, std::int64_t n, std::int64_t part, const Line& where) {
  const std::int64_t missing = part * n - x.numel();
  Tensor flat = flatten(Arg(x, where));
  if (missing > 0) flat = concat({flat, zeros({missing}, x.dtype(), where)}, 0, where);
  return reshape(Arg(flat, where), {n, part});
}

Tensor rows_of(const Tensor& x, const Group& group, const Line& where) {
  return rows_of(x, group.size(), (x.numel() + group.size() - 1) / group.size(), where);
}

Tensor from_rows(const Tensor& rows, const Shape& shape, const Line& where) {
  const Tensor flat = flatten(Arg(rows, where));
  const Tensor cut = flat.numel() == numel(shape) ? flat : slice(Arg(flat, where), 0, {0, numel(shape)});
  return reshape(Arg(cut, where), shape);
}

}  // namespace tegula::dist
