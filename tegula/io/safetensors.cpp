#include "tegula/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/io/file.h"

namespace tegula::io {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian and copied as they are");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr std::string_view kMetadataKey = "__metadata__";

struct TypeName {
  std::string_view text;
  DType dtype;
};
constexpr TypeName kTypes[] = {{"F64", f64}, {"F32", f32}, {"F16", f16}, {"BF16", bf16}, {"I64", i64},
                               {"I32", i32}, {"I16", i16}, {"I8", i8},   {"U8", u8},     {"BOOL", boolean}};

struct Entry {
  std::string name;
  std::string type;                   // as written in the header
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets; // begin, end; bytes from the start of the data
  DType dtype = f32;
};

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
};

/// Throws the errors of one file.
struct Complaint {
  std::string file;
  [[noreturn]] void operator()(const std::string& got, std::string expected,
                               std::string advice = "the file is damaged, or is no safetensors file") const {
    throw Error({.op = "safetensors", .got = file + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
  }
};

/// Tensor names come from the file: shown whole they could fill the screen.
std::string in_quotes(const std::string& text) { return "'" + (text.size() <= 80 ? text : text.substr(0, 77) + "...") + "'"; }

/// Takes exactly the structure of a header, event by event, so that hostile JSON (deep, huge, of another kind) costs nothing:
///   {"__metadata__": {string: string…}, name: {"dtype": string, "shape": [unsigned…], "data_offsets": [unsigned, unsigned]}…}
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(Header& header, const Complaint& complain) : header_(header), complain_(complain) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a fraction"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (state_ != State::Numbers) unexpected("a number");
    if (numbers_->size() == kMaxNumbers)
      complain_("tensor " + name() + " with more than " + std::to_string(kMaxNumbers) + " sizes or offsets", "at most 8 dimensions");
    numbers_->push_back(value);
    return true;
  }
  bool string(string_t& text) override {
    if (state_ == State::Metadata) {
      header_.metadata[key_] = std::move(text);
    } else if (state_ == State::Tensor && key_ == "dtype") {
      entry().type = std::move(text);
    } else {
      unexpected("a string");
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (state_ == State::Start) {
      state_ = State::Top;
    } else if (state_ == State::Top && key_ == kMetadataKey) {
      state_ = State::Metadata;
    } else if (state_ == State::Top) {
      header_.entries.push_back({});
      header_.entries.back().name = key_;
      state_ = State::Tensor;
    } else {
      unexpected("an object");
    }
    if (state_ != State::Top) fields_.clear();
    return true;
  }
  bool key(string_t& text) override {
    key_ = std::move(text);
    auto& seen = state_ == State::Top ? names_ : fields_;
    if (!seen.insert(key_).second) complain_("the name " + in_quotes(key_) + " twice in the header", "names that differ");
    if (state_ == State::Tensor && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      complain_("field " + in_quotes(key_) + " of tensor " + name(), "dtype, shape and data_offsets");
    }
    return true;
  }
  bool end_object() override {
    if (state_ == State::Tensor && fields_.size() != 3)
      complain_("an incomplete entry for tensor " + name(), "dtype, shape and data_offsets");
    state_ = state_ == State::Top ? State::Done : State::Top;
    return true;
  }
  bool start_array(std::size_t) override {
    if (state_ != State::Tensor || key_ == "dtype") unexpected("an array");
    numbers_ = key_ == "shape" ? &entry().shape : &entry().offsets;
    state_ = State::Numbers;
    return true;
  }
  bool end_array() override {
    state_ = State::Tensor;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    complain_("a header that is not valid JSON near its byte " + std::to_string(position), "a JSON object");
  }

 private:
  enum class State { Start, Top, Metadata, Tensor, Numbers, Done };
  static constexpr std::size_t kMaxNumbers = 64;

  Entry& entry() { return header_.entries.back(); }
  std::string name() { return in_quotes(entry().name); }
  [[noreturn]] void unexpected(const char* what) {
    complain_(std::string(what) + (key_.empty() ? " as header" : " in the header at " + in_quotes(key_)),
              "tensors (dtype: string, shape and data_offsets: whole numbers) and " + std::string(kMetadataKey) + " (strings)");
  }

  Header& header_;
  const Complaint& complain_;
  State state_ = State::Start;
  std::string key_;
  std::vector<std::uint64_t>* numbers_ = nullptr;
  std::unordered_set<std::string> names_, fields_;
};

DType dtype_of_entry(const Entry& entry, const Complaint& complain) {
  for (const auto& [text, dtype] : kTypes) {
    if (text == entry.type) return dtype;
  }
  complain("dtype " + in_quotes(entry.type) + " of tensor " + in_quotes(entry.name), "F64 F32 F16 BF16 I64 I32 I16 I8 U8 or BOOL",
           "convert the tensor to one of these before saving it");
}

Shape shape_of(const Entry& entry) {
  Shape shape;
  for (auto size : entry.shape) shape.push_back(static_cast<std::int64_t>(size));
  return shape;
}

std::string list(const std::vector<std::uint64_t>& values) {
  std::string text;
  for (auto value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + ")";
}

/// Bytes of shape times dtype, or nothing when that passes 63 bits.
std::optional<std::uint64_t> bytes_of(const Entry& entry) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(entry.dtype));
  for (auto size : entry.shape) {
    if (size > static_cast<std::uint64_t>(INT64_MAX) || __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size), &bytes)) return {};
  }
  return static_cast<std::uint64_t>(bytes);
}

