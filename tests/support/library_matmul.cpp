#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tegula/tile/scalar_words.h"
#include "tests/support/library.h"

namespace tegula::test {

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

std::vector<runtime::Expression> activations_of(DType dtype) {
  return {{}, runtime::relu(dtype), runtime::gelu(dtype), runtime::gelu_tanh(dtype), runtime::sigmoid(dtype), runtime::tanh(dtype)};
}

double evaluate(const runtime::Expression& expression, double result, std::span<const double> reads) {
  using Source = runtime::Expression::Source;
  std::vector<tile::Scalar> values;
  std::vector<DType> types;
  std::size_t next = 0;
  for (const auto& value : expression.values) {
    const bool compares = value.source == Source::Word && value.word >= tile::Word::Eq && value.word <= tile::Word::Ge;
    types.push_back(compares ? boolean : f64);
    if (value.source == Source::Result) values.push_back({.real = result});
    else if (value.source == Source::Constant) values.push_back({.real = value.constant});
    else if (value.source != Source::Word) values.push_back({.real = reads[next++]});
    else {
      std::vector<tile::Scalar> operands;
      for (const int operand : value.operands)
        if (operand >= 0) operands.push_back(values[static_cast<std::size_t>(operand)]);
      values.push_back(tile::evaluate(value.word, f64, types.back(), 0, operands.data()));
    }
  }
  return values.empty() ? result : values.back().real;
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
  const bool has_bias = runtime::sums_of(d.epilogue).channel;
  if (has_bias) tensors.push_back(&bias);
  tensors.push_back(&c);
  ASSERT_TRUE(run_guarded(device, *call, tensors, threads)) << "wrote behind its scratch";
  EXPECT_TRUE(c.untouched_outside());
  const int rank = d.c.layout.shape.rank();
  const std::int64_t depth = d.a.layout.shape[rank - 1];
  double worst = 0;
  c.for_each([&](const Dims& index) {
    double sum = 0;
    Dims in_a = index, in_b = index;
    for (std::int64_t k = 0; k < depth; ++k) {
      in_a[rank - 1] = k, in_b[rank - 2] = k;
      sum += a(in_a) * b(in_b);
    }
    const std::array added{bias({index[rank - 1]})};
    const double error = std::abs(c(index) - evaluate(d.epilogue, sum, std::span(added).first(has_bias ? 1 : 0)));
    worst = std::isnan(error) ? error : std::max(worst, error);
  });
  EXPECT_LE(worst, tolerance(d.dtype(), d.arithmetic, static_cast<double>(depth)))
      << call->describe() << ' ' << to_string(d.a.layout.shape) << to_string(d.a.layout.strides) << ' ' << to_string(d.b.layout.shape)
      << to_string(d.b.layout.strides) << ' ' << to_string(d.c.layout.shape) << to_string(d.c.layout.strides) << " epilogue"
      << runtime::to_string(d.epilogue);
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
          .epilogue = with_bias(pick(0, 1) == 1, activations_of(dtype)[static_cast<std::size_t>(pick(0, 5))])};
}

}  // namespace tegula::test
