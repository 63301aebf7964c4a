#pragma once
// A U-Net for pictures of one's own, in files that know its classes.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/data/image_folder.h"
#include "tegula/models/images/unet.h"

namespace tegula::models {

/// Does the net read gray pictures or coloured ones?
inline data::Colours colours_of(const UNet& net) { return net.in == 1 ? data::Colours::Gray : data::Colours::Rgb; }

inline constexpr const char* kSegmentationKind = "segmentation";

struct NamedUNet {
  std::unique_ptr<UNet> net;
  std::vector<std::string> classes;
  std::int64_t size = 0;  // height and width that pictures are fitted into

  /// The class of each pixel, (H, W) i64, of a picture (H, W, C) u8 as io::read_picture gives it.
  HostArray mask(const HostArray& picture) const;
};
void save_unet(const std::string& path, const UNet& net, std::int64_t size, const std::vector<std::string>& classes);
/// Throws Error when the file holds something else.
NamedUNet load_unet(const std::string& path);

}  // namespace tegula::models
