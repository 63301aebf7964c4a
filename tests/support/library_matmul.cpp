#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/library.h"

namespace tegula::test {

using runtime::Activation;
using runtime::Matmul;

Layout matrix(const Shape& shape, MatrixOrder order, std::int64_t gap, bool broadcast) {
  const int rank = shape.rank();
  Layout layout{shape, Dims::filled(rank, 1)};
  const int inner = order == MatrixOrder::Rows ? rank - 1 : rank - 2, outer = order == MatrixOrder::Rows ? rank - 2 : rank - 1;
  layout.strides[outer] = std::max<std::int64_t>(1, shape[inner] + gap);
  std::int64_t step = layout.strides[outer] * std::max<std::int64_t>(1, shape[outer]);
  for (int axis = rank - 3; axis >= 0; --axis) {
    layout.strides[axis] = broadcast ? 0 : step;
    step *= shape[axis];
  }
  return layout;
}

double reference_activation(double x, Activation activation) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return std::max(x, 0.0);
    case Activation::Gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
    default: return std::tanh(x);
  }
}

void expect_matmul(runtime::Device& device, const Matmul& d, int threads) {
  Tensor a(d.dtype(), d.a.layout), b(d.dtype(), d.b.layout), c(d.dtype(), d.c.layout),
      bias(d.dtype(), Layout::dense({d.c.layout.shape.back()}));
  a.randomize(), b.randomize(), bias.randomize();
  const auto call = device.make(d);
  const int last = d.b.layout.shape.rank() - 1;
  const Layout over_axes{{d.b.layout.shape[last - 1], d.b.layout.shape[last]}, {d.b.layout.strides[last - 1], d.b.layout.strides[last]}};
  Tensor weight = in_blocks(device, b, over_axes, d.b.blocks, threads);
  std::vector<Tensor*> tensors{&a, &weight};
  if (d.bias) tensors.push_back(&bias);
  tensors.push_back(&c);
  ASSERT_TRUE(run_guarded(device, *call, tensors, threads)) << "wrote behind its scratch";
  EXPECT_TRUE(c.untouched_outside());
  const int rank = d.c.layout.shape.rank();
  const std::int64_t depth = d.a.layout.shape[rank - 1];
  double worst = 0;
  c.for_each([&](const Dims& index) {
    double sum = d.bias ? bias({index[rank - 1]}) : 0;
    Dims in_a = index, in_b = index;
    for (std::int64_t k = 0; k < depth; ++k) {
      in_a[rank - 1] = k, in_b[rank - 2] = k;
      sum += a(in_a) * b(in_b);
    }
    const double error = std::abs(c(index) - reference_activation(sum, d.activation));
    worst = std::isnan(error) ? error : std::max(worst, error);
  });
  EXPECT_LE(worst, tolerance(d.dtype(), d.arithmetic, static_cast<double>(depth)))
      << call->describe() << ' ' << to_string(d.a.layout.shape) << to_string(d.a.layout.strides) << ' ' << to_string(d.b.layout.shape)
      << to_string(d.b.layout.strides) << ' ' << to_string(d.c.layout.shape) << to_string(d.c.layout.strides) << " bias " << d.bias
      << " activation " << static_cast<int>(d.activation);
}

Matmul random_matmul(DType dtype, int largest) {
  const bool small = pick(0, 2) == 0;
  const auto size = [&] { return small ? pick(1, 8) : pick(1, largest); };
  const std::int64_t m = size(), n = size(), k = size();
  const int batch_axes = pick(0, 2);
  Shape a, b, c;
  for (int i = 0; i < batch_axes; ++i) {
    const int extent = pick(1, 3);
    a.push_back(extent), b.push_back(extent), c.push_back(extent);
  }
  a.push_back(m), a.push_back(k), b.push_back(k), b.push_back(n), c.push_back(m), c.push_back(n);
  const auto order = [] { return pick(0, 1) ? MatrixOrder::Rows : MatrixOrder::Columns; };
  return {.a = {dtype, matrix(a, order(), pick(0, 1) * pick(1, 5), pick(0, 3) == 0)},
          .b = {dtype, matrix(b, order(), pick(0, 1) * pick(1, 5), pick(0, 3) == 0)},
          .c = {dtype, matrix(c, order(), pick(0, 1) * 3)},
          .bias = pick(0, 1) == 1,
          .activation = static_cast<Activation>(pick(0, 5))};
}

}  // namespace tegula::test
