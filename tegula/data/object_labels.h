#pragma once
// Files that say which objects are where in pictures.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::data {

struct LabelledObject {
  std::array<double, 4> corners{};  // x0, y0, x1, y1 in pixels
  std::int64_t of_class = 0;        // an index in ObjectLabels::names
  double area = 0;                  // pixels of the object, or of its box where the file does not say
  bool is_crowd = false;
};
struct LabelledPicture {
  std::string file;
  std::int64_t height = 0, width = 0;
  std::vector<LabelledObject> objects;
};
struct ObjectLabels {
  std::vector<std::string> names;  // of classes
  std::vector<LabelledPicture> pictures;
};

/// A file of COCO's annotations (instances_val2017.json): pictures in the file's order, classes in that of their numbers, polygons and masks left out. Throws
/// Error, naming the file and the entry, for text that is no such JSON, for pictures and classes that are not there, and boxes that are no numbers.
ObjectLabels read_coco(const std::string& path);
/// The same from memory. `name` stands for the file in messages.
ObjectLabels parse_coco(std::string_view json, std::string_view name);

/// A label file of YOLO, a line for each object: class, centre x, centre y, width and height as shares of a picture of that height and width. Throws Error, naming
/// file and line, for lines of another form, classes outside [0, classes) and numbers outside [0, 1].
std::vector<LabelledObject> read_yolo(const std::string& path, std::int64_t classes, std::int64_t height, std::int64_t width);
std::vector<LabelledObject> parse_yolo(std::string_view text, std::string_view name, std::int64_t classes, std::int64_t height,
                                       std::int64_t width);

}  // namespace tegula::data
