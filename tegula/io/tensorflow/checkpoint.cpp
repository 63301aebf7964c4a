// The index is a table of LevelDB (its doc/table_format.md): blocks of keys and values, each behind a byte for its compression and a CRC, and a footer with the place
// of a block that lists the others. The values are BundleEntryProto of TensorFlow's tensor_bundle.proto.

#include "tegula/io/tensorflow/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/event_file.h"
#include "tegula/io/file.h"
#include "tegula/io/wire.h"

namespace tegula::io {
namespace {

constexpr std::string_view kGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

[[noreturn]] void fail(std::string_view name, const std::string& got, const std::string& expected = "a checkpoint of TensorFlow",
                       const std::string& advice = "the file is truncated or damaged") {
  throw Error({.op = "checkpoint", .got = printable(std::string(name) + ": " + got), .expected = expected, .advice = advice});
}

/// A table in memory.
class Table {
 public:
  Table(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  /// Calls `entry` with each key and value, in the order of the keys.
  template <class F>
  void each(F entry) {
    constexpr std::size_t kFooter = 48;
    constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
    if (bytes_.size() < kFooter) fail(name_, std::to_string(bytes_.size()) + " bytes", "an index, which ends in 48 bytes of its own");
    const auto footer = bytes_.last(kFooter);
    std::uint64_t magic = 0;
    std::memcpy(&magic, footer.data() + 40, 8);
    if (magic != kMagic) fail(name_, "a file that does not end as a table does", "a checkpoint's index (variables.index)");
    std::size_t at = 0;
    const std::uint64_t metadata = varint(footer, at), metadata_size = varint(footer, at);
    block(metadata, metadata_size);  // holds nothing, but its CRC should be right
    const std::uint64_t offset = varint(footer, at), size = varint(footer, at);
    each_of_block(block(offset, size), [&](std::string_view, std::span<const std::byte> handle) {
      std::size_t place = 0;
      const std::uint64_t begin = varint(handle, place), length = varint(handle, place);
      taken_ += length;
      if (taken_ > bytes_.size()) fail(name_, "blocks that lie over each other");
      each_of_block(block(begin, length), entry);
    });
  }

 private:
  std::uint64_t varint(std::span<const std::byte> bytes, std::size_t& at) const {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == bytes.size()) fail(name_, "an end within a number");
      const auto byte = static_cast<std::uint64_t>(bytes[at++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail(name_, "a number of more than 64 bits");
  }

  std::span<const std::byte> block(std::uint64_t offset, std::uint64_t size) const {
    constexpr std::uint64_t kTrailer = 5;  // the compression and the CRC
    if (offset > bytes_.size() || size > bytes_.size() - offset || bytes_.size() - offset - size < kTrailer)
      fail(name_, "a block outside of the file");
    const auto whole = bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size + kTrailer));
    std::uint32_t crc = 0;
    std::memcpy(&crc, whole.data() + size + 1, 4);
    if (masked_crc32c(text_of(whole.first(static_cast<std::size_t>(size) + 1))) != crc) fail(name_, "a block whose CRC is wrong");
    if (whole[static_cast<std::size_t>(size)] != std::byte{0})
      fail(name_, "a compressed table", "a table without compression, as TensorFlow writes it", "");
    return whole.first(static_cast<std::size_t>(size));
  }

  /// A key is told by how many bytes it shares with the one before, and the rest.
  template <class F>
  void each_of_block(std::span<const std::byte> block, F entry) const {
    if (block.size() < 4) fail(name_, "a block without its end");
    std::uint32_t restarts = 0;
    std::memcpy(&restarts, block.data() + block.size() - 4, 4);
    if (restarts > block.size() / 4 - 1) fail(name_, "a block without its end");
    const auto entries = block.first(block.size() - 4 - 4 * std::size_t{restarts});
    std::string key;
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < entries.size();) {
      const std::uint64_t shared = varint(entries, at), rest = varint(entries, at), length = varint(entries, at);
      const std::size_t left = entries.size() - at;
      if (shared > key.size() || rest > left || length > left - rest) fail(name_, "an entry that leaves its block");
      key.resize(static_cast<std::size_t>(shared));
      key += text_of(entries.subspan(at, static_cast<std::size_t>(rest)));
      at += static_cast<std::size_t>(rest);
      // Keys that share all but a byte could fill the memory.
      bytes += key.size();
      if (bytes > kMostCopies * bytes_.size()) fail(name_, "keys of more than " + std::to_string(kMostCopies) + " times the file's bytes");
      entry(std::string_view(key), entries.subspan(at, static_cast<std::size_t>(length)));
      at += static_cast<std::size_t>(length);
    }
  }