void check_entry(Entry& entry, const Complaint& complain) {
  entry.dtype = dtype_of_entry(entry, complain);
  const std::string tensor = " of tensor " + in_quotes(entry.name);
  if (entry.shape.size() > static_cast<std::size_t>(kMaxRank)) {
    complain("rank " + std::to_string(entry.shape.size()) + tensor, "at most " + std::to_string(kMaxRank) + " dimensions",
             "reshape the tensor before saving it");
  }
  if (entry.offsets.size() != 2) complain(std::to_string(entry.offsets.size()) + " data_offsets" + tensor, "two: begin and end");
  const auto bytes = bytes_of(entry);
  if (!bytes) complain("shape " + list(entry.shape) + tensor, "a size below 2^63 bytes");
  if (entry.offsets[1] < entry.offsets[0] || entry.offsets[1] - entry.offsets[0] != *bytes) {
    complain("data_offsets " + list(entry.offsets) + tensor,
             std::to_string(*bytes) + " bytes for shape " + list(entry.shape) + " of " + entry.type);
  }
}

/// The tensors must tile the data: in the order of their offsets each begins where the one before ended, and the last ends with the file.
void check_coverage(const Header& header, std::uint64_t data_bytes, const Complaint& complain) {
  std::vector<const Entry*> order;
  for (const auto& entry : header.entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->offsets < b->offsets; });
  std::uint64_t end = 0;
  for (const Entry* entry : order) {
    if (entry->offsets[0] != end) {
      complain("data_offsets " + list(entry->offsets) + " of tensor " + in_quotes(entry->name),
               "begin " + std::to_string(end) + ", where the tensor before ends (no gaps, no overlap)");
    }
    end = entry->offsets[1];
    if (end > data_bytes) {
      complain("data_offsets " + list(entry->offsets) + " of tensor " + in_quotes(entry->name) + " in " + std::to_string(data_bytes) +
                   " bytes of data",
               "offsets inside the file", "the file is truncated or damaged; fetch it again");
    }
  }
  if (end != data_bytes) complain(std::to_string(data_bytes) + " bytes of data", std::to_string(end) + ", where the last tensor ends");
}

/// The header's length, checked against the file's.
std::uint64_t header_length(std::span<const std::byte> prefix, std::uint64_t file_bytes, const Complaint& complain) {
  if (file_bytes < kLengthBytes) complain(std::to_string(file_bytes) + " bytes", "at least 8 bytes (the length of the header)");
  std::uint64_t length = 0;
  std::memcpy(&length, prefix.data(), kLengthBytes);
  if (length > kMaxHeader) complain("a header of " + std::to_string(length) + " bytes", "at most " + std::to_string(kMaxHeader));
  if (length > file_bytes - kLengthBytes) {
    complain("a header of " + std::to_string(length) + " bytes in a file of " + std::to_string(file_bytes), "a header inside the file",
             "the file is truncated, or is no safetensors file");
  }
  return length;
}

Header parse_header(std::span<const std::byte> text, std::uint64_t data_bytes, const Complaint& complain) {
  if (text.empty() || text[0] != std::byte{'{'}) complain("a header that does not begin with '{'", "a JSON object");
  // The JSON parser takes a zero byte for the end of its text, and would not look at what hides behind it.
  if (const auto zero = std::find(text.begin(), text.end(), std::byte{0}); zero != text.end())
    complain("a zero byte in the header at its byte " + std::to_string(zero - text.begin()), "a JSON object and spaces");
  Header header;
  HeaderReader reader(header, complain);
  const auto* begin = reinterpret_cast<const char*>(text.data());
  nlohmann::json::sax_parse(begin, begin + text.size(), &reader);
  for (auto& entry : header.entries) check_entry(entry, complain);
  check_coverage(header, data_bytes, complain);
  return header;
}

