// The kernels behind a refined SVD, emulated: values of products, and everything by descending values.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tegula/cuda/handwritten/plain_singular.h"
#include "tests/support/emulator.h"

namespace tegula::gpu {
namespace {

template <class T>
struct Factors {
  std::vector<T> u, v, values;

  explicit Factors(const runtime::MatrixRoutine& d)
      : u(static_cast<std::size_t>(d.rows * (d.full ? d.rows : d.columns))),
        v(static_cast<std::size_t>(d.columns * d.columns)),
        values(static_cast<std::size_t>(d.columns)) {}
};

/// Columns whose numbers tell where they were.
template <class T>
Factors<T> numbered(const runtime::MatrixRoutine& d) {
  Factors<T> out(d);
  for (std::size_t i = 0; i < out.u.size(); ++i) out.u[i] = static_cast<T>(i + 1);
  for (std::size_t i = 0; i < out.v.size(); ++i) out.v[i] = static_cast<T>(i + 1);
  return out;
}

template <class T>
void order(const runtime::MatrixRoutine& d, const std::vector<T>& values, const std::vector<std::int64_t>& expected) {
  Factors<T> in = numbered<T>(d), out(d);
  in.values = values;
  const std::vector<void*> buffers{in.values.data(), in.u.data(), in.v.data(), out.values.data(), out.u.data(), out.v.data()};
  emulate(singular_order_kernel(d), buffers);
  for (std::int64_t place = 0; place < (d.full ? d.rows : d.columns); ++place) {
    const bool ordered = place < d.columns;
    const std::int64_t from = ordered ? expected[static_cast<std::size_t>(place)] : place;
    const T value = ordered ? values[static_cast<std::size_t>(from)] : T(0), sign = value < 0 ? T(-1) : T(1);
    for (std::int64_t r = 0; r < d.rows; ++r)
      EXPECT_EQ(out.u[static_cast<std::size_t>(place * d.rows + r)], sign * in.u[static_cast<std::size_t>(from * d.rows + r)]) << place;
    if (!ordered) continue;
    EXPECT_TRUE(out.values[static_cast<std::size_t>(place)] == std::abs(value) || std::isnan(value)) << place;
    for (std::int64_t r = 0; r < d.columns; ++r)
      EXPECT_EQ(out.v[static_cast<std::size_t>(r * d.columns + place)], in.v[static_cast<std::size_t>(r * d.columns + from)]) << place;
  }
}

TEST(SingularKernels, OrderColumnsByTheirValues) {
  order<float>({.dtype = f32, .rows = 5, .columns = 4}, {1, 4, -3, 0}, {1, 2, 0, 3});
  order<double>({.dtype = f64, .rows = 6, .columns = 3, .full = true}, {2, 2, 5}, {2, 0, 1});  // equal ones keep their order
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  order<float>({.dtype = f32, .rows = 4, .columns = 4}, {1, nan, 2, nan}, {1, 3, 2, 0});
  std::vector<double> rising(150);
  std::vector<std::int64_t> back(150);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i), back[i] = static_cast<std::int64_t>(149 - i);
  order<double>({.dtype = f64, .rows = 150, .columns = 150}, rising, back);
}

TEST(SingularKernels, ValuesAreProductsOfColumns) {
  for (const std::int64_t rows : {1, 3, 128, 333}) {
    const runtime::MatrixRoutine d{.dtype = f64, .rows = rows, .columns = std::min<std::int64_t>(rows, 4)};
    Factors<double> in = numbered<double>(d);
    std::vector<double> product = in.u;
    for (double& x : product) x = 1 / x;
    product[0] = -1;
    const std::vector<void*> buffers{in.u.data(), product.data(), in.values.data()};
    emulate(singular_values_kernel(d), buffers);
    for (std::size_t j = 0; j < in.values.size(); ++j)
      EXPECT_NEAR(in.values[j], static_cast<double>(rows) - (j == 0 ? 2 : 0), 1e-10) << rows << " " << j;
  }
}

}  // namespace
}  // namespace tegula::gpu
