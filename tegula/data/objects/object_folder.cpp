#include "tegula/data/objects/object_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/object_labels.h"
#include "tegula/data/objects/voc.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/png.h"

namespace tegula::data {
namespace {

constexpr std::int64_t kNoClass = 255;      // in a gray mask
constexpr std::int64_t kMostClasses = 1'000'000;

/// The regular files of a folder whose names end so, by name; those that begin with a dot are left out.
std::vector<std::string> files_ending(const std::string& folder, std::initializer_list<std::string_view> ends) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string extension = at->path().extension().string();
    std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::error_code ignored;
    if (at->path().filename().string().starts_with('.') || !std::filesystem::is_regular_file(at->path(), ignored)) continue;
    if (std::ranges::find(ends, extension) != ends.end()) out.push_back(at->path().string());
  }
  std::ranges::sort(out);
  return out;
}
std::vector<std::string> pictures_in(const std::string& folder) { return files_ending(folder, {".png", ".jpg", ".jpeg"}); }

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

/// root/name, or root itself where there is no such folder.
std::string part_or_root(const std::string& root, const char* name) {
  const std::string part = root + "/" + name;
  return io::is_folder(part) ? part : root;
}

/// The lines of root/classes.txt; nothing where there is no such file.
std::vector<std::string> listed_classes(const std::string& root) {
  std::vector<std::string> out;
  const std::string path = root + "/classes.txt";
  if (!io::is_there(path)) return out;
  const io::Bytes bytes = io::read_file(path, {.op = "classes.txt", .limit = std::size_t{64} << 20});
  std::string line;
  const auto finish = [&] {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) out.push_back(line);
    line.clear();
  };
  for (const std::byte byte : bytes) {
    if (byte == std::byte{'\n'}) finish();
    else line += static_cast<char>(byte);
  }
  finish();
  return out;
}

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(std::to_string(i));
  return out;
}

/// The picture that a label names: `name` in the root or one of the usual folders.
std::optional<std::string> picture_of(const std::string& root, const std::string& name) {
  for (const char* folder : {"", "images/", "JPEGImages/", "train/", "val/", "test/"}) {
    const std::string path = root + "/" + folder + name;
    if (io::is_there(path) && !io::is_folder(path)) return path;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_folder(const char* op, const std::string& got, const std::string& expected, const Line& where) {
  throw Error({.op = op, .got = printable(got), .expected = expected, .where = where});
}

}  // namespace

void ObjectFolder::read_coco_labels(const std::string& root, const std::string& json) {
  ObjectLabels labels = read_coco(json);
  classes_ = std::move(labels.names);
  for (const LabelledPicture& picture : labels.pictures) {
    const auto file = picture_of(root, picture.file);
    if (!file)
      refuse_folder("ObjectFolder", json + " with the picture " + picture.file, "that file in " + root + " or " + root + "/images", where_);
    Picture& mine = pictures_.emplace_back(Picture{*file, {}});
    for (const LabelledObject& object : picture.objects) {
      if (!object.is_crowd) mine.objects.push_back({object.corners, object.of_class});
    }
  }
}

void ObjectFolder::read_voc_labels(const std::string& root, const std::vector<std::string>& files) {
  ObjectLabels labels = read_voc(files);
  classes_ = std::move(labels.names);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const LabelledPicture& picture = labels.pictures[i];
    const auto file = picture_of(root, picture.file);
    if (!file)
      refuse_folder("ObjectFolder", files[i] + " with the picture " + picture.file, "that file in " + root + " or " + root + "/JPEGImages",
                    where_);
    Picture& mine = pictures_.emplace_back(Picture{*file, {}});
    for (const LabelledObject& object : picture.objects) {
      if (!object.is_crowd) mine.objects.push_back({object.corners, object.of_class});
    }
  }
}

