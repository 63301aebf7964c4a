#include "tegula/data/object_labels.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/io/file.h"

namespace tegula::data {
namespace {

using Json = nlohmann::json;

std::string_view text_of(const io::Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class Coco {
 public:
  explicit Coco(std::string_view name) : name_(name) {}

  ObjectLabels labels_of(const Json& file) const {
    ObjectLabels out;
    std::map<std::int64_t, Json> kinds;
    each(file, "categories", [&](const Json& one, const std::string& where) { kinds[whole(one, "id", where)] = one; });
    std::map<std::int64_t, std::int64_t> class_of;
    for (const auto& [id, one] : kinds) {
      class_of[id] = static_cast<std::int64_t>(out.names.size());
      out.names.push_back(text(one, "name", "categories"));
    }
    std::map<std::int64_t, std::size_t> picture_of;
    each(file, "images", [&](const Json& one, const std::string& where) {
      if (!picture_of.emplace(whole(one, "id", where), out.pictures.size()).second)
        refuse(where + " with an id that is there already", "each once");
      out.pictures.push_back({text(one, "file_name", where), whole(one, "height", where), whole(one, "width", where), {}});
    });
    each(file, "annotations", [&](const Json& one, const std::string& where) {
      const auto picture = picture_of.find(whole(one, "image_id", where));
      if (picture == picture_of.end()) refuse(where + ".image_id = " + shown(one["image_id"]), "the id of one of its images");
      const auto kind = class_of.find(whole(one, "category_id", where));
      if (kind == class_of.end()) refuse(where + ".category_id = " + shown(one["category_id"]), "the id of one of its categories");
      const Json& box = field(one, "bbox", where);
      std::array<double, 4> sides{};
      if (!box.is_array() || box.size() != 4) refuse(where + ".bbox = " + shown(box), "[x, y, width, height]");
      for (std::size_t i = 0; i < 4; ++i) {
        if (!box[i].is_number() || !std::isfinite(box[i].get<double>())) refuse(where + ".bbox = " + shown(box), "[x, y, width, height]");
        sides[i] = box[i].get<double>();
      }
      LabelledObject object{{sides[0], sides[1], sides[0] + sides[2], sides[1] + sides[3]}, kind->second, sides[2] * sides[3]};
      if (one.contains("area") && one["area"].is_number()) object.area = one["area"].get<double>();
      if (one.contains("iscrowd") && one["iscrowd"].is_number_integer()) object.is_crowd = one["iscrowd"].get<std::int64_t>() != 0;
      out.pictures[picture->second].objects.push_back(object);
    });
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const {
    throw Error({.op = "read_coco", .got = "file " + name_ + ": " + got, .expected = expected});
  }
  template <class F>
  void each(const Json& file, const char* list, F f) const {
    if (!file.is_object() || !file.contains(list) || !file[list].is_array())
      refuse(std::string("no list ") + list, "COCO's images, annotations and categories");
    std::size_t i = 0;
    for (const Json& one : file[list]) {
      const std::string where = std::string(list) + "[" + std::to_string(i++) + "]";
      if (!one.is_object()) refuse(where + " = " + shown(one), "an object");
      f(one, where);
    }
  }
  const Json& field(const Json& one, const char* key, const std::string& where) const {
    const auto found = one.find(key);
    if (found == one.end()) refuse(where + " without " + key, "that key");
    return *found;
  }
  std::int64_t whole(const Json& one, const char* key, const std::string& where) const {
    const Json& value = field(one, key, where);
    if (!value.is_number_integer()) refuse(where + "." + key + " = " + shown(value), "a whole number");
    return value.get<std::int64_t>();
  }
  std::string text(const Json& one, const char* key, const std::string& where) const {
    const Json& value = field(one, key, where);
    if (!value.is_string()) refuse(where + "." + key + " = " + shown(value), "a text");
    return value.get<std::string>();
  }

  std::string name_;
};

/// The words of a line, as numbers; nothing where one is none.
std::optional<std::vector<double>> numbers_of(std::string_view line) {
  std::vector<double> out;
  constexpr std::string_view kSpace = " \t\r";
  for (std::size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos; at = line.find_first_not_of(kSpace, at)) {
    const std::string_view word = line.substr(at, line.find_first_of(kSpace, at) - at);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    out.push_back(value);
    at += word.size();
  }
  return out;
}

}  // namespace

ObjectLabels parse_coco(std::string_view json, std::string_view name) { return Coco(name).labels_of(parse_json(json, "read_coco", name)); }

ObjectLabels read_coco(const std::string& path) { return parse_coco(text_of(io::read_file(path, {.op = "read_coco"})), path); }

std::vector<LabelledObject> parse_yolo(std::string_view text, std::string_view name, std::int64_t classes, std::int64_t height,
                                       std::int64_t width) {
  std::vector<LabelledObject> out;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto words = numbers_of(line);
    if (words && words->empty()) continue;
    const auto is_share = [&](std::size_t i) { return (*words)[i] >= 0 && (*words)[i] <= 1; };
    const bool fits = words && words->size() == 5 && std::trunc((*words)[0]) == (*words)[0] && (*words)[0] >= 0 &&
                      (*words)[0] < static_cast<double>(classes) && is_share(1) && is_share(2) && is_share(3) && is_share(4);
    if (!fits) {
      throw Error({.op = "read_yolo",
                   .got = "file " + std::string(name) + ", line " + std::to_string(number) + ": " + std::string(line.substr(0, 80)),
                   .expected = "a class below " + std::to_string(classes) + ", and centre x, centre y, width and height from 0 to 1"});
    }
    const double w = (*words)[3] * static_cast<double>(width), h = (*words)[4] * static_cast<double>(height);
    const double x = (*words)[1] * static_cast<double>(width) - w / 2, y = (*words)[2] * static_cast<double>(height) - h / 2;
    out.push_back({{x, y, x + w, y + h}, static_cast<std::int64_t>((*words)[0]), w * h});
  }
  return out;
}

std::vector<LabelledObject> read_yolo(const std::string& path, std::int64_t classes, std::int64_t height, std::int64_t width) {
  return parse_yolo(text_of(io::read_file(path, {.op = "read_yolo"})), path, classes, height, width);
}

}  // namespace tegula::data
