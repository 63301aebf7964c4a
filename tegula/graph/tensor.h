#pragma once
// The handle users hold, and the type of every op parameter.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/core/line.h"
#include "tegula/core/number.h"
#include "tegula/graph/free_functions.h"
#include "tegula/graph/node.h"

namespace tegula {

class Variable;

/// An immutable n-dimensional array, computed when its value is first needed. Copies share the node. All ops are free functions.
class Tensor : public FreeFunctions {
 public:
  /// An empty handle; using it in an op is an error.
  Tensor() = default;
  explicit Tensor(Ref<Node> node) : node_(std::move(node)) {}
  /// The current value of a Variable.
  Tensor(const Variable& variable, Line where = Line::current());
  /// A number as a rank-0 tensor: f32 for floats, i64 for integers, bool for bool.
  template <class T>
  requires std::is_arithmetic_v<T>
  Tensor(T value, Line where = Line::current()) : Tensor(number(value, default_dtype<T>(), where)) {}

  bool defined() const { return static_cast<bool>(node_); }
  const Shape& shape(Line where = Line::current()) const { return checked(where).shape(); }
  int rank() const { return shape().rank(); }
  /// The length of one axis; negative axes count from the end.
  std::int64_t size(int axis, Line where = Line::current()) const;
  std::int64_t numel() const { return tegula::numel(shape()); }
  DType dtype(Line where = Line::current()) const { return checked(where).dtype(); }
  /// "cpu", "cuda:0".
  std::string device() const;

  /// The only element (shape with one element) as T, an i64 exactly; computes the pending value. Inside a trace it is an error.
  template <class T = float>
  T item(Line where = Line::current()) const {
    return the_element(where).as<T>();
  }
  /// All elements, row-major, converted to T.
  template <class T = float>
  std::vector<T> to_host(Line where = Line::current()) const;
  /// All elements in their own dtype; shares memory with the tensor when it is dense on the host.
  HostArray to_array(Line where = Line::current()) const;
  /// The text that NumPy prints, with dtype and shape: "[1, 2, 3]  f32(3,)". Above 1000 elements: the first and last three of each axis.
  std::string print(Line where = Line::current()) const;

  const Ref<Node>& node() const { return node_; }

 private:
  template <class T>
  static constexpr DType default_dtype() {
    if constexpr (std::is_same_v<T, bool>) return DType::boolean;
    else return std::is_floating_point_v<T> ? DType::f32 : DType::i64;
  }
  static Tensor number(Number value, DType dtype, const Line& where);
  const Node& checked(const Line& where) const;
  Number the_element(const Line& where) const;

  Ref<Node> node_;
};

template <class T>
std::vector<T> Tensor::to_host(Line where) const {
  const HostArray array = to_array(where);
  std::vector<T> out(static_cast<std::size_t>(array.size()));
  visit(array.dtype, [&](auto zero) {
    auto values = array.values<decltype(zero)>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_integral_v<T> && std::is_integral_v<decltype(zero)>) out[i] = static_cast<T>(values[i]);
      else out[i] = from_double<T>(as_double(values[i]));
    }
  });
  return out;
}
// The library has these.
extern template std::vector<float> Tensor::to_host(Line) const;
extern template std::vector<double> Tensor::to_host(Line) const;
extern template std::vector<std::int64_t> Tensor::to_host(Line) const;

/// The argument type of ops: a Tensor, a Variable or a number, with the line on which the user wrote it. Numbers are weakly typed:
/// they adapt to the tensors beside them, as in PyTorch.
class Arg {
 public:
  Arg(const Tensor& tensor, Line where = Line::current()) : loc(where), tensor_(tensor) {}
  Arg(const Variable& variable, Line where = Line::current()) : loc(where), tensor_(variable, where) {}
  template <class T>
  requires std::is_arithmetic_v<T>
  Arg(T value, Line where = Line::current())
      : loc(where),
        is_number_(true),
        category_(std::is_same_v<T, bool>       ? DType::boolean
                  : std::is_floating_point_v<T> ? DType::f32
                                                : DType::i64),
        value_(value) {}

  Line loc;

  bool is_number() const { return is_number_; }
  const Number& value() const { return value_; }
  /// f32, i64 or boolean: the dtype a lone number gets.
  DType category() const { return category_; }
  /// The tensor; a number becomes a rank-0 constant of its category, or of `dtype` when given. Throws Error("use of an empty tensor") in the name of `op`.
  Tensor tensor(std::string_view op) const;
  Tensor tensor(std::string_view op, DType dtype) const;

 private:
  Tensor tensor_;
  bool is_number_ = false;
  DType category_ = DType::f32;
  Number value_;
};

/// A leaf holding these elements (shared, not copied). Throws Error for a shape with negative or uncountable sizes, or too small a buffer.
Tensor from_array(const HostArray& array, Line where = Line::current());
/// A line of the user's that `{}` does not stand for: tensor(values, {}) has the shape {}.
struct GivenLine {
  GivenLine(const Line& at) : at(at) {}
  Line at;
};
/// Throws Error unless all rows of a matrix that tensor() is given have `columns` numbers.
void require_row(std::size_t count, std::size_t columns, const Line& where);
/// A leaf from a list: tensor({1.f, 2.f, 3.f}), tensor(values); or with a shape: tensor(values, {2, 3}).
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape, Line where = Line::current());
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape, Line where = Line::current()) {
  return tensor(std::span<const T>(values), shape, where);
}
template <class T>
Tensor tensor(const std::vector<T>& values, GivenLine where = Line::current()) {
  return tensor(std::span<const T>(values), Shape{static_cast<std::int64_t>(values.size())}, where.at);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, Line where = Line::current()) {
  return tensor(std::span<const T>(values.begin(), values.size()), Shape{static_cast<std::int64_t>(values.size())}, where);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, const Shape& shape, Line where = Line::current()) {
  return tensor(std::span<const T>(values.begin(), values.size()), shape, where);
}

/// A std::array, as a list.
template <class T, std::size_t N>
Tensor tensor(const std::array<T, N>& values, const Shape& shape, Line where = Line::current()) {
  return tensor(std::span<const T>(values), shape, where);
}
template <class T, std::size_t N>
Tensor tensor(const std::array<T, N>& values, GivenLine where = Line::current()) {
  return tensor(std::span<const T>(values), Shape{static_cast<std::int64_t>(N)}, where.at);
}
/// A matrix from its rows: tensor({{1.f, 2.f}, {3.f, 4.f}}) has the shape {2, 2}. Throws Error for rows of different lengths.
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, Line where = Line::current()) {
  const std::size_t columns = rows.size() == 0 ? 0 : rows.begin()->size();
  const HostArray array = HostArray::empty(dtype_of<T>(), {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)});
  T* to = array.values<T>().data();
  for (const auto& row : rows) {
    require_row(row.size(), columns, where);
    to = std::copy(row.begin(), row.end(), to);
  }
  return from_array(array, where);
}

/// Throws Error if the shape is impossible, or needs another number of elements.
void require_elements(std::size_t count, const Shape& shape, const Line& where);

template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape, Line where) {
  require_elements(values.size(), shape, where);
  return from_array(HostArray::from(values, shape), where);
}

}  // namespace tegula
