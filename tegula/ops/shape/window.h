#pragma once
// Windows that slide over spatial axes: what convolution and pooling share.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "tegula/core/line.h"
#include "tegula/graph/attributes.h"

namespace tegula {

/// One number for every spatial axis, or one for each: 2, {2, 1}.
class PerAxis {
 public:
  PerAxis() = default;  // not given
  PerAxis(std::int64_t every) : values_{every} {}
  PerAxis(std::initializer_list<std::int64_t> values) : values_(values) {}
  PerAxis(const Dims& values) : values_(values) {}

  bool given() const { return !values_.empty(); }
  int count() const { return values_.rank(); }  // of numbers: one may stand for every axis
  /// One value for each of `count` axes. Throws Error in the name of `op`: as many values as axes, each at least `least`.
  Dims expand(int count, std::int64_t least, std::string_view op, std::string_view what, const Line& where) const;

 private:
  Dims values_;
};

/// Same is TensorFlow's rule: the output has ceil(input / stride) elements, an odd total of padding has its extra element at the end.
/// Valid is no padding.
enum class PaddingRule : std::uint8_t { Explicit, Same, Valid };
inline constexpr PaddingRule Same = PaddingRule::Same, Valid = PaddingRule::Valid;

/// Same, Valid, a number for all sides, one for each axis ({1, 2}), or low and high sides apart (Padding::sides).
class Padding {
 public:
  Padding() : Padding(0) {}
  Padding(std::int64_t every) : low_(every), high_(every) {}
  Padding(std::initializer_list<std::int64_t> values) : low_(values), high_(values) {}
  Padding(const Dims& values) : low_(values), high_(values) {}
  Padding(PaddingRule rule) : rule_(rule), low_(0), high_(0) {}
  static Padding sides(const PerAxis& low, const PerAxis& high) {
    Padding padding;
    padding.low_ = low;
    padding.high_ = high;
    return padding;
  }

  PaddingRule rule() const { return rule_; }
  const PerAxis& low() const { return low_; }
  const PerAxis& high() const { return high_; }

 private:
  PaddingRule rule_ = PaddingRule::Explicit;
  PerAxis low_, high_;
};

/// A window with everything decided, one entry for each spatial axis.
struct Window {
  Dims size, stride, dilation, low, high;
  bool ceil = false;  // the last window may begin inside and end outside

  int axes() const { return size.rank(); }
  /// PyTorch's floor((input + low + high - dilation*(size-1) - 1) / stride) + 1, or with ceil for floor, where a last window that would begin
  /// in the padding behind the input is left out. Negative sizes count as 0.
  std::int64_t output(int axis, std::int64_t input) const;
  void attributes(Attributes& a);
};

/// Resolves options against the spatial sizes of an input; throws Error in the name of `op` for zero strides, wrong counts, negative padding.
Window make_window(const Dims& input, const Dims& size, const PerAxis& stride, const Padding& padding, const PerAxis& dilation,
                   std::string_view op, const Line& where);

}  // namespace tegula
