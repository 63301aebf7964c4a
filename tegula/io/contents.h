#pragma once
// The part of a file of arrays that a reader gives.

#include <cstdint>

namespace tegula::io {

/// Names, types and shapes alone, or the numbers, too.
enum class Contents : bool { Shapes, Arrays };

}  // namespace tegula::io
