#pragma once
// Pictures of any size as a network for MNIST wants them.

#include <string>

#include "tegula/core/host_array.h"

namespace tegula::app {

/// The images in a PNG, JPEG or idx file (told by contents) as (N, 1, side, side) f32 in [0, 1], light on dark. One that has another size is prepared as
/// MNIST was: the ink scaled to fit 5/7 of the side, its centre of mass in the middle. Dark ink on light paper is inverted.
HostArray read_images(const std::string& path, std::int64_t side);

}  // namespace tegula::app
