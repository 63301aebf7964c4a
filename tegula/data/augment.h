#pragma once
// Augmentation: random changes of images that keep their content.
//
//   auto train = data::augmented(folder, data::RandomFlip{}, data::RandomCrop{.padding = 4}, data::Cutout{8});
//
// Each sample draws from its own stream of random numbers (Loader's seed, epoch, position in the epoch), so results do not depend on
// the number of workers, nor on where a run was resumed. Images are (C, H, W) f32, the first array of a sample; changes are made to a copy.

#include <cstdint>
#include <tuple>
#include <utility>

#include "tegula/data/dataset.h"

namespace tegula::data {

/// The values beyond an image's edges.
enum class Fill : std::uint8_t { Zero, Edge };

// The pieces of the random changes below. Each returns a new image, and throws Error unless the image is f32 (C, H, W).
HostArray flip(const HostArray& image);  // left and right
/// height x width pixels from (top, left) on, which may lie outside.
HostArray crop(const HostArray& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
               Fill fill = Fill::Zero);
struct Affine {
  double degrees = 0;  // anticlockwise
  double scale = 1;
  double shear = 0;  // degrees
  double down = 0, right = 0;  // pixels
};
/// Turned, scaled, sheared about the middle, then moved; linear between pixels.
HostArray affine(const HostArray& image, const Affine& change, Fill fill = Fill::Zero);
struct Colour {
  double brightness = 1;  // a factor
  double contrast = 1;  // a factor of the distance from the mean of the gray image
  double saturation = 1;  // a factor of the distance from gray
};
/// Applies the changes in this order; numbers outside of [0, 1] are cut off.
HostArray colour(const HostArray& image, const Colour& change);

/// Flips with probability p.
struct RandomFlip {
  double p = 0.5;
  HostArray operator()(const HostArray& image, RandomStream& random) const;
};
/// A window of `size` (height, width; (): the image's own) anywhere in the image with `padding` pixels around it.
struct RandomCrop {
  Shape size = {};
  std::int64_t padding = 4;
  Fill fill = Fill::Zero;
  HostArray operator()(const HostArray& image, RandomStream& random) const;
};
/// Angles up to `degrees` and `shear` either way, scales in [1 - scale, 1 + scale], moves up to `move` of the size.
struct RandomAffine {
  double degrees = 0, scale = 0, shear = 0, move = 0;
  Fill fill = Fill::Zero;
  HostArray operator()(const HostArray& image, RandomStream& random) const;
};
/// Each factor in [1 - x, 1 + x].
struct RandomColour {
  double brightness = 0, contrast = 0, saturation = 0;
  HostArray operator()(const HostArray& image, RandomStream& random) const;
};
/// A square of zeros with that side around any pixel, cut off at the edges (DeVries and Taylor, 2017).
struct Cutout {
  std::int64_t side;
  HostArray operator()(const HostArray& image, RandomStream& random) const;
};

/// The set with its images after all changes, in this order.
template <Dataset T, class... Changes>
auto augmented(T set, Changes... changes) {
  return map(std::move(set), [all = std::tuple(std::move(changes)...)](Sample sample, RandomStream& random) {
    std::apply([&](const auto&... change) { ((sample.at(0) = change(sample.at(0), random)), ...); }, all);
    return sample;
  });
}

/// λ of one sample and 1 - λ of another, images and labels: the label of class c becomes (classes,) f32 of probabilities, as cross_entropy
/// takes them. λ is from Beta(alpha, alpha) (Zhang et al., "mixup", 2018).
Sample mixed(const Sample& a, const Sample& b, double lambda, std::int64_t classes);
/// A number in (0, 1), for alpha > 0 (Jöhnk's method; slow beyond some 5).
double beta(double alpha, RandomStream& random);
template <Dataset T>
auto mixup(T set, std::int64_t classes, double alpha = 0.2) {
  const auto get = [alpha, classes](const T& all, const Sample& sample, RandomStream& random) {
    const double lambda = beta(alpha, random);
    const std::int64_t other = random.below(static_cast<std::uint32_t>(all.size()));
    return mixed(sample, sample_of(all, other, random), lambda, classes);
  };
  return map(set, [set, get](Sample sample, RandomStream& random) { return get(set, sample, random); });
}

}  // namespace tegula::data
