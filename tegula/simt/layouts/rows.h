#pragma once
// Tiles that lie by rows of threads (decide/layout.h), as linear layouts.

#include <optional>

#include "tegula/simt/decide/layout.h"
#include "tegula/simt/layouts/linear.h"

namespace tegula::gpu {

/// The layout of a tile of this shape; nothing where a size is no power of two, or where several blocks hold it. Of a flat tile of fewer elements than
/// threads the further threads have places of its elements, too: nothing is in them.
std::optional<simt::Linear> linear_layout(const ThreadGrid& grid, const Shape& shape);

}  // namespace tegula::gpu