void ObjectFolder::read_yolo_labels(const std::string& root, const std::vector<std::string>& pictures) {
  in_shares_ = true;
  classes_ = listed_classes(root);
  const std::int64_t known = classes_.empty() ? kMostClasses : static_cast<std::int64_t>(classes_.size());
  const std::string labels = part_or_root(root, "labels");
  std::int64_t greatest = -1;
  bool has_labels = false;
  for (const std::string& picture : pictures) {
    Picture& mine = pictures_.emplace_back(Picture{picture, {}});
    const std::string path = labels + "/" + stem(picture) + ".txt";
    if (!io::is_there(path)) continue;  // a picture without objects
    has_labels = true;
    for (const LabelledObject& object : read_yolo(path, known, 1, 1)) {
      mine.objects.push_back({object.corners, object.of_class});
      greatest = std::max(greatest, object.of_class);
    }
  }
  if (!has_labels) {
    refuse_folder("ObjectFolder", root + " without labels",
                  "labels of COCO (annotations.json), VOC (Annotations/*.xml) or YOLO (labels/*.txt)", where_);
  }
  if (classes_.empty()) classes_ = numbered_classes(greatest + 1);
}

ObjectFolder::ObjectFolder(const std::string& root, const ObjectFolderOptions& options, Line where) : options_(options), where_(where) {
  if (options.size < 1 || options.most < 0)
    refuse_folder("ObjectFolder", "size " + std::to_string(options.size) + ", most " + std::to_string(options.most), "at least 1 and 0",
                  where);
  if (!io::is_folder(root)) refuse_folder("ObjectFolder", root + ", which is no folder", "a folder of pictures with labels", where);
  std::vector<std::string> json = files_ending(root, {".json"});
  for (const std::string& more : files_ending(root + "/annotations", {".json"})) json.push_back(more);
  if (const auto usual = std::ranges::find(json, root + "/annotations.json"); usual != json.end()) json = {std::string(*usual)};
  const std::vector<std::string> xml = files_ending(part_or_root(root, "Annotations"), {".xml"});
  if (json.size() > 1)
    refuse_folder("ObjectFolder", root + " with " + std::to_string(json.size()) + " .json files", "one, or annotations.json", where);
  if (!json.empty()) read_coco_labels(root, json[0]);
  else if (!xml.empty()) read_voc_labels(root, xml);
  else read_yolo_labels(root, pictures_in(part_or_root(root, "images")));
  if (pictures_.empty() || classes_.empty())
    refuse_folder("ObjectFolder", root + " without " + (pictures_.empty() ? "pictures" : "objects"), "pictures with objects in them",
                  where);
  if (options_.most == 0) {
    for (const Picture& picture : pictures_) options_.most = std::max(options_.most, static_cast<std::int64_t>(picture.objects.size()));
  }
}

Sample ObjectFolder::get(std::int64_t i) const {
  const Picture& picture = pictures_[static_cast<std::size_t>(i)];
  HostArray image = to_image(io::read_picture(picture.file), options_.colours);
  const double height = in_shares_ ? static_cast<double>(image.shape[1]) : 1, width = in_shares_ ? static_cast<double>(image.shape[2]) : 1;
  HostArray boxes = HostArray::empty(f32, {options_.most, 4}), classes = HostArray::empty(i64, {options_.most});
  std::ranges::fill(boxes.values<float>(), 0.0f);
  std::ranges::fill(classes.values<std::int64_t>(), -1);
  for (std::size_t k = 0; k < std::min(picture.objects.size(), static_cast<std::size_t>(options_.most)); ++k) {
    const auto& [corners, of_class] = picture.objects[k];
    for (std::size_t side = 0; side < 4; ++side)
      boxes.values<float>()[4 * k + side] = static_cast<float>(corners[side] * (side % 2 == 0 ? width : height));
    classes.values<std::int64_t>()[k] = of_class;
  }
  return fitted({std::move(image), std::move(boxes), std::move(classes)}, options_.size, options_.size);
}

bool has_masks(const std::string& root) {
  return io::is_folder(root + "/masks") || (io::is_folder(root + "/SegmentationClass") && io::is_folder(root + "/JPEGImages"));
}

