#pragma once
// Folders of pictures: one folder a class.

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/data/dataset.h"

namespace tegula::data {

/// Gray is 1 channel, Rgb 3; pictures of another kind are converted (ITU-R BT.601), an alpha channel is left out.
enum class Colours : std::uint8_t { Gray, Rgb };

struct ImageFolderOptions {
  Colours colours = Colours::Rgb;
  /// Height and width that every picture is resized to; (): as they are, and then all must have one size, or a transform must give them one.
  Shape size = {};
};

/// The PNG and JPEG files in root/<class>/, sorted by class and name; files and folders whose name begins with a dot are left out, with a warning. Lazy: a file is read when its sample is asked for. A sample is
/// {image (C, H, W) f32 in [0, 1], label () i64}.
class ImageFolder {
 public:
  /// Throws Error for a folder that is missing or has no folders with pictures in it.
  explicit ImageFolder(std::string root, const ImageFolderOptions& options = {}, Line where = Line::current());

  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  /// Throws Error for a file that cannot be read.
  Sample get(std::int64_t i) const;

  const std::vector<std::string>& classes() const { return classes_; }  // names; a label is an index in this list
  const std::vector<std::int64_t>& labels() const { return labels_; }  // of all samples, for strata and weights
  const std::string& file(std::int64_t i) const { return files_[static_cast<std::size_t>(i)]; }

 private:
  ImageFolderOptions options_;
  std::vector<std::string> classes_, files_;
  std::vector<std::int64_t> labels_;
};

/// A picture (H, W, C) u8, as io::read_picture gives it, as (C, H, W) f32 in [0, 1].
HostArray to_image(const HostArray& picture, Colours colours);
/// (C, height, width): each pixel the mean of the pixels it covers where the image shrinks, linear between pixels where it grows. The corners stay corners.
HostArray resize(const HostArray& image, std::int64_t height, std::int64_t width);

}  // namespace tegula::data
