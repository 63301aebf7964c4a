#include "tegula/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/mapped_file.h"
#include "tegula/io/safetensors_header.h"

namespace tegula::io {
namespace {

using namespace safetensors;

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian and copied as they are");

std::span<std::byte> bytes_in(const HostArray& array) { return {static_cast<std::byte*>(array.buffer->data()), array.bytes()}; }

/// Allocates a tensor and lets `fetch(offset in the data, bytes)` fill it. With a `mapped` file, whose data begin at `data`, the tensor is part of the mapping if possible.
template <class Fetch>
HostArray tensor_of(const Entry& entry, const Complaint& complain, const Fetch& fetch, MappedFile* mapped = nullptr,
                    std::uint64_t data = 0) {
  if (!entry.unreadable.empty()) complain_of(entry, complain);
  constexpr std::uint64_t kWorthMapping = 4096;
  const std::uint64_t bytes = entry.offsets[1] - entry.offsets[0];
  if (mapped && entry.stored->dtype != boolean && bytes >= kWorthMapping) {
    if (Ref<Buffer> part = mapped->buffer(data + entry.offsets[0], bytes)) return {entry.stored->dtype, entry.dims(), std::move(part)};
  }
  HostArray array = HostArray::empty(entry.stored->dtype, entry.dims());
  fetch(entry.offsets[0], bytes_in(array));
  if (entry.stored->dtype == boolean) {
    for (auto& byte : bytes_in(array)) byte = std::byte{byte != std::byte{0}};
  }
  return array;
}

/// All tensors that can be read; a warning names the others.
template <class Fetch>
Safetensors collect(Header header, const Complaint& complain, const Fetch& fetch, MappedFile* mapped = nullptr, std::uint64_t data = 0) {
  Safetensors result{.tensors = {}, .metadata = std::move(header.metadata)};
  result.tensors.reserve(header.entries.size());
  for (auto& entry : header.entries) {
    if (entry.unreadable.empty()) {
      HostArray array = tensor_of(entry, complain, fetch, mapped, data);
      result.tensors.emplace_back(std::move(entry.name), std::move(array));
    } else {
      warn("safetensors.unreadable", printable(complain.file + ": left out " + entry.unreadable + ", tensor " + in_quotes(entry.name)));
    }
  }
  return result;
}

/// A file whose header was read.
struct Opened {
  InputFile file;
  Header header;
  std::uint64_t data = 0;  // offset of the data

  explicit Opened(const Complaint& complain) : file(complain.file, "safetensors") {
    Bytes beginning(std::min<std::uint64_t>(file.size(), kKindBytes));
    file.read_at(0, beginning);
    Bytes text(header_length(beginning, file.size(), complain));
    file.read_at(kLengthBytes, text);
    data = kLengthBytes + text.size();
    header = parse_header(text, file.size() - data, complain);
  }
  auto fetch() const {
    return [this](std::uint64_t offset, std::span<std::byte> into) { file.read_at(data + offset, into); };
  }
};

}  // namespace

std::string list_text(const std::vector<std::string>& texts) {
  try {
    return nlohmann::json(texts).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error({.op = "list_text", .got = "a text that is not UTF-8", .expected = "UTF-8 text"});
  }
}

std::vector<std::string> listed_texts(const Metadata& metadata, const std::string& key, std::string_view name) {
  const Complaint complain{std::string(name)};
  const auto found = metadata.find(key);
  if (found == metadata.end())
    complain("no entry " + in_quotes(key), "a list of texts by that name", "tegula info shows the metadata of a file");
  const nlohmann::json list = try_parse_json(found->second);
  std::vector<std::string> out;
  const bool is_list = list.is_array() && std::all_of(list.begin(), list.end(), [](const nlohmann::json& one) { return one.is_string(); });
  if (!is_list)
    complain("the entry " + in_quotes(key) + ": " + in_quotes(printable(found->second)), "a list of texts, as io::list_text writes it");
  for (const nlohmann::json& one : list) out.push_back(one.get<std::string>());
  return out;
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view name) {
  const Complaint complain{std::string(name)};
  const std::uint64_t length = header_length(bytes, bytes.size(), complain);
  const auto data = bytes.subspan(kLengthBytes + length);
  return collect(parse_header(bytes.subspan(kLengthBytes, length), data.size(), complain), complain,
                 [&](std::uint64_t offset, std::span<std::byte> into) {
                   if (!into.empty()) std::memcpy(into.data(), data.data() + offset, into.size());
                 });
}

Safetensors read_safetensors(const std::string& path) {
  const Complaint complain{path};
  Opened opened(complain);
  const auto fetch = opened.fetch();
  return collect(std::move(opened.header), complain, fetch);
}

Safetensors map_safetensors(const std::string& path) {
  const Complaint complain{path};
  Opened opened(complain);
  const auto mapped = MappedFile::open(path, "safetensors");
  const auto fetch = opened.fetch();
  return collect(std::move(opened.header), complain, fetch, mapped.get(), opened.data);
}

HostArray read_safetensors(const std::string& path, const std::string& tensor) {
  const Complaint complain{path};
  const Opened opened(complain);
  for (const Entry& entry : opened.header.entries) {
    if (entry.name == tensor) return tensor_of(entry, complain, opened.fetch());
  }
  complain("no tensor " + in_quotes(tensor), "one of the file's tensors", "tegula info lists them");
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  Opened opened(Complaint{path});
  SafetensorsHeader out{.tensors = {}, .metadata = std::move(opened.header.metadata)};
  for (Entry& entry : opened.header.entries) {
    out.tensors.push_back({.name = std::move(entry.name),
                           .type = std::move(entry.type),
                           .shape = {entry.shape.begin(), entry.shape.end()},
                           .bytes = entry.offsets[1] - entry.offsets[0]});
  }
  return out;
}

namespace {

std::string header_text(const NamedArrays& tensors, const std::vector<std::uint64_t>& begins, const Metadata& metadata,
                        const Complaint& complain) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  // push_back, not operator[]: ordered_json looks a key up in linear time, and names were checked already.
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].first;  // no structured bindings: Clang 16 cannot capture them under OpenMP
    const HostArray& array = tensors[i].second;
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const StoredType& t) { return t.dtype == array.dtype; })->text;
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
  // The data begin at a multiple of kBufferAlignment: those of large tensors can be used where they lie.
  text.resize((kLengthBytes + text.size() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment - kLengthBytes, ' ');
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
    const HostArray &left = tensors[a].second, &right = tensors[b].second;
    const bool left_ends = left.bytes() % kBufferAlignment != 0, right_ends = right.bytes() % kBufferAlignment != 0;
    return std::tuple(left_ends, size_of(right.dtype), a) < std::tuple(right_ends, size_of(left.dtype), b);
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
