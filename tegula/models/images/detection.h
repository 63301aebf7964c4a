#pragma once
// A single-shot detector for pictures of one's own: its anchors, and files that know its classes.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/data/image_folder.h"
#include "tegula/models/images/detector.h"

namespace tegula::models {

/// The widths and heights of `count` anchors that suit the boxes of samples {image, boxes, classes, …}: k-means by 1 - IoU (Redmon and Farhadi, "YOLO9000", 2017), of at
/// most `samples` of them. Throws Error when there is no box.
std::vector<std::array<double, 2>> anchor_sizes(const data::AnyDataset& set, std::int64_t count, std::int64_t samples = 1000);

/// Does the net read gray pictures or coloured ones?
inline data::Colours colours_of(const SingleShotDetector& net) { return net.in == 1 ? data::Colours::Gray : data::Colours::Rgb; }

inline constexpr const char* kDetectionKind = "detection";

struct FoundObject {
  std::array<double, 4> corners;  // x0, y0, x1, y1
  std::int64_t of_class;
  double score;
};
/// The objects in an image (in, H, W) f32, of a size that the net takes, the greatest score first. Leaves the net in evaluation mode.
std::vector<FoundObject> found_objects(SingleShotDetector& net, const HostArray& image, const FoundOptions& options = {});

struct NamedDetector {
  std::unique_ptr<SingleShotDetector> net;
  std::vector<std::string> classes;
  std::int64_t size = 0;  // height and width that pictures are fitted into

  /// The objects in a picture (H, W, C) u8 as io::read_picture gives it, in its pixels, the greatest score first.
  std::vector<FoundObject> found(const HostArray& picture, const FoundOptions& options = {.score = 0.3}) const;
};
void save_detector(const std::string& path, const SingleShotDetector& net, std::int64_t size, const std::vector<std::string>& classes);
/// Throws Error when the file holds something else.
NamedDetector load_detector(const std::string& path);

}  // namespace tegula::models
