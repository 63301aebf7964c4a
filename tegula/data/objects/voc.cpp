#include "tegula/data/objects/voc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"

#if TEGULA_HAS_EXPAT
#include <expat.h>
#endif

namespace tegula::data {
namespace {

constexpr const char* kOp = "read_voc";

#if TEGULA_HAS_EXPAT

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of a file, which describes one picture
constexpr std::size_t kMostText = 4096;                    // of a field
constexpr std::size_t kDeepest = 32;                       // elements within each other

/// The contents of one file. Expat calls back through C, which no exception may cross: the first complaint stops the parser and is thrown behind it.
class VocFile {
 public:
  explicit VocFile(std::string_view name) : name_(name) {}

  void parse(std::string_view xml) {
    if (xml.size() > kMostBytes) complain(std::to_string(xml.size()) + " bytes", "at most " + bytes_text(kMostBytes));
    parser_.reset(XML_ParserCreate(nullptr));
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(), [](void* self, const char* element, const char**) { static_cast<VocFile*>(self)->begin(element); },
        [](void* self, const char*) { static_cast<VocFile*>(self)->end(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int size) {
      static_cast<VocFile*>(self)->add({text, static_cast<std::size_t>(size)});
    });
    XML_SetStartDoctypeDeclHandler(parser_.get(), [](void* self, const char*, const char*, const char*, int) {
      static_cast<VocFile*>(self)->stop("a document type", "plain elements");  // entities could grow without bound
    });
    const bool is_read = XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE) == XML_STATUS_OK;
    if (complaint_) throw *complaint_;
    if (!is_read) complain(XML_ErrorString(XML_GetErrorCode(parser_.get())), "XML");
    if (!is_annotation_) complain("no <annotation>", "a file of Pascal VOC");
  }

  LabelledPicture picture;
  std::vector<std::string> kinds;  // of the picture's objects

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  /// An object before its end.
  struct Object {
    std::string name;
    std::array<std::optional<double>, 4> sides;  // xmin, ymin, xmax, ymax
    bool is_difficult = false;
  };

  Error error(const std::string& got, const std::string& expected) const {
    const auto line = parser_ ? static_cast<unsigned long long>(XML_GetCurrentLineNumber(parser_.get())) : 0;
    return Error({.op = kOp,
                  .got = "file " + printable(name_) + (line > 0 ? ", line " + std::to_string(line) : "") + ": " + printable(got),
                  .expected = expected});
  }
  [[noreturn]] void complain(const std::string& got, const std::string& expected) const { throw error(got, expected); }
  void stop(const std::string& got, const std::string& expected) {
    if (complaint_) return;
    complaint_.emplace(error(got, expected));
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void begin(std::string_view element) {
    if (path_.size() == kDeepest) return stop("more than 32 elements within each other", "those of Pascal VOC");
    path_.emplace_back(element.substr(0, kMostText));
    text_.clear();
    if (path_.size() == 1) {
      is_annotation_ = element == "annotation";
      if (!is_annotation_) stop("<" + path_.back() + ">", "<annotation>");
    }
    if (is_at({"annotation", "object"})) object_ = {};
  }
  void add(std::string_view text) {
    if (text_.size() + text.size() > kMostText) return stop("a field of more than 4096 bytes", "a name or a number");
    text_ += text;
  }
  void end() {
    const std::string value = trimmed();
    if (is_at({"annotation", "filename"})) picture.file = value;
    if (is_at({"annotation", "size", "height"})) picture.height = pixels(value);
    if (is_at({"annotation", "size", "width"})) picture.width = pixels(value);
    if (is_at({"annotation", "object", "name"})) object_.name = value;
    if (is_at({"annotation", "object", "difficult"})) object_.is_difficult = value == "1";
    constexpr std::array<std::string_view, 4> kSides{"xmin", "ymin", "xmax", "ymax"};
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      if (is_at({"annotation", "object", "bndbox", kSides[i]})) object_.sides[i] = number(value);
    }
    if (is_at({"annotation", "object"})) finish_object();
    path_.pop_back();
    text_.clear();
  }

