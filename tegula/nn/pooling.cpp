#include "tegula/nn/pooling.h"

#include "tegula/graph/frame.h"
#include "tegula/ops/shape/image_axes.h"

namespace tegula::nn {

template <int Axes>
Tensor MaxPool<Axes>::operator()(Arg x) const {
  constexpr std::string_view names[] = {"MaxPool1d", "MaxPool2d", "MaxPool3d"};
  In frame(names[Axes - 1], x.loc);
  if constexpr (Axes == 1) return max_pool1d(x, kernel_size, options);
  if constexpr (Axes == 2) return max_pool2d(x, kernel_size, options);
  if constexpr (Axes == 3) return max_pool3d(x, kernel_size, options);
}

template <int Axes>
Tensor AvgPool<Axes>::operator()(Arg x) const {
  constexpr std::string_view names[] = {"AvgPool1d", "AvgPool2d", "AvgPool3d"};
  In frame(names[Axes - 1], x.loc);
  if constexpr (Axes == 1) return avg_pool1d(x, kernel_size, options);
  if constexpr (Axes == 2) return avg_pool2d(x, kernel_size, options);
  if constexpr (Axes == 3) return avg_pool3d(x, kernel_size, options);
}

template <int Axes>
Tensor AdaptiveAvgPool<Axes>::operator()(Arg x) const {
  constexpr std::string_view names[] = {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"};
  In frame(names[Axes - 1], x.loc);
  const Arg input(ops::channels_first(x.tensor(names[Axes - 1]), Axes, layout, x.loc), x.loc);
  if constexpr (Axes == 1) return ops::channels_as(adaptive_avg_pool1d(input, output_size), Axes, layout, x.loc);
  if constexpr (Axes == 2) return ops::channels_as(adaptive_avg_pool2d(input, output_size), Axes, layout, x.loc);
  if constexpr (Axes == 3) return ops::channels_as(adaptive_avg_pool3d(input, output_size), Axes, layout, x.loc);
}

template <int Axes>
Tensor AdaptiveMaxPool<Axes>::operator()(Arg x) const {
  constexpr std::string_view names[] = {"AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"};
  In frame(names[Axes - 1], x.loc);
  const Arg input(ops::channels_first(x.tensor(names[Axes - 1]), Axes, layout, x.loc), x.loc);
  if constexpr (Axes == 1) return ops::channels_as(adaptive_max_pool1d(input, output_size), Axes, layout, x.loc);
  if constexpr (Axes == 2) return ops::channels_as(adaptive_max_pool2d(input, output_size), Axes, layout, x.loc);
  if constexpr (Axes == 3) return ops::channels_as(adaptive_max_pool3d(input, output_size), Axes, layout, x.loc);
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;

}  // namespace tegula::nn
