// ResNet-50 has torchvision's parameters, by name and number.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/models/resnet.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

TEST(ResNet50, HasTorchvisionsParameters) {
  models::ResNet50 net;
  const Parameters all = parameters(net);
  std::int64_t count = 0;
  std::vector<std::string> names;
  for (const Parameter& p : all) {
    count += numel(p.cell->value().shape());
    names.push_back(p.name);
  }
  EXPECT_EQ(count, 25'557'032);
  EXPECT_EQ(all.size(), 161u);
  for (const char* name : {"conv1.weight", "bn1.bias", "layer1.0.downsample.0.weight", "layer1.0.downsample.1.bias",
                           "layer3.5.conv2.weight", "layer4.2.bn3.weight", "fc.bias"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(ResNet50, HalvesTheImageFiveTimes) {
  models::ResNet50 net{.classes = 7};
  eval(net);
  EXPECT_EQ(net(normal({1, 3, 64, 64})).shape(), (Shape{1, 7}));
  EXPECT_TRUE(std::isfinite(sum(net(normal({1, 3, 32, 32}))).item()));
}

}  // namespace
}  // namespace tegula
