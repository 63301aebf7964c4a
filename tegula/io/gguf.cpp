#include "tegula/io/gguf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"

namespace tegula::io {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMostKeys = 1 << 20;
constexpr std::size_t kLongestKey = 65535;  // the specification's limit

enum class Type : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  [[noreturn]] void fail(std::string got, std::string expected) const {
    throw Error({.op = "gguf",
                 .got = std::string(name_) + ": " + std::move(got),
                 .expected = std::move(expected),
                 .advice = "the file is damaged, or is no GGUF file"});
  }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string string() {
    const auto bytes = take(number<std::uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t place() const { return at_; }

  GgufValue value(Type type) {
    switch (type) {
      case Type::String: return string();
      case Type::Bool: return number<std::uint8_t>() != 0;
      case Type::F32: return static_cast<double>(number<float>());
      case Type::F64: return number<double>();
      case Type::U64: return unsigned_value(number<std::uint64_t>());
      case Type::Array: return array();
      default: return integer(type);
    }
  }

 private:
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left())
      fail("the end of the file at byte " + std::to_string(bytes_.size()), std::to_string(count - left()) + " more bytes");
    const auto out = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return out;
  }

  static GgufValue unsigned_value(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return value;
    return static_cast<std::int64_t>(value);
  }

  std::int64_t integer(Type type) {
    switch (type) {
      case Type::U8: return number<std::uint8_t>();
      case Type::I8: return number<std::int8_t>();
      case Type::U16: return number<std::uint16_t>();
      case Type::I16: return number<std::int16_t>();
      case Type::U32: return number<std::uint32_t>();
      case Type::I32: return number<std::int32_t>();
      case Type::I64:
      case Type::U64: return number<std::int64_t>();
      default: fail("a value of type " + std::to_string(static_cast<std::uint32_t>(type)), "a type from 0 to 12");
    }
  }

  /// Elements take at least a byte each, so that memory stays in proportion to the file, whatever it promises.
  template <class T, class F>
  std::vector<T> list(std::uint64_t count, std::size_t least_bytes, F element) {
    if (count > left() / least_bytes) fail("an array of " + std::to_string(count) + " elements", "no more than the rest of the file holds");
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(element());
    return out;
  }

  GgufValue array() {
    const auto type = static_cast<Type>(number<std::uint32_t>());
    const auto count = number<std::uint64_t>();
    switch (type) {
      case Type::String: return list<std::string>(count, 8, [&] { return string(); });
      case Type::Bool: return list<bool>(count, 1, [&] { return number<std::uint8_t>() != 0; });
      case Type::F32: return list<double>(count, 4, [&] { return static_cast<double>(number<float>()); });
      case Type::F64: return list<double>(count, 8, [&] { return number<double>(); });
      case Type::Array: fail("an array of arrays", "an array of numbers or strings");
      default: return list<std::int64_t>(count, 1, [&] { return integer(type); });
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::size_t at_ = 0;
};

template <class T>
const T& value_of(const GgufMetadata& metadata, std::string_view key, const char* kind) {
  const auto found = metadata.values.find(key);
  if (found == metadata.values.end()) {
    throw Error({.op = "gguf", .got = metadata.file + ": no key " + std::string(key), .expected = std::string("one with ") + kind});
  }
  const T* value = std::get_if<T>(&found->second);
  if (!value) {
    throw Error({.op = "gguf", .got = metadata.file + ": the key " + std::string(key) + " of another type", .expected = kind});
  }
  return *value;
}

}  // namespace

const std::string& GgufMetadata::text(std::string_view key) const { return value_of<std::string>(*this, key, "a text"); }
std::int64_t GgufMetadata::integer(std::string_view key) const { return value_of<std::int64_t>(*this, key, "a whole number"); }
bool GgufMetadata::truth(std::string_view key) const { return value_of<bool>(*this, key, "true or false"); }
const std::vector<std::string>& GgufMetadata::texts(std::string_view key) const {
  return value_of<std::vector<std::string>>(*this, key, "a list of texts");
}
const std::vector<double>& GgufMetadata::numbers(std::string_view key) const {
  return value_of<std::vector<double>>(*this, key, "a list of numbers");
}
const std::vector<std::int64_t>& GgufMetadata::integers(std::string_view key) const {
  return value_of<std::vector<std::int64_t>>(*this, key, "a list of whole numbers");
}

namespace {

GgufMetadata read_keys(Reader& reader, std::string_view name) {
  if (reader.number<std::uint32_t>() != kMagic) reader.fail("a file that does not begin with GGUF", "a GGUF file");
  GgufMetadata out;
  out.file = name;
  out.version = reader.number<std::uint32_t>();
  if (out.version != 2 && out.version != 3) reader.fail("version " + std::to_string(out.version), "2 or 3, little-endian");
  out.tensors = reader.number<std::uint64_t>();
  const auto keys = reader.number<std::uint64_t>();
  if (keys > kMostKeys) reader.fail(std::to_string(keys) + " keys", "at most " + std::to_string(kMostKeys));
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::string key = reader.string();
    if (key.size() > kLongestKey)
      reader.fail("a key of " + std::to_string(key.size()) + " bytes", "at most " + std::to_string(kLongestKey));
    const auto type = static_cast<Type>(reader.number<std::uint32_t>());
    if (!out.values.emplace(key, reader.value(type)).second)
      reader.fail("the key " + printable(key.substr(0, 80)) + " twice", "each key once");
  }
  return out;
}

/// Types of tensors in the order of their numbers (ggml.h); some numbers were given up.
constexpr std::string_view kTensorTypes[] = {"F32",     "F16",    "Q4_0",    "Q4_1",  "Q4_2",   "Q4_3",  "Q5_0",  "Q5_1",
                                             "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
                                             "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
                                             "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16"};

/// The beginning of a file, in which keys and names of tensors lie: files of many gigabytes are tensors.
Bytes header_of(const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  const InputFile file(path, "gguf");
  Bytes bytes(static_cast<std::size_t>(std::min(file.size(), kMost)));
  file.read_at(0, bytes);
  return bytes;
}

}  // namespace

