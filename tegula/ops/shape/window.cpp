#include "tegula/ops/shape/window.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"

namespace tegula {

Dims PerAxis::expand(int count, std::int64_t least, std::string_view op, std::string_view what, const Line& where) const {
  Dims out = values_.rank() == 1 ? Dims::filled(count, values_[0]) : values_;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // products with sizes that exist fit
  const bool fits = out.rank() == count && std::all_of(out.begin(), out.end(), [&](std::int64_t v) { return v >= least && v < kMost; });
  if (!fits) {
    throw Error({.op = std::string(op),
                 .got = std::string(what) + " " + to_string(values_),
                 .expected = "one number of at least " + std::to_string(least) + " and below 2^31, or one for each of " +
                             std::to_string(count) + " spatial axes",
                 .where = origin_at(where).where});
  }
  return out;
}

std::int64_t Window::output(int axis, std::int64_t input) const {
  const std::int64_t room = input + low[axis] + high[axis] - dilation[axis] * (size[axis] - 1) - 1;
  if (room < 0) return 0;
  std::int64_t last = ceil ? (room + stride[axis] - 1) / stride[axis] : room / stride[axis];
  if (ceil && last * stride[axis] >= input + low[axis]) --last;
  return last + 1;
}

void Window::attributes(Attributes& a) {
  a("window", size);
  a("stride", stride);
  a("dilation", dilation);
  a("low", low);
  a("high", high);
  if (!a.assigns()) return;
  for (const Dims* one : {&stride, &dilation, &low, &high}) a.require(one->rank() == size.rank(), "window");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // as PerAxis::expand says
  for (const Dims* one : {&size, &stride, &dilation})
    a.require(std::ranges::all_of(*one, [](std::int64_t v) { return v >= 0 && v < kMost; }), "window");
  for (const Dims* one : {&stride, &dilation}) a.require(std::ranges::all_of(*one, [](std::int64_t v) { return v > 0; }), "stride");
  for (const Dims* one : {&low, &high}) a.require(std::ranges::all_of(*one, [](std::int64_t v) { return v > -kMost && v < kMost; }), "low");
}

Window make_window(const Dims& input, const Dims& size, const PerAxis& stride, const Padding& padding, const PerAxis& dilation,
                   std::string_view op, const Line& where) {
  const int axes = input.rank();
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // as PerAxis::expand says: its product with another size can be counted
  std::int64_t elements = 1;
  for (const std::int64_t one : size) {
    elements *= one;
    if (elements <= kMost) continue;
    throw Error({.op = std::string(op),
                 .got = "window " + to_string(size),
                 .expected = "a window of at most 2^31 elements",
                 .where = origin_at(where).where});
  }
  Window window{size, stride.expand(axes, 1, op, "stride", where), dilation.expand(axes, 1, op, "dilation", where),
                padding.low().expand(axes, 0, op, "padding", where), padding.high().expand(axes, 0, op, "padding", where)};
  if (padding.rule() != PaddingRule::Same) return window;
  for (int i = 0; i < axes; ++i) {
    const std::int64_t outputs = (input[i] + window.stride[i] - 1) / window.stride[i];
    const std::int64_t needed = (outputs - 1) * window.stride[i] + window.dilation[i] * (size[i] - 1) + 1 - input[i];
    window.low[i] = std::max<std::int64_t>(needed, 0) / 2;
    window.high[i] = std::max<std::int64_t>(needed, 0) - window.low[i];
  }
  return window;
}

}  // namespace tegula
