#pragma once
// f16 and bf16 where a library call exists in f32 only.

#include <memory>
#include <string_view>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// A buffer of a call: where its elements lie, in rows with room between them or without. One of rank 0 holds no halves and is handed through.
struct HalfBuffer {
  std::string_view name;  // for people: "input"
  Layout layout;
  bool written = false;
};

/// A call on buffers of f16 or bf16, in steps (runtime/call_steps.h): buffers that are read are widened, `inner` (f32) runs on them, the others are rounded
/// from its results. The buffers of `inner` lie as widened_layout says.
std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, const std::vector<HalfBuffer>& buffers);
/// The same order without room. Throws Error where elements do not lie in rows.
Layout widened_layout(const Layout& layout);

}  // namespace tegula::host