std::span<std::byte> bytes_in(const HostArray& array) { return {static_cast<std::byte*>(array.buffer->data()), array.bytes()}; }

/// Allocates every tensor and lets `fetch(offset in the data, bytes)` fill it.
template <class Fetch>
Safetensors collect(Header header, Fetch fetch) {
  Safetensors result{.tensors = {}, .metadata = std::move(header.metadata)};
  result.tensors.reserve(header.entries.size());
  for (auto& entry : header.entries) {
    HostArray array = HostArray::empty(entry.dtype, shape_of(entry));
    fetch(entry.offsets[0], bytes_in(array));
    if (entry.dtype == boolean) {
      for (auto& byte : bytes_in(array)) byte = std::byte{byte != std::byte{0}};
    }
    result.tensors.emplace_back(std::move(entry.name), std::move(array));
  }
  return result;
}

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  const Complaint complain{std::string(name)};
  const std::uint64_t length = header_length(bytes, bytes.size(), complain);
  const auto data = bytes.subspan(kLengthBytes + length);
  return collect(parse_header(bytes.subspan(kLengthBytes, length), data.size(), complain),
                 [&](std::uint64_t offset, std::span<std::byte> into) {
                   if (!into.empty()) std::memcpy(into.data(), data.data() + offset, into.size());
                 });
}

Safetensors read_safetensors(const std::string& path) {
  const Complaint complain{path};
  const InputFile file(path, "safetensors");
  Bytes prefix(std::min(file.size(), kLengthBytes));
  file.read_at(0, prefix);
  Bytes text(header_length(prefix, file.size(), complain));
  file.read_at(kLengthBytes, text);
  const std::uint64_t data = kLengthBytes + text.size();
  return collect(parse_header(text, file.size() - data, complain),
                 [&](std::uint64_t offset, std::span<std::byte> into) { file.read_at(data + offset, into); });
}

namespace {

std::string header_text(const NamedArrays& tensors, const std::vector<std::uint64_t>& begins, const Metadata& metadata,
                        const Complaint& complain) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  // push_back, not operator[]: ordered_json looks a key up in linear time, and names were checked already.
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, array] = tensors[i];
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeName& t) { return t.dtype == array.dtype; })->text;
    nlohmann::ordered_json entry = nlohmann::ordered_json::object();
    entry["dtype"] = std::string(type);
    entry["shape"] = std::vector<std::int64_t>(array.shape.begin(), array.shape.end());
    entry["data_offsets"] = {begins[i], begins[i] + array.bytes()};
    header.get_ref<nlohmann::ordered_json::object_t&>().push_back({name, std::move(entry)});
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    complain("a tensor name or metadata text that is not UTF-8", "UTF-8 text", "rename the tensor");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
  if (text.size() > kMaxHeader)
    complain("a header of " + std::to_string(text.size()) + " bytes", "at most " + std::to_string(kMaxHeader),
             "use fewer or shorter names and metadata");
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, const NamedArrays& tensors, const Metadata& metadata) {
  const Complaint complain{path};
  std::unordered_set<std::string_view> names;
  for (const auto& [name, array] : tensors) {
    if (name == kMetadataKey) complain("a tensor named " + in_quotes(name), "another name", "this name is reserved by the format");
    if (!names.insert(name).second) complain("two tensors named " + in_quotes(name), "names that differ", "rename one of them");
    if (!array.buffer)
      complain("tensor " + in_quotes(name) + " without a buffer", "an array that holds memory",
               "fill it first; it may have been moved from");
  }
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto left = size_of(tensors[a].second.dtype), right = size_of(tensors[b].second.dtype);
    return left != right ? left > right : a < b;
  });
  std::vector<std::uint64_t> begins(tensors.size());
  std::uint64_t end = 0;
  for (auto i : order) {
    begins[i] = end;
    end += tensors[i].second.bytes();
  }
  const std::string text = header_text(tensors, begins, metadata, complain);
  const std::uint64_t length = text.size();

  AtomicFile file(path, "safetensors");
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(text)));
  for (auto i : order) file.write(bytes_in(tensors[i].second));
  file.commit();
}

}  // namespace tegula::io
