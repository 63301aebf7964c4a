#include "tegula/core/host_array.h"

#include <algorithm>
#include <string>

#include "tegula/core/error.h"

namespace tegula {

void require_shape(std::string_view op, const Shape& shape, const Line& where) {
  const bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; });
  if (!negative && countable(shape)) return;
  throw Error({.op = std::string(op),
               .got = "shape " + to_string(shape),
               .expected = negative ? "sizes of at least 0" : "fewer than 2^60 elements",
               .advice = "it was probably computed from wrong numbers",
               .where = where});
}

void throw_element_count(std::string_view op, std::size_t count, const Shape& shape, const Line& where) {
  throw Error({.op = std::string(op),
               .got = std::to_string(count) + " elements",
               .expected = std::to_string(numel(shape)) + " for shape " + to_string(shape),
               .where = where});
}

void throw_no_buffer(std::string_view op, const Line& where) {
  throw Error({.op = std::string(op),
               .got = "an array without a buffer",
               .expected = "one with elements",
               .advice = "HostArray::empty and HostArray::from make some",
               .where = where});
}

HostArray HostArray::empty(DType dtype, const Shape& shape) {
  require_shape("HostArray", shape);
  return {dtype, shape, allocate_host(static_cast<std::size_t>(numel(shape)) * size_of(dtype))};
}

}  // namespace tegula
