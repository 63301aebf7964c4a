#pragma once
// oneDNN's blocked layouts as data. Included by the onednn*.cpp files only.

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "tegula/runtime/blocked.h"

namespace tegula::host {

/// Nothing where the layout is more than blocks.
std::optional<runtime::Blocked> blocked_of(const dnnl::memory::desc& layout);
/// The layout of f32 elements in these blocks; nothing where this oneDNN makes none from data (3.x).
std::optional<dnnl::memory::desc> layout_of(const runtime::Blocked& blocks);

}  // namespace tegula::host
