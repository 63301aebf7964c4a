#include "tegula/graph/stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "tegula/graph/trace.h"

namespace tegula {
namespace {

// NumPy's print options.
constexpr std::int64_t kThreshold = 1000, kEdge = 3;
constexpr std::size_t kColumns = 75;

std::string element_text(const HostArray& array, std::int64_t index) {
  char text[40];
  visit(array.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T value = array.values<T>()[static_cast<std::size_t>(index)];
    if constexpr (std::is_same_v<T, bool>) std::snprintf(text, sizeof text, "%s", value ? "true" : "false");
    else if constexpr (std::is_unsigned_v<T>) std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
    else if constexpr (std::is_integral_v<T>) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
    else if (std::isnan(as_double(value))) std::snprintf(text, sizeof text, "nan");  // without the sign that printf shows
    else std::snprintf(text, sizeof text, "%.4g", as_double(value));
  });
  return text;
}

class Text {
 public:
  explicit Text(const HostArray& array) : array_(array), elided_(array.size() > kThreshold), strides_(dense_strides(array.shape)) {
    measure(0, 0);
  }

  // Nested brackets. `indent` is the column of the opening one.
  std::string of(int axis = 0, std::int64_t offset = 0, std::size_t indent = 0) const {
    if (axis == array_.shape.rank()) return padded(element_text(array_, offset));
    const bool innermost = axis + 1 == array_.shape.rank();
    const std::string next_line = "\n" + std::string(indent + 1, ' ');
    std::string text = "[";
    std::size_t column = indent + 1;
    for_each_shown(axis, [&](std::int64_t i) {
      const std::string item = i < 0 ? "…" : of(axis + 1, offset + i * strides_[axis], indent + 1);
      const std::size_t columns = i < 0 ? 1 : item.size();
      if (i != 0) {
        const bool wraps = !innermost || column + 2 + columns > kColumns;
        text += wraps ? "," + next_line : ", ";
        column = wraps ? indent + 1 : column + 2;
      }
      text += item;
      column += columns;
    });
    return text + "]";
  }

 private:
  // f(index) for the elements shown along an axis; -1 stands for the elided ones.
  template <class F>
  void for_each_shown(int axis, F&& f) const {
    const std::int64_t size = array_.shape[axis];
    const bool gap = elided_ && size > 2 * kEdge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (gap && i == kEdge) {
        f(-1);
        i = size - kEdge;
      }
      f(i);
    }
  }
  void measure(int axis, std::int64_t offset) {
    if (axis == array_.shape.rank()) {
      width_ = std::max(width_, element_text(array_, offset).size());
      return;
    }
    for_each_shown(axis, [&](std::int64_t i) {
      if (i >= 0) measure(axis + 1, offset + i * strides_[axis]);
    });
  }
  std::string padded(const std::string& text) const { return std::string(width_ - std::min(width_, text.size()), ' ') + text; }

  const HostArray& array_;
  bool elided_;
  Strides strides_;
  std::size_t width_ = 0;
};

}  // namespace

std::string Tensor::print(Line where) const {
  require_known("print", checked(where), where);
  const HostArray array = to_array(where);
  return Text(array).of() + "  " + std::string(name(array.dtype)) + to_string(array.shape);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }
std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << (x.defined() ? x.print({}) : "(empty)"); }
std::ostream& operator<<(std::ostream& out, const Variable& x) { return out << (x.defined() ? x.print({}) : "(empty)"); }

}  // namespace tegula