  static constexpr std::uint64_t kMostCopies = 100;
  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::uint64_t taken_ = 0;
};

WireSource source(std::string_view name) {
  return {.op = "checkpoint", .name = name, .expected = "a checkpoint of TensorFlow", .advice = "the file is truncated or damaged"};
}

CheckpointEntry entry_of(std::string_view key, std::span<const std::byte> message, std::string_view name) {
  CheckpointEntry out{.key = std::string(key)};
  WireReader reader(message, source(name));
  for (WireField field; reader.next(field);) {
    if (field.number == 1) out.type = field.value;
    if (field.number == 3) out.shard = field.value;
    if (field.number == 4) out.offset = field.value;
    if (field.number == 5) out.bytes = field.value;
    if (field.number == 6) out.crc = static_cast<std::uint32_t>(field.value);
    if (field.number == 7) out.has_slices = true;
    if (field.number != 2) continue;
    WireReader shape(field.bytes, source(name));
    for (WireField axis; shape.next(axis);) {
      if (axis.number != 2) continue;
      WireReader size(axis.bytes, source(name));
      std::uint64_t value = 0;
      for (WireField one; size.next(one);)
        if (one.number == 1) value = one.value;
      out.shape.push_back(value);
    }
  }
  return out;
}

/// TensorFlow's numbers of types (types.proto).
constexpr std::pair<std::uint64_t, DType> kTypes[] = {{1, DType::f32},   {2, DType::f64},   {3, DType::i32},  {4, DType::u8},
                                                      {5, DType::i16},   {6, DType::i8},    {9, DType::i64},  {10, DType::boolean},
                                                      {14, DType::bf16}, {17, DType::u16},  {19, DType::f16}, {22, DType::u32},
                                                      {23, DType::u64},  {24, DType::e5m2}, {25, DType::e4m3}};

/// The files of numbers beside an index.
class Shards {
 public:
  Shards(std::string prefix, std::uint64_t count) : prefix_(std::move(prefix)), count_(count) {}

  Bytes read(const CheckpointEntry& entry) {
    if (entry.shard >= count_) fail(prefix_, entry.key + ": file " + std::to_string(entry.shard) + " of " + std::to_string(count_));
    auto& file = files_[entry.shard];
    if (!file)
      file = std::make_unique<InputFile>(prefix_ + ".data-" + five_digits(entry.shard) + "-of-" + five_digits(count_), "checkpoint");
    if (entry.offset > file->size() || entry.bytes > file->size() - entry.offset)
      fail(prefix_, entry.key + ": " + std::to_string(entry.bytes) + " bytes that the file does not hold");
    taken_ += entry.bytes;
    if (taken_ > kMostCopies * file->size() + (1 << 20)) fail(prefix_, "variables that lie over each other");
    Bytes out(static_cast<std::size_t>(entry.bytes));
    file->read_at(entry.offset, out);
    return out;
  }