MaskFolder::MaskFolder(const std::string& root, const MaskFolderOptions& options, Line where) : options_(options), where_(where) {
  if (options.size < 1) refuse_folder("MaskFolder", "size " + std::to_string(options.size), "at least 1", where);
  if (!has_masks(root)) refuse_folder("MaskFolder", root, "images and masks in it, or JPEGImages and SegmentationClass", where);
  const bool is_voc = !io::is_folder(root + "/masks");
  const std::string folder = root + (is_voc ? "/SegmentationClass" : "/masks");
  std::map<std::string, std::string> pictures;
  for (const std::string& file : pictures_in(root + (is_voc ? "/JPEGImages" : "/images"))) pictures[stem(file)] = file;
  for (const std::string& mask : files_ending(folder, {".png"})) {
    const auto picture = pictures.find(stem(mask));
    if (picture == pictures.end()) refuse_folder("MaskFolder", mask + " without a picture", "a picture with the same name", where);
    files_.push_back(picture->second);
    masks_.push_back(mask);
  }
  if (files_.empty()) refuse_folder("MaskFolder", folder + " without masks", "a .png file for each picture", where);
  std::set<std::int64_t> values;
  for (std::size_t i = 0; i < masks_.size(); ++i) {
    const HostArray one = mask(i);
    const auto pixels = one.values<std::int64_t>();
    values.insert(pixels.begin(), pixels.end());
  }
  is_binary_ = std::ranges::all_of(values, [](std::int64_t value) { return value == 0 || value == kNoClass; });
  values.erase(kNoClass);
  const std::int64_t count = is_binary_ ? 2 : *values.rbegin() + 1;
  classes_ = listed_classes(root);
  if (classes_.empty()) classes_ = numbered_classes(count);
  if (static_cast<std::int64_t>(classes_.size()) < count) {
    refuse_folder("MaskFolder", "masks of " + std::to_string(count) + " classes",
                  "at most the " + std::to_string(classes_.size()) + " of " + root + "/classes.txt", where);
  }
}

/// Classes (H, W) as the file has them.
HostArray MaskFolder::mask(std::size_t i) const {
  const HostArray picture = io::read_png(masks_[i]);
  const std::int64_t channels = picture.shape[2];
  HostArray out = HostArray::empty(i64, {picture.shape[0], picture.shape[1]});
  const auto bytes = picture.values<std::uint8_t>();
  auto to = out.values<std::int64_t>().begin();
  for (std::size_t p = 0; p < bytes.size(); p += static_cast<std::size_t>(channels)) {
    const std::int64_t of_class = channels < 3 ? bytes[p] : voc_class(bytes[p], bytes[p + 1], bytes[p + 2]);
    if (of_class < 0) {
      refuse_folder("MaskFolder",
                    masks_[i] + " with the colour (" + std::to_string(bytes[p]) + ", " + std::to_string(bytes[p + 1]) + ", " +
                        std::to_string(bytes[p + 2]) + ")",
                    "gray values, or the colours of Pascal VOC", where_);
    }
    *to++ = of_class;
  }
  return out;
}

Sample MaskFolder::get(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  HostArray image = to_image(io::read_picture(files_[at]), options_.colours), classes = mask(at);
  if (classes.shape != Shape{image.shape[1], image.shape[2]}) {
    refuse_folder("MaskFolder", masks_[at] + " of " + to_string(classes.shape) + " pixels",
                  to_string(Shape{image.shape[1], image.shape[2]}) + ", as " + files_[at] + " has", where_);
  }
  for (std::int64_t& value : classes.values<std::int64_t>()) {
    if (is_binary_) value = value == 0 ? 0 : 1;
    else if (value == kNoClass) value = -1;
  }
  return fitted({std::move(image), std::move(classes)}, options_.size, options_.size, {.mask = -1});
}

}  // namespace tegula::data