  bool is_at(std::initializer_list<std::string_view> path) const { return std::ranges::equal(path_, path); }
  std::string trimmed() const {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = text_.find_first_not_of(kSpace);
    return first == std::string::npos ? "" : text_.substr(first, text_.find_last_not_of(kSpace) + 1 - first);
  }
  std::optional<double> number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(value)) return value;
    stop("<" + path_.back() + "> " + text.substr(0, 40), "a number");
    return std::nullopt;
  }
  std::int64_t pixels(const std::string& text) {
    constexpr double kMost = 1e9;
    const double value = number(text).value_or(0);
    if (value >= 0 && value <= kMost && std::trunc(value) == value) return static_cast<std::int64_t>(value);
    stop("<" + path_.back() + "> " + text.substr(0, 40), "a number of pixels");
    return 0;
  }
  void finish_object() {
    const auto& [left, top, right, bottom] = object_.sides;
    if (object_.name.empty()) return stop("an object without a name", "<name>");
    if (!left || !top || !right || !bottom) return stop("an object " + object_.name + " without its box", "<xmin>, <ymin>, <xmax>, <ymax>");
    const double width = *right - *left + 1, height = *bottom - *top + 1;
    picture.objects.push_back({{*left - 1, *top - 1, *right, *bottom}, 0, width * height, object_.is_difficult});
    kinds.push_back(object_.name);
  }

  std::string name_;
  std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::vector<std::string> path_;  // the elements that are open
  std::string text_;
  Object object_;
  std::optional<Error> complaint_;
  bool is_annotation_ = false;
};

/// The classes of all files together, by the alphabet.
ObjectLabels together(std::vector<VocFile> files) {
  std::map<std::string, std::int64_t> numbers;
  for (const VocFile& file : files) {
    for (const std::string& kind : file.kinds) numbers[kind] = 0;
  }
  ObjectLabels out;
  for (auto& [kind, number] : numbers) {
    number = static_cast<std::int64_t>(out.names.size());
    out.names.push_back(kind);
  }
  for (VocFile& file : files) {
    for (std::size_t i = 0; i < file.kinds.size(); ++i) file.picture.objects[i].of_class = numbers[file.kinds[i]];
    out.pictures.push_back(std::move(file.picture));
  }
  return out;
}

VocFile parsed(std::string_view xml, std::string_view name) {
  VocFile file(name);
  file.parse(xml);
  return file;
}

#endif

}  // namespace

#if TEGULA_HAS_EXPAT

ObjectLabels parse_voc(std::string_view xml, std::string_view name) {
  std::vector<VocFile> files;
  files.push_back(parsed(xml, name));
  return together(std::move(files));
}

ObjectLabels read_voc(std::span<const std::string> paths) {
  std::vector<VocFile> files;
  for (const std::string& path : paths) {
    const io::Bytes bytes = io::read_file(path, {.op = kOp, .limit = kMostBytes});
    files.push_back(parsed({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path));
  }
  return together(std::move(files));
}

#else

ObjectLabels parse_voc(std::string_view, std::string_view name) {
  throw Error({.op = kOp,
               .got = printable(name) + ", a label of Pascal VOC",
               .expected = "a Tegula that was built with Expat",
               .advice = "install libexpat1-dev and build again"});
}
ObjectLabels read_voc(std::span<const std::string> paths) { return parse_voc({}, paths.empty() ? "no file" : paths[0]); }

#endif

std::array<std::uint8_t, 3> voc_colour(std::uint8_t of_class) {
  std::array<unsigned, 3> colour{};
  for (unsigned bit = 0; bit < 8; ++bit) colour[bit % 3] |= (of_class >> bit & 1U) << (7 - bit / 3);
  return {static_cast<std::uint8_t>(colour[0]), static_cast<std::uint8_t>(colour[1]), static_cast<std::uint8_t>(colour[2])};
}

std::int64_t voc_class(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  const std::array<unsigned, 3> colour{red, green, blue};
  unsigned out = 0;
  for (unsigned bit = 0; bit < 8; ++bit) out |= (colour[bit % 3] >> (7 - bit / 3) & 1U) << bit;
  const auto of_class = static_cast<std::uint8_t>(out);
  return voc_colour(of_class) == std::array<std::uint8_t, 3>{red, green, blue} ? of_class : -1;
}

}  // namespace tegula::data