 private:
  static constexpr std::uint64_t kMostCopies = 16;
  static std::string five_digits(std::uint64_t n) {
    const std::string digits = std::to_string(n);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
  }
  std::string prefix_;
  std::uint64_t count_, taken_ = 0;
  std::map<std::uint64_t, std::unique_ptr<InputFile>> files_;
};

/// The variables' own names by key, from the graph of objects that a checkpoint holds as a text (trackable_object_graph.proto).
std::map<std::string, std::string, std::less<>> own_names(std::span<const std::byte> stored, std::string_view name) {
  // The text's length, a CRC of it, the text.
  std::size_t at = 0;
  while (at < stored.size() && (stored[at] & std::byte{0x80}) != std::byte{0}) ++at;
  at += 1 + 4;
  std::map<std::string, std::string, std::less<>> out;
  if (at >= stored.size()) return out;
  WireReader graph(stored.subspan(at), source(name));
  for (WireField node; graph.next(node);) {
    if (node.number != 1 || node.wire != Wire::Bytes) continue;
    WireReader object(node.bytes, source(name));
    for (WireField attribute; object.next(attribute);) {
      if (attribute.number != 2 || attribute.wire != Wire::Bytes) continue;
      std::string own, key;
      WireReader reader(attribute.bytes, source(name));
      for (WireField field; reader.next(field);) {
        if (field.number == 2) own = text_of(field.bytes);
        if (field.number == 3) key = text_of(field.bytes);
      }
      if (!own.empty()) out[key] = own;
    }
  }
  return out;
}

HostArray array_of(const CheckpointEntry& entry, DType dtype, const Bytes& bytes, std::string_view name) {
  if (masked_crc32c(text_of(bytes)) != entry.crc) fail(name, entry.key + ": numbers whose CRC is wrong");
  if (entry.shape.size() > static_cast<std::size_t>(kMaxRank))
    fail(name, entry.key + ": " + std::to_string(entry.shape.size()) + " axes", "at most " + std::to_string(kMaxRank), "");
  Shape shape;
  double count = 1;
  for (const std::uint64_t size : entry.shape) {
    shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(size, std::uint64_t{1} << 62)));
    count *= static_cast<double>(size);
  }
  if (count * static_cast<double>(size_of(dtype)) != static_cast<double>(bytes.size()))
    fail(name, entry.key + ": " + std::to_string(bytes.size()) + " bytes for " + to_string(shape));
  HostArray out = HostArray::empty(dtype, shape);
  if (!bytes.empty()) std::memcpy(out.buffer->data(), bytes.data(), bytes.size());
  return out;
}

std::string prefix_of(const std::string& path) {
  if (is_folder(path)) return path + "/variables/variables";
  constexpr std::string_view kEnd = ".index";
  return path.ends_with(kEnd) ? path.substr(0, path.size() - kEnd.size()) : path;
}

}  // namespace

std::vector<CheckpointEntry> parse_checkpoint_index(std::span<const std::byte> bytes, std::string_view name, std::uint64_t* shards) {
  std::vector<CheckpointEntry> out;
  bool has_header = false;
  Table(bytes, name).each([&](std::string_view key, std::span<const std::byte> value) {
    if (!key.empty()) return void(out.push_back(entry_of(key, value, name)));
    has_header = true;
    WireReader header(value, source(name));
    for (WireField field; header.next(field);) {
      if (field.number == 1 && shards) *shards = field.value;
      if (field.number == 2 && field.value != 0) fail(name, "numbers in big-endian order", "a little-endian checkpoint", "");
    }
  });
  if (!has_header) fail(name, "a table without the header of a checkpoint", "a checkpoint's index", "");
  return out;
}

std::vector<CheckpointVariable> read_checkpoint(const std::string& path, Contents contents) {
  const std::string prefix = prefix_of(path), index = prefix + ".index";
  std::uint64_t count = 1;
  const auto entries = parse_checkpoint_index(read_file(index, {.op = "checkpoint", .limit = std::size_t{1} << 30}), index, &count);
  Shards shards(prefix, count);
  std::map<std::string, std::string, std::less<>> names;
  std::vector<CheckpointVariable> out;
  for (const CheckpointEntry& entry : entries) {
    if (entry.key == kGraphKey) {
      names = own_names(shards.read(entry), index);
      continue;
    }
    CheckpointVariable variable{.key = entry.key, .shape = entry.shape};
    const auto type = std::ranges::find(kTypes, entry.type, &std::pair<std::uint64_t, DType>::first);
    if (type == std::end(kTypes)) {
      variable.type = entry.type == 7 ? "texts" : "type " + std::to_string(entry.type) + " of TensorFlow";
    } else {
      variable.type = std::string(tegula::name(type->second));
      if (entry.has_slices) fail(index, entry.key + ": a variable in slices", "whole variables", "");
      if (contents == Contents::Arrays) variable.array = array_of(entry, type->second, shards.read(entry), index);
    }
    out.push_back(std::move(variable));
  }
  for (CheckpointVariable& variable : out)
    if (const auto found = names.find(variable.key); found != names.end()) variable.name = found->second;
  return out;
}

}  // namespace tegula::io
