#pragma once
// The tensors that calls read and write.

#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"
#include "tegula/runtime/blocked.h"

namespace tegula::runtime {

/// The numbers that the elements of an operand stand for.
enum class Scale : std::uint8_t {
  None,    // as they are
  Factor,  // u8 codes of E4M3 (graph/e4m3.h), times one f32 number that lies in a buffer of its own
};

/// A tensor that a call reads or writes. Offsets in layouts are ignored: buffers point at the first element.
struct Operand {
  DType dtype = DType::f32;
  Layout layout = {};
  Scale scale = Scale::None;
  Blocked blocks = {};  // if not empty, the operand lies in blocks; `layout` is then the layout it would have without them
  bool operator==(const Operand&) const = default;
};

}  // namespace tegula::runtime
