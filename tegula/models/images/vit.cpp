#include "tegula/models/images/vit.h"

#include <string>

#include "tegula/nn/init.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

Tensor exact_gelu(Arg x) { return gelu(x); }
Tensor same(Arg x) { return x.tensor("VitBlock"); }

}  // namespace

nn::Sequential VitBlock::layers(std::int64_t width, std::int64_t hidden) {
  return {nn::Linear{width, hidden}, exact_gelu, same, nn::Linear{hidden, width}};  // torchvision's third is a dropout of nothing
}

Tensor VitBlock::operator()(Tensor x) {
  const Tensor y = ln_1(x);
  x = x + self_attention(y, y, y).output;
  return x + mlp(ln_2(x));
}

VitBlocks::VitBlocks(std::int64_t count, std::int64_t width, std::int64_t heads, std::int64_t hidden) {
  for (std::int64_t i = 0; i < count; ++i) blocks.push_back(VitBlock{width, heads, hidden});
}

void VitBlocks::visit(nn::Visitor& visitor, const nn::Path& path) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string name = "encoder_layer_" + std::to_string(i);
    nn::visit(blocks[i], visitor, nn::Path{&path, name});
  }
}

Tensor VitEncoder::first_places(std::int64_t tokens, std::int64_t width) { return nn::init::normal({1, tokens, width}, 0, 0.02); }

Tensor VitEncoder::operator()(Tensor x) {
  x = x + pos_embedding;
  for (VitBlock& block : layers.blocks) x = block(x);
  return ln(x);
}

Tensor VisionTransformer::first_token(std::int64_t width) { return zeros({1, 1, width}); }

Tensor VisionTransformer::operator()(Tensor x) {
  const Tensor patches = transpose(flatten(conv_proj(x), 2), 1, 2);  // (N, patches, width)
  const Tensor tokens = concat({expand(class_token, {patches.size(0), 1, width}), patches}, 1);
  return heads_.head(select(encoder(tokens), 1, 0));
}

}  // namespace tegula::models
