#pragma once
// JPEG pictures, by libjpeg-turbo; and pictures of either kind.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tegula/core/host_array.h"

namespace tegula::io {

/// The picture as (H, W, C) u8: C is 1 gray or 3 RGB. Needs libjpeg-turbo. Throws Error without it, for a missing, truncated or damaged file,
/// CMYK, and pictures above 2^28 pixels.
HostArray read_jpeg(const std::string& path);
/// The same from memory. `name` stands for the file in messages.
HostArray parse_jpeg(std::span<const std::byte> bytes, std::string_view name);

/// A PNG or JPEG file, told by its contents: (H, W, C) u8 as read_png and read_jpeg give it.
HostArray read_picture(const std::string& path);

}  // namespace tegula::io
