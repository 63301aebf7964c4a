#pragma once
// Shapes, strides and the arithmetic of both.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace tegula {

inline constexpr int kMaxRank = 8;

/// Up to eight sizes, outermost first, stored inline. Also used for axes, strides and permutations.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  constexpr explicit Dims(std::span<const std::int64_t> values) : rank_(check_rank(values.size())) {
    for (int i = 0; i < rank_; ++i) values_[i] = values[i];
  }
  static constexpr Dims filled(int rank, std::int64_t value) {
    Dims d;
    d.rank_ = check_rank(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank; ++i) d.values_[i] = value;
    return d;
  }

  constexpr int rank() const { return rank_; }
  constexpr int size() const { return rank_; }
  constexpr bool empty() const { return rank_ == 0; }
  constexpr std::int64_t operator[](int i) const { return values_[i]; }
  constexpr std::int64_t& operator[](int i) { return values_[i]; }
  constexpr std::int64_t back() const { return values_[rank_ - 1]; }
  constexpr const std::int64_t* begin() const { return values_.data(); }
  constexpr const std::int64_t* end() const { return values_.data() + rank_; }
  constexpr std::int64_t* begin() { return values_.data(); }
  constexpr std::int64_t* end() { return values_.data() + rank_; }

  constexpr void push_back(std::int64_t value) {
    check_rank(static_cast<std::size_t>(rank_) + 1);
    values_[rank_++] = value;
  }
  constexpr void insert(int at, std::int64_t value) {
    push_back(0);
    for (int i = rank_ - 1; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) values_[i] = values_[i + 1];
    values_[--rank_] = 0;
  }
  constexpr bool contains(std::int64_t value) const {
    for (auto v : *this)
      if (v == value) return true;
    return false;
  }
  constexpr bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (values_[i] != other.values_[i]) return false;
    return true;
  }

 private:
  static constexpr int check_rank(std::size_t rank) {
    if (rank > static_cast<std::size_t>(kMaxRank)) throw_rank(rank);
    return static_cast<int>(rank);
  }
  [[noreturn]] static void throw_rank(std::size_t rank);

  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;  // in elements

/// The number of elements along the axes [begin, end); 1 for none.
constexpr std::int64_t numel(const Shape& shape, int begin, int end) {
  std::int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= shape[i];
  return n;
}
/// The number of elements; 1 for rank 0.
constexpr std::int64_t numel(const Shape& shape) { return numel(shape, 0, shape.rank()); }
/// True if the elements and their bytes can be counted in 64 bits; an axis of size 0 does not excuse the others.
constexpr bool countable(const Shape& shape) {
  std::int64_t bytes = 8;
  for (std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size > 0 ? size : 1, &bytes)) return false;
  }
  return true;
}

/// "(2, 3)", "(5,)", "()".
std::string to_string(const Dims& dims);

/// Row-major strides of a dense tensor.
Strides dense_strides(const Shape& shape);

/// NumPy's broadcast of two shapes, or nothing when sizes differ and neither is 1.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// An axis in [-rank, rank) as one in [0, rank), or nothing when it is outside.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

/// The order of an image's axes: channels ahead of the spatial axes, (N, C, spatial…) as in PyTorch, or behind them, (N, spatial…, C) as in TensorFlow.
enum class AxisOrder : std::uint8_t { NCHW, NHWC };

/// The layout of a tensor in its buffer: element index i is at offset + Σ i[d]*strides[d]. Strides may be 0 or negative.
struct Layout {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  /// The order of an image's axes in options of layers and pooling: {.layout = Layout::NHWC}.
  static constexpr AxisOrder NCHW = AxisOrder::NCHW, NHWC = AxisOrder::NHWC;

  static Layout dense(const Shape& shape) { return {shape, dense_strides(shape), 0}; }
  /// Dense in the order (axis 0, axes 2…, axis 1): channels innermost, of images (N, C, spatial…) and weights.
  static Layout channels_last(const Shape& shape);
  /// Row-major, without gaps or overlap; strides of axes of size 1 do not matter.
  bool is_dense() const;
  bool operator==(const Layout&) const = default;
};

/// The same elements in the same order under another shape, without a copy; nothing when the strides do not allow it.
std::optional<Layout> reshape(const Layout& layout, const Shape& shape);

}  // namespace tegula
