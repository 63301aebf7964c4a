#pragma once
// Tensors to test with, and their elements beside the expected ones.

#include <concepts>
#include <initializer_list>
#include <optional>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::test {

/// Normal, of the default generator, computed.
tegula::Tensor drawn(const Shape& shape, DType dtype = f32, double deviation = 1);
/// Zeros, computed: a leaf for graphs built on it.
tegula::Tensor leaf(const Shape& shape, DType dtype = f32);

/// Uniform, from low to high.
std::vector<double> random_numbers(std::size_t count, std::mt19937& engine, double low = -1, double high = 1);

/// Elements in f64; a tensor without a value is computed.
struct Elements {
  template <class T>
  requires std::convertible_to<T, tegula::Tensor>
  Elements(const T& x) : Elements(tegula::Tensor(x), 0) {}
  template <class T>
  Elements(const std::vector<T>& x) : values(x.begin(), x.end()) {}
  Elements(std::initializer_list<double> x) : values(x) {}
  std::vector<double> values;
  std::optional<Shape> shape;  // of a tensor

 private:
  Elements(const tegula::Tensor& x, int) : values(x.to_host<double>()), shape(x.shape()) {}
};

/// Each element is within `tolerance` of the expected one; two tensors have one shape. NaN and infinities are near nothing. Fails once, at the first that is not.
void expect_near(const Elements& got, const Elements& expected, double tolerance, const std::string& what = "",
                 std::source_location where = std::source_location::current());
/// Each element is within `tolerance` times the larger of 1 and the expected one's size.
void expect_close(const Elements& got, const Elements& expected, double tolerance, const std::string& what = "",
                  std::source_location where = std::source_location::current());

}  // namespace tegula::test