GgufMetadata parse_gguf_metadata(std::span<const std::byte> bytes, std::string_view name) {
  refuse_other_kinds(bytes, {FileKind::Gguf}, "gguf", name, "a GGUF file");
  Reader reader(bytes, name);
  return read_keys(reader, name);
}

std::vector<GgufTensor> parse_gguf_tensors(std::span<const std::byte> bytes, std::string_view name) {
  refuse_other_kinds(bytes, {FileKind::Gguf}, "gguf", name, "a GGUF file");
  Reader reader(bytes, name);
  const GgufMetadata metadata = read_keys(reader, name);
  const std::uint64_t count = metadata.tensors;
  const std::uint64_t alignment =
      metadata.contains("general.alignment") ? static_cast<std::uint64_t>(metadata.integer("general.alignment")) : 32;
  if (alignment == 0 || alignment > (1 << 20)) reader.fail("an alignment of " + std::to_string(alignment), "one from 1 to 2^20");
  constexpr std::uint64_t kLeast = 8 + 4 + 4 + 8, kMostAxes = 8, kFurthest = std::uint64_t{1} << 60;  // bytes of a tensor's entry
  if (count > reader.left() / kLeast) reader.fail(std::to_string(count) + " tensors", "no more than the rest of the file holds");
  std::vector<GgufTensor> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor& tensor = out.emplace_back();
    tensor.name = reader.string();
    const auto axes = reader.number<std::uint32_t>();
    if (axes > kMostAxes) reader.fail(std::to_string(axes) + " axes of a tensor", "at most " + std::to_string(kMostAxes));
    for (std::uint32_t k = 0; k < axes; ++k) tensor.shape.push_back(reader.number<std::uint64_t>());
    const auto type = reader.number<std::uint32_t>();
    tensor.type = type < std::size(kTensorTypes) ? std::string(kTensorTypes[type]) : "type " + std::to_string(type);
    tensor.place = reader.number<std::uint64_t>();
    if (tensor.place > kFurthest) reader.fail("a tensor that begins at byte " + std::to_string(tensor.place), "one within the file");
  }
  const std::uint64_t begin = (reader.place() + alignment - 1) / alignment * alignment;
  for (GgufTensor& tensor : out) tensor.place += begin;
  return out;
}

GgufMetadata read_gguf_metadata(const std::string& path) { return parse_gguf_metadata(header_of(path), path); }
std::vector<GgufTensor> read_gguf_tensors(const std::string& path) {
  std::vector<GgufTensor> out = parse_gguf_tensors(header_of(path), path);
  const std::uint64_t size = InputFile(path, "gguf").size();
  for (const GgufTensor& tensor : out) {
    if (tensor.place <= size) continue;
    throw Error({.op = "gguf",
                 .got = printable(path + ": tensor " + tensor.name + ", which begins at byte " + std::to_string(tensor.place) + " of " +
                                  std::to_string(size)),
                 .expected = "a whole file",
                 .advice = "was it fetched to its end?"});
  }
  return out;
}

}  // namespace tegula::io
