#pragma once
// Folders of pictures whose objects or pixels are labelled.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/data/dataset.h"
#include "tegula/data/image_folder.h"
#include "tegula/data/objects/placement.h"

namespace tegula::data {

struct ObjectFolderOptions {
  Colours colours = Colours::Rgb;
  std::int64_t size = 128;  // height and width of all pictures: each is fitted into the square
  std::int64_t most = 0;    // objects of a sample; 0: as many as the picture with the most of them has
};

/// Pictures with boxes and classes around their objects: a sample is {image (C, size, size) f32 in [0, 1], boxes (most, 4) f32, classes (most) i64, -1 behind
/// the last}. The labels are, whichever is there:
///   COCO  root/annotations.json (or the one .json file in root or root/annotations), pictures by their names in root, root/images or root/train …
///   VOC   root/Annotations/*.xml and root/JPEGImages, or .xml files beside the pictures
///   YOLO  root/images and root/labels, or .txt files beside the pictures; a name a line in root/classes.txt, else classes are called by their numbers
/// Crowds, and objects that VOC calls difficult, are left out. Lazy: a picture is read when its sample is asked for.
class ObjectFolder {
 public:
  /// Throws Error for a folder without labels or pictures, pictures that are not there, and labels that are damaged.
  explicit ObjectFolder(const std::string& root, const ObjectFolderOptions& options = {}, Line where = Line::current());

  std::int64_t size() const { return static_cast<std::int64_t>(pictures_.size()); }
  /// Throws Error for a file that cannot be read.
  Sample get(std::int64_t i) const;
  const std::vector<std::string>& classes() const { return classes_; }
  const std::string& file(std::int64_t i) const { return pictures_[static_cast<std::size_t>(i)].file; }

 private:
  struct Object {
    std::array<double, 4> corners;  // in pixels, or of YOLO as shares of the sides
    std::int64_t of_class;
  };
  struct Picture {
    std::string file;
    std::vector<Object> objects;
  };
  void read_coco_labels(const std::string& root, const std::string& json);
  void read_voc_labels(const std::string& root, const std::vector<std::string>& files);
  void read_yolo_labels(const std::string& root, const std::vector<std::string>& pictures);

  ObjectFolderOptions options_;
  Line where_;
  std::vector<std::string> classes_;
  std::vector<Picture> pictures_;
  bool in_shares_ = false;
};

struct MaskFolderOptions {
  Colours colours = Colours::Rgb;
  std::int64_t size = 128;  // height and width of all pictures, and masks: each is fitted into the square
};

/// Pictures with a class for each pixel: a sample is {image (C, size, size) f32 in [0, 1], mask (size, size) i64}, -1 where a pixel has none (beyond the picture, VOC's
/// borders). root/images and root/masks, or VOC's root/JPEGImages and root/SegmentationClass: a mask is a PNG with its picture's name. In gray ones the value is the
/// class, and 255 none; masks of 0 and 255 alone have two classes. In coloured ones the colours are VOC's. root/classes.txt has a name a line, else classes are
/// called by their numbers.
class MaskFolder {
 public:
  /// Reads all masks once, for their classes. Throws Error for a folder without pictures or masks, a mask of another size than its picture's when that is read, colours that
  /// are not VOC's, and classes beyond those of classes.txt.
  explicit MaskFolder(const std::string& root, const MaskFolderOptions& options = {}, Line where = Line::current());

  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  Sample get(std::int64_t i) const;
  const std::vector<std::string>& classes() const { return classes_; }
  const std::string& file(std::int64_t i) const { return files_[static_cast<std::size_t>(i)]; }

 private:
  HostArray mask(std::size_t i) const;

  MaskFolderOptions options_;
  Line where_;
  std::vector<std::string> classes_, files_, masks_;
  bool is_binary_ = false;
};

/// Is it a folder of MaskFolder's kind?
bool has_masks(const std::string& root);

}  // namespace tegula::data
