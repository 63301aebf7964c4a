// Convolution at places that an input moves (Dai et al., "Deformable convolutional networks", 2017).

#include "tegula/onnx/ops/common.h"
#include "tegula/onnx/ops/window.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// x (N, C, H, W) at rows y and columns z (N, P): (N, C, P), between the four pixels around each place, 0 outside.
Tensor between_pixels(const Tensor& x, const Tensor& y, const Tensor& z) {
  const std::int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
  const Tensor pixels = reshape(permute(x, {0, 2, 3, 1}), {n * h * w, c});
  const Tensor image = iota(y.shape(), 0) * (h * w), top = floor(y), left = floor(z);
  Tensor out;
  for (const int down : {0, 1}) {
    for (const int right : {0, 1}) {
      const Tensor row = top + down, column = left + right;
      const Tensor is_inside = row >= 0.0 && row < static_cast<double>(h) && column >= 0.0 && column < static_cast<double>(w);
      const Tensor place = where(is_inside, cast(row, i64) * w + cast(column, i64), 0) + image;
      const Tensor weight = where(is_inside, (1 - abs(y - row)) * (1 - abs(z - column)), 0.0);
      const Tensor part = take(pixels, place, 0) * unsqueeze(weight, -1);  // (N, P, C)
      out = out.defined() ? out + part : part;
    }
  }
  return transpose(out, 1, 2);
}

Results convolved(const Call& call) {
  const Tensor x = call[0], weight = call[1], offset = call[2];
  if (x.rank() != 4 || weight.rank() != 4) call.refuse("shape " + to_string(x.shape()), "(N, C, H, W)");
  const NodeWindow window = window_of(call, x.shape(), {weight.size(2), weight.size(3)});
  const std::int64_t n = x.size(0), c = x.size(1), groups = call.integer("group", 1), sets = call.integer("offset_group", 1);
  const std::int64_t taps = weight.size(2) * weight.size(3), rows = positions(window, 0, x.size(2), false),
                     columns = positions(window, 1, x.size(3), false);
  const std::int64_t places = rows * columns;
  if (sets < 1 || groups < 1 || c % sets != 0 || c % groups != 0 || offset.shape() != Shape{n, sets * taps * 2, rows, columns})
    call.refuse("offsets of shape " + to_string(offset.shape()), to_string(Shape{n, sets * taps * 2, rows, columns}));
  const Tensor moves = reshape(offset, {n, sets, taps, 2, places});
  std::vector<Tensor> parts;
  for (std::int64_t s = 0; s < sets; ++s) {
    const Tensor own = slice(x, 1, {s * c / sets, (s + 1) * c / sets});
    std::vector<Tensor> columns_of;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const Tensor move = select(select(moves, 1, s), 1, tap);  // (N, 2, P)
      const auto base = [&](int axis, std::int64_t at) {
        const Tensor step = cast(iota({rows, columns}, axis), x.dtype()) * static_cast<double>(window.stride[axis]);
        return reshape(step + static_cast<double>(at * window.dilation[axis] - window.low[axis]), {places});
      };
      const Tensor y = select(move, 1, 0) + base(0, tap / weight.size(3)), z = select(move, 1, 1) + base(1, tap % weight.size(3));
      Tensor value = between_pixels(own, y, z);
      if (call.has(4)) value = value * unsqueeze(select(reshape(call[4], {n, sets * taps, places}), 1, s * taps + tap), 1);
      columns_of.push_back(value);
    }
    parts.push_back(stack(columns_of, 2));  // (N, C / sets, taps, P)
  }
  const Tensor all = reshape(concat(parts, 1), {n, groups, c / groups * taps, places});
  const Tensor product = matmul(reshape(weight, {groups, weight.size(0) / groups, c / groups * taps}), all);
  const Tensor y = reshape(product, {n, weight.size(0), rows, columns});
  return call.has(3) ? y + along(call[3], 1, 4) : y;
}

const Operator kOperators[] = {
    {"DeformConv", [](Call& c) -> Results { return convolved(c); }, "dilations group kernel_shape offset_group pads strides"},
};

}  // namespace

Operators deformable_operators() { return kOperators; }

}  // namespace tegula::onnx
