#pragma once
// A small residual net for pictures of one's own, in files that know their classes and sizes.

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

namespace tegula::models {

struct ImageClassifierOptions {
  std::int64_t classes = 2;
  std::int64_t size = 64;               // side of a picture after resizing
  std::int64_t width = 32;              // channels of the first stage; each of the next has twice as many and half of the size
  std::int64_t stages = 3, blocks = 1;  // blocks of each stage
};

/// (N, 3, size, size) in [0, 1] -> scores (N, classes).
class ImageClassifier {
 public:
  explicit ImageClassifier(const ImageClassifierOptions& options = {});
  Tensor operator()(Tensor x);
  const ImageClassifierOptions& options() const { return options_; }
  /// Takes means and deviations of the channels of images (N, 3, H, W).
  void fit_colours(const Tensor& images);

  nn::Buffer mean, deviation;  // (3)
  nn::Conv2d stem;
  nn::BatchNorm2d bn;
  std::vector<BasicBlock> blocks;
  nn::Linear output;
  static constexpr auto fields = nn::fields<&ImageClassifier::mean, &ImageClassifier::deviation, &ImageClassifier::stem,
                                            &ImageClassifier::bn, &ImageClassifier::blocks, &ImageClassifier::output>;

 private:
  ImageClassifierOptions options_;
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
