#include "tegula/models/images/segmentation.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/data/objects/placement.h"
#include "tegula/models/description.h"
#include "tegula/models/model_file.h"
#include "tegula/nn/state.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {

HostArray NamedUNet::mask(const HostArray& picture) const {
  const HostArray image = data::to_image(picture, colours_of(*net));
  const std::int64_t height = image.shape[1], width = image.shape[2];
  eval(*net);
  const HostArray classes_of = argmax((*net)(unsqueeze(from_array(data::fitted({image}, size, size)[0]), 0)), 1).to_array();
  const data::Placement fit = data::fitting(height, width, size, size);
  HostArray out = HostArray::empty(i64, {height, width});
  const auto from = classes_of.values<std::int64_t>(), to = out.values<std::int64_t>();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const data::Placement::Point at = fit.result({static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5});
      const auto row = std::clamp<std::int64_t>(static_cast<std::int64_t>(at.y), 0, size - 1),
                 column = std::clamp<std::int64_t>(static_cast<std::int64_t>(at.x), 0, size - 1);
      to[static_cast<std::size_t>(y * width + x)] = from[static_cast<std::size_t>(row * size + column)];
    }
  }
  return out;
}

void save_unet(const std::string& path, const UNet& net, std::int64_t size, const std::vector<std::string>& classes) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  write_model_file(path,
                   {.kind = kSegmentationKind,
                    .numbers = {{"in", number(net.in)}, {"width", number(net.width)}, {"depth", number(net.depth)}, {"size", number(size)}},
                    .texts = {{"classes", io::list_text(classes)}}},
                   state_dict(net));
}

NamedUNet load_unet(const std::string& path) {
  const ModelFile file =
      read_model_file(path, {.op = "load_unet", .kind = kSegmentationKind, .words = "a U-Net", .command = "tegula train unet"});
  const ModelDescription& d = file.description;
  NamedUNet out;
  out.classes = io::listed_texts({{"classes", d.text("classes", path)}}, "classes", path);
  const std::int64_t in = d.whole("in", 1, 3, path), width = d.whole("width", 1, 1024, path), depth = d.whole("depth", 1, 8, path);
  out.size = d.whole("size", std::int64_t{1} << depth, 8192, path);
  const auto count = static_cast<std::int64_t>(out.classes.size());
  require_tensor("load_unet", file.state, "head.weight", {count, width, 1, 1}, path);
  require_tensor("load_unet", file.state, "down." + std::to_string(depth) + ".3.weight", {width << depth, width << depth, 3, 3}, path);
  out.net = std::make_unique<UNet>(UNet{.in = in, .classes = count, .width = width, .depth = depth});
  load(*out.net, file.state);
  eval(*out.net);
  return out;
}

}  // namespace tegula::models
