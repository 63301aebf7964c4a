#pragma once
// f16 and bf16 where a library call exists in f32 only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// A call on dense buffers of f16 or bf16: the first `read` are widened, `inner` (f32) runs on them, the others are rounded from
/// its results. `sizes` are the elements of each buffer; one of kNoFloats is handed through. A result that is not wanted is null.
inline constexpr std::int64_t kNoFloats = -1;
std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, std::vector<std::int64_t> sizes,
                                            std::size_t read);

}  // namespace tegula::host
