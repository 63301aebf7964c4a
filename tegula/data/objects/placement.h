#pragma once
// Augmentation of pictures with objects: one change of places for the image, its boxes and its mask.
//
//   auto train = data::augmented(set, data::RandomPlacement{.flip = 0.5, .degrees = 10, .scale = 0.2}, data::RandomColour{.brightness = 0.2});
//
// A sample is {image (C, H, W) f32, …}. Among the arrays behind the image, f32 (M, 4) are boxes, i64 (M) right behind them their classes (-1 where there
// is none), and i64 (H, W) of the image's size is a mask. Others stay as they are.

#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tegula/data/augment.h"
#include "tegula/data/dataset.h"

namespace tegula::data {

/// The sources of the pixels of a result. Places are in pixels from the upper left corner of the picture, so that the middle of the first pixel is (0.5, 0.5);
/// a step refers to the picture as the steps before it have left it.
class Placement {
 public:
  /// Begins with the unchanged picture of this size. Throws Error for a size below 1.
  Placement(std::int64_t height, std::int64_t width);

  Placement& flip();  // left and right
  Placement& flip_down();  // top and bottom
  /// The window from (top, left) on, which may lie outside. Throws Error for a window without a pixel.
  Placement& crop(std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
  Placement& resize(std::int64_t height, std::int64_t width);
  /// Changes places as data::affine does. Throws Error for a scale that is not positive.
  Placement& affine(const Affine& change);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::int64_t source_height() const { return source_height_; }
  std::int64_t source_width() const { return source_width_; }

  struct Point {
    double x, y;
  };
  Point source(Point result) const;  // of a place in the result
  Point result(Point source) const;  // of a place in the source

 private:
  using Map = std::array<double, 6>;  // x = m0 x + m1 y + m2, y = m3 x + m4 y + m5
  Placement& then(const Map& back, std::int64_t height, std::int64_t width);

  std::int64_t source_height_, source_width_, height_, width_;
  Map back_{1, 0, 0, 0, 1, 0};
};

struct PlacedOptions {
  Fill fill = Fill::Zero;  // of the image
  std::int64_t mask = 0;  // of the mask, beyond the edges of the picture
  // The box of a moved object is the smallest upright one around the corners of its box, cut off at the edges. The box is dropped when less than `visible` of
  // its area, or a side below `side` pixels, is left.
  double visible = 0.3, side = 1;
};
/// The sample after the change: pixels of the image linear between those of the source, of the mask the nearest one. Boxes that are dropped make way for those
/// behind them: 0 and class -1 follow the last. Throws Error for an image of another size or kind, and for boxes without classes.
Sample placed(const Sample& sample, const Placement& change, const PlacedOptions& options = {});

/// The whole picture in height x width: as large as it fits with the sides' ratio kept, in the middle.
Placement fitting(std::int64_t from_height, std::int64_t from_width, std::int64_t height, std::int64_t width);
/// `placed` of that, where a smaller image is the mean of the pixels that it covers (data::resize).
Sample fitted(const Sample& sample, std::int64_t height, std::int64_t width, const PlacedOptions& options = {});

/// A flip, a window, a change of angle and scale, all at once.
struct RandomPlacement {
  double flip = 0, flip_down = 0;  // probabilities
  double window = 1;  // the least share of each side that is seen, in its full size (Liu et al., "SSD", 2016, section 2.2)
  double degrees = 0, scale = 0, shear = 0, move = 0;  // as RandomAffine
  PlacedOptions options = {};
  Sample operator()(const Sample& sample, RandomStream& random) const;
};

template <class Change>
concept ChangesSamples = std::is_invocable_r_v<Sample, const Change&, const Sample&, RandomStream&>;

/// `augmented` with changes of whole samples among them; the others change the image alone.
template <Dataset T, class... Changes>
requires(ChangesSamples<Changes> || ...)
auto augmented(T set, Changes... changes) {
  return map(std::move(set), [all = std::tuple(std::move(changes)...)](Sample sample, RandomStream& random) {
    const auto change_by = [&](const auto& change) {
      if constexpr (ChangesSamples<std::remove_cvref_t<decltype(change)>>) sample = change(sample, random);
      else sample.at(0) = change(sample.at(0), random);
    };
    std::apply([&](const auto&... change) { (change_by(change), ...); }, all);
    return sample;
  });
}

}  // namespace tegula::data
