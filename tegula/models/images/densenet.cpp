#include "tegula/models/images/densenet.h"

#include <string>

#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"

namespace tegula::models {

Tensor DenseLayer::operator()(Tensor x) { return conv2(relu(norm2(conv1(relu(norm1(x)))))); }

DenseBlock::DenseBlock(std::int64_t in, std::int64_t growth, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) layers.push_back(DenseLayer{in + i * growth, growth});
}

Tensor DenseBlock::operator()(Tensor x) {
  for (DenseLayer& layer : layers) x = concat({x, layer(x)}, 1);
  return x;
}

void DenseBlock::visit(nn::Visitor& visitor, const nn::Path& path) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "denselayer" + std::to_string(i + 1);
    nn::visit(layers[i], visitor, nn::Path{&path, name});
  }
}

Tensor DenseTransition::operator()(Tensor x) { return avg_pool2d(conv(relu(norm(x))), 2); }

Tensor DenseFeatures::operator()(Tensor x) {
  x = max_pool2d(relu(norm0(conv0(x))), 3, {.stride = 2, .padding = 1});
  x = transition1(denseblock1(x));
  x = transition2(denseblock2(x));
  x = transition3(denseblock3(x));
  return norm5(denseblock4(x));
}

Tensor DenseNet::operator()(Tensor x) { return classifier(mean(relu(features(x)), {2, 3})); }

}  // namespace tegula::models
