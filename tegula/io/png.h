#pragma once
// PNG pictures.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/core/host_array.h"

namespace tegula::io {

/// The picture as (H, W, C) u8: C is 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha. Palettes become colours, transparent
/// colours an alpha channel, fewer than 8 bits are scaled up and 16 bits rounded to 8; gamma is left alone. Throws Error for a
/// missing, truncated or damaged file and for pictures above 2^28 pixels.
HostArray read_png(const std::string& path);

/// The same from memory. `name` stands for the file in messages.
HostArray parse_png(std::span<const std::byte> bytes, std::string_view name);

/// Writes u8 (H, W), (H, W, 1) as gray or (H, W, 3) as RGB, atomically. Throws Error for other shapes and dtypes, and disk errors.
void write_png(const std::string& path, const HostArray& image);

}  // namespace tegula::io
