#include "tegula/graph/tensor.h"

#include "tegula/core/error.h"
#include "tegula/core/rounded.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

[[noreturn]] void throw_empty(std::string_view op, const Line& where) {
  throw Error({.op = std::string(op),
               .got = "an empty tensor",
               .expected = "one with a value",
               .advice = "it was default-constructed or moved from",
               .where = origin_at(where).where});
}

// Calls f(index of the element in the buffer) for every element in row-major order.
template <class F>
void for_each_element(const Layout& layout, F&& f) {
  const std::int64_t count = numel(layout.shape);
  Dims at = Dims::filled(layout.shape.rank(), 0);
  std::int64_t position = layout.offset;
  for (std::int64_t n = 0; n < count; ++n) {
    f(position);
    for (int d = layout.shape.rank() - 1; d >= 0; --d) {
      position += layout.strides[d];
      if (++at[d] < layout.shape[d]) break;
      position -= layout.strides[d] * layout.shape[d];
      at[d] = 0;
    }
  }
}

// The elements of a node whose buffer is in host memory.
HostArray host_copy(const Node& node) {
  const Layout& layout = node.layout();
  if (layout.is_dense() && layout.offset == 0) return {node.dtype(), node.shape(), node.buffer()};
  HostArray out = HostArray::empty(node.dtype(), node.shape());
  visit(node.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = static_cast<const T*>(node.buffer()->data());
    T* to = out.values<T>().data();
    for_each_element(layout, [&](std::int64_t position) { *to++ = from[position]; });
  });
  return out;
}

// The elements of a node on another device: the stretch of memory they span, then their order.
HostArray fetched(const Node& node) {
  const Layout& layout = node.layout();
  HostArray out = HostArray::empty(node.dtype(), node.shape());
  const auto width = static_cast<std::int64_t>(size_of(node.dtype()));
  if (layout.is_dense()) {
    node.buffer()->read(static_cast<std::size_t>(layout.offset * width), out.buffer->data(), out.bytes());
  } else if (out.size() > 0) {
    std::int64_t first = layout.offset, last = layout.offset;
    for (int d = 0; d < layout.shape.rank(); ++d) (layout.strides[d] < 0 ? first : last) += (layout.shape[d] - 1) * layout.strides[d];
    HostArray span = HostArray::empty(node.dtype(), {last - first + 1});
    node.buffer()->read(static_cast<std::size_t>(first * width), span.buffer->data(), span.bytes());
    visit(node.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = span.values<T>().data();
      T* to = out.values<T>().data();
      for_each_element(layout, [&](std::int64_t position) { *to++ = from[position - first]; });
    });
  }
  confirm_checks(node);
  return out;
}

}  // namespace

Tensor::Tensor(const Variable& variable, Line where) : node_(variable.read(where).node()) {}

Tensor Tensor::number(Number value, DType dtype, const Line& where) { return graph::scalar(rounded(value, dtype), dtype, where); }

const Node& Tensor::checked(const Line& where) const {
  if (!node_) throw_empty("tensor", where);
  return *node_;
}

std::int64_t Tensor::size(int axis, Line where) const {
  const auto index = normalize_axis(axis, shape(where).rank());
  if (!index) {
    throw Error({.op = "size",
                 .got = "axis " + std::to_string(axis) + " of shape " + to_string(shape()),
                 .expected = "an axis between " + std::to_string(-rank()) + " and " + std::to_string(rank() - 1),
                 .where = origin_at(where).where});
  }
  return shape()[*index];
}

std::string Tensor::device() const { return device_name(checked(Line::current())); }

HostArray Tensor::to_array(Line where) const {
  const Node& node = checked(where);
  require_known("to_host", node, where);
  if (!node.has_value()) {
    const Trace::Pause outside;  // a constant of a trace is computed now
    const Ref<Node> nodes[] = {node_};
    evaluate(nodes, where);
  }
  return node.buffer()->device() == 0 ? host_copy(node) : fetched(node);
}

template std::vector<float> Tensor::to_host(Line) const;
template std::vector<double> Tensor::to_host(Line) const;
template std::vector<std::int64_t> Tensor::to_host(Line) const;

Number Tensor::the_element(const Line& where) const {
  const Node& node = checked(where);
  require_known("item", node, where);
  if (tegula::numel(node.shape()) != 1) {
    throw Error({.op = "item",
                 .got = "shape " + to_string(node.shape()),
                 .expected = "a tensor with one element",
                 .advice = "use to_host() for all elements",
                 .where = origin_at(where).where});
  }
  const HostArray array = to_array(where);
  return visit(array.dtype, [&](auto zero) -> Number {
    const auto value = array.values<decltype(zero)>()[0];
    if constexpr (std::is_integral_v<decltype(zero)>) return value;
    else return as_double(value);
  });
}

Tensor Arg::tensor(std::string_view op) const {
  if (is_number_) return graph::scalar(value_, category_, loc);
  if (!tensor_.defined()) throw_empty(op, loc);
  return tensor_;
}

Tensor Arg::tensor(std::string_view op, DType dtype) const {
  if (is_number_) return graph::scalar(value_, dtype, loc);
  return graph::cast(tensor(op), dtype, loc);
}

Tensor from_array(const HostArray& array, Line where) {
  require_shape("from_array", array.shape, origin_at(where).where);
  if (!array.buffer) throw_no_buffer("from_array", origin_at(where).where);
  if (array.bytes() > array.buffer->bytes()) {
    throw Error({.op = "from_array",
                 .got = std::to_string(array.buffer->bytes()) + " bytes",
                 .expected = std::to_string(array.bytes()) + " for shape " + to_string(array.shape),
                 .where = origin_at(where).where});
  }
  Ref<Node> node = make<Node>(leaf_op(), std::span<const Ref<Node>>(), array.shape, array.dtype, origin_at(where));
  node->set_value(array.buffer, Layout::dense(array.shape));
  return Tensor(std::move(node));
}

void require_elements(std::size_t count, const Shape& shape, const Line& where) {
  require_shape("tensor", shape, origin_at(where).where);
  if (static_cast<std::int64_t>(count) != numel(shape)) throw_element_count("tensor", count, shape, origin_at(where).where);
}

void require_row(std::size_t count, std::size_t columns, const Line& where) {
  if (count == columns) return;
  throw Error({.op = "tensor",
               .got = "a row of " + std::to_string(count) + " numbers behind one of " + std::to_string(columns),
               .expected = "rows of one length",
               .where = origin_at(where).where});
}

}  // namespace tegula
