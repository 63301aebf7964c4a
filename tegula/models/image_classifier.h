#pragma once
// Classifiers of pictures of one's own, in files that know their classes and sizes: a small residual net, or a published one.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/models/resnet.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/sequential.h"
#include "tegula/nn/state.h"

namespace tegula::models {

struct ImageClassifierOptions {
  std::int64_t classes = 2;
  std::int64_t size = 64;               // side of a picture after resizing
  std::int64_t width = 32;              // channels of the first stage; each of the next has twice as many and half of the size
  std::int64_t stages = 3, blocks = 1;  // blocks of each stage
  std::string net = {};  // one of models::picture_nets(), for which width, stages and blocks have no meaning; empty: the small one
};

/// A stem, blocks of which each stage's first one halves the size, and a layer on the mean over the pixels.
struct SmallPictureNet {
  explicit SmallPictureNet(const ImageClassifierOptions& options);
  Tensor operator()(Tensor x);

  nn::Conv2d stem;
  nn::BatchNorm2d bn;
  std::vector<BasicBlock> blocks;
  nn::Linear output;
  static constexpr auto fields =
      nn::fields<&SmallPictureNet::stem, &SmallPictureNet::bn, &SmallPictureNet::blocks, &SmallPictureNet::output>;
};

/// (N, 3, size, size) in [0, 1] -> scores (N, classes). Throws Error for an unknown net.
class ImageClassifier {
 public:
  explicit ImageClassifier(const ImageClassifierOptions& options = {});
  Tensor operator()(Tensor x);
  void visit(nn::Visitor& visitor, const nn::Path& path);
  const ImageClassifierOptions& options() const { return options_; }
  /// Takes means and deviations of the channels of images (N, 3, H, W).
  void fit_colours(const Tensor& images);
  /// Weights of a published net but those of its last layers, and ImageNet's means and deviations. Throws Error for the small net, and weights of another.
  void begin_with(const StateDict& published);

  nn::Buffer mean, deviation;  // (3)

 private:
  ImageClassifierOptions options_;
  nn::Layer net_;
};

inline constexpr const char* kImagesKind = "images";

struct NamedImageClassifier {
  std::unique_ptr<ImageClassifier> net;
  std::vector<std::string> classes;

  /// The probability of each class, (C,), for a picture (H, W, C) u8 as io::read_picture gives it.
  std::vector<float> probabilities(const HostArray& picture) const;
};

void save_image_classifier(const std::string& path, const ImageClassifier& net, const std::vector<std::string>& classes);
/// Throws Error when the file holds something else.
NamedImageClassifier load_image_classifier(const std::string& path);

}  // namespace tegula::models
