#include "tegula/models/images/by_name.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/models/images/convnext.h"
#include "tegula/models/images/densenet.h"
#include "tegula/models/images/efficientnet.h"
#include "tegula/models/images/mobilenet.h"
#include "tegula/models/images/vgg.h"
#include "tegula/models/images/vit.h"
#include "tegula/models/resnet.h"

namespace tegula::models {
namespace {

template <class Net>
nn::Layer make(std::int64_t classes, std::int64_t) {
  return Net{.classes = classes};
}

}  // namespace

std::span<const PictureNet> picture_nets() {
  static const PictureNet nets[] = {
      {"resnet18", "fc", 224, make<ResNet18>},
      {"resnet34", "fc", 224, make<ResNet34>},
      {"resnet50", "fc", 224, make<ResNet50>},
      {"resnet101", "fc", 224, make<ResNet101>},
      {"vgg16", "classifier", 224, make<Vgg>},
      {"vgg16_bn", "classifier", 224,
       [](std::int64_t classes, std::int64_t) -> nn::Layer { return Vgg{.batch_norm = true, .classes = classes}; }},
      {"mobilenet_v2", "classifier", 224, make<MobileNetV2>},
      {"densenet121", "classifier", 224, make<DenseNet>},
      {"efficientnet_b0", "classifier", 224, make<EfficientNetB0>},
      {"convnext_tiny", "classifier", 224, make<ConvNextTiny>},
      {"vit_b_16", "heads", 224,
       [](std::int64_t classes, std::int64_t size) -> nn::Layer { return VisionTransformer{.classes = classes, .image = size}; }},
  };
  return nets;
}

const PictureNet& picture_net(const std::string& name) {
  std::string names;
  for (const PictureNet& net : picture_nets()) {
    if (net.name == name) return net;
    names += (names.empty() ? "" : ", ") + std::string(net.name);
  }
  throw Error({.op = "picture_net", .got = "the net " + printable(name.substr(0, 80)), .expected = "one of " + names});
}

}  // namespace tegula::models
