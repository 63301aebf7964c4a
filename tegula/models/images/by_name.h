#pragma once
// Published nets of pictures by torchvision's names, for commands and files.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tegula/nn/sequential.h"

namespace tegula::models {

/// A net, the prefix of its last layers, which depend on the classes, and the size of pictures it was made for.
struct PictureNet {
  std::string_view name, head;
  std::int64_t size;
  nn::Layer (*make)(std::int64_t classes, std::int64_t size);
};
/// "resnet18", "resnet34", "resnet50", "resnet101", "vgg16", "vgg16_bn", "mobilenet_v2", "densenet121", "efficientnet_b0", "convnext_tiny", "vit_b_16".
std::span<const PictureNet> picture_nets();
/// Throws Error for another name.
const PictureNet& picture_net(const std::string& name);

}  // namespace tegula::models
