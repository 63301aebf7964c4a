#pragma once
// Tiles that lie by rows of threads (decide/layout.h), as linear layouts.

#include <optional>

#include "tegula/simt/decide/layout.h"
#include "tegula/simt/layouts/linear.h"

namespace tegula::gpu {

/// The layout of a tile of this shape; nothing if a size is no power of two, or if several blocks hold it. A flat tile of fewer elements than
/// threads also has places in the remaining threads: these are unused.
std::optional<simt::Linear> linear_layout(const ThreadGrid& grid, const Shape& shape);

}  // namespace tegula::gpu
