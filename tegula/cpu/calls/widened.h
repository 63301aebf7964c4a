#pragma once
// f16 and bf16 where a library call exists in f32 only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// A call on buffers of f16 or bf16: the first `read` are widened, `inner` (f32) runs on them, the others are rounded from its results. `layouts` say
/// where the elements of each buffer lie, in rows with room between them or without; one of rank 0 is handed through. What `inner` sees lies as
/// widened_layout says. A result that is not wanted is null.
std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, const std::vector<Layout>& layouts,
                                            std::size_t read);
/// The same order without room. Throws Error where elements do not lie in rows.
Layout widened_layout(const Layout& layout);

}  // namespace tegula::host
