#include "tegula/io/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file_kind.h"

namespace tegula::io::safetensors {
namespace {

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

std::string list(const std::vector<std::uint64_t>& values) {
  std::string text;
  for (auto value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + ")";
}

/// Bytes of shape times dtype in the file, or nothing when that passes 63 bits.
std::optional<std::uint64_t> bytes_of(const Entry& entry) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(entry.stored->dtype));
  for (auto size : entry.shape) {
    if (size > static_cast<std::uint64_t>(INT64_MAX) || __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size), &bytes)) return {};
  }
  return static_cast<std::uint64_t>(bytes);
}

void check_entry(Entry& entry, const Complaint& complain) {
  const std::string tensor = " of tensor " + in_quotes(entry.name);
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const StoredType& one) { return one.text == entry.type; });
  if (entry.offsets.size() != 2) complain(std::to_string(entry.offsets.size()) + " data_offsets" + tensor, "two: begin and end");
  if (type == std::end(kTypes)) {
    if (entry.offsets[1] < entry.offsets[0]) complain("data_offsets " + list(entry.offsets) + tensor, "an end behind the begin");
    entry.unreadable = "dtype " + in_quotes(entry.type);
    return;  // its size in bytes is unknown
  }
  entry.stored = type;
  if (entry.shape.size() > static_cast<std::size_t>(kMaxRank)) entry.unreadable = "rank " + std::to_string(entry.shape.size());
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

}  // namespace

void Complaint::operator()(const std::string& got, std::string expected, std::string advice) const {
  throw Error({.op = "safetensors", .got = file + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
}

std::string in_quotes(const std::string& text) { return "'" + (text.size() <= 80 ? text : text.substr(0, 77) + "...") + "'"; }

Shape Entry::dims() const {
  Shape dims;
  for (auto size : shape) dims.push_back(static_cast<std::int64_t>(size));
  return dims;
}

std::uint64_t header_length(std::span<const std::byte> beginning, std::uint64_t file_bytes, const Complaint& complain) {
  refuse_other_kinds(beginning, {FileKind::Safetensors}, "safetensors", complain.file, "a safetensors file");
  if (file_bytes < kLengthBytes) complain(std::to_string(file_bytes) + " bytes", "at least 8 bytes (the length of the header)");
  std::uint64_t length = 0;
  std::memcpy(&length, beginning.data(), kLengthBytes);
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

void complain_of(const Entry& entry, const Complaint& complain) {
  const std::string got = entry.unreadable + " of tensor " + in_quotes(entry.name);
  if (entry.stored) complain(got, "at most " + std::to_string(kMaxRank) + " dimensions", "reshape the tensor before saving it");
  complain(got, "F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 F8_E4M3 F8_E5M2 or BOOL",
           "convert the tensor to one of these before saving it");
}

}  // namespace tegula::io::safetensors
