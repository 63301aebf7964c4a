#pragma once
// The bytes of an HDF5 file, and places in them.

#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/io/hdf5/hdf5.h"

namespace tegula::io::hdf5 {

/// An address that the format has for "nowhere".
inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
/// The most that deflate expands by, rounded up.
inline constexpr std::uint64_t kMostExpansion = 1040;
/// Nodes of a tree above each other, and groups within each other, at most.
inline constexpr int kDeepest = 64;

/// A file in memory. Addresses count from its base.
struct Image {
  std::span<const std::byte> bytes;
  std::string_view name;
  std::uint64_t base = 0;
  std::map<std::uint64_t, std::map<std::uint64_t, std::span<const std::byte>>> collections =
      {};  // global heaps by address, objects by number
  std::uint64_t text_bytes = 0;  // of attributes
  std::uint64_t steps = 0;  // nodes, blocks and messages visited: bounded by the file's size

  [[noreturn]] void fail(const std::string& got, const std::string& expected = "an HDF5 file as h5py and Keras write them",
                         const std::string& advice = "") const;
  /// Throws Error for damage: a truncated file, or a number that cannot be.
  [[noreturn]] void damaged(const std::string& what) const;
  /// `count` bytes at `address`.
  std::span<const std::byte> at(std::uint64_t address, std::uint64_t count) const;
  /// All bytes from `address` on.
  std::span<const std::byte> from(std::uint64_t address) const;
  /// Counts a node, block or message. A file has no more of them than bytes.
  void step();
};

/// Reads numbers one after the other.
class Cursor {
 public:
  Cursor(const Image& image, std::span<const std::byte> bytes) : image_(&image), bytes_(bytes) {}

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) image_->damaged("an end within a record");
    const auto out = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return out;
  }
  void skip(std::uint64_t count) { take(count); }
  /// A little-endian number of `width` bytes, at most 8.
  std::uint64_t number(std::uint64_t width) {
    if (width > 8) image_->damaged("a number of " + std::to_string(width) + " bytes");
    std::uint64_t out = 0;
    const auto bytes = take(width);
    std::memcpy(&out, bytes.data(), bytes.size());
    return out;
  }
  std::uint64_t byte() { return number(1); }
  std::uint64_t address() { return number(8); }
  std::string text(std::uint64_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Throws Error unless the next bytes are these, as "TREE" in front of a node.
  void expect(std::string_view signature) {
    if (text(signature.size()) != signature) image_->damaged("no " + std::string(signature) + " where one belongs");
  }
  std::size_t place() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  const Image* image_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// Heaps and trees (heaps.cpp).

/// Calls `entry` for each record of a version 2 B-tree, in its order.
void each_record(Image& image, std::uint64_t tree, const std::function<void(std::span<const std::byte>)>& entry);
/// Calls `child` for each child of the leaves of a version 1 B-tree, with its key of `key_bytes`.
void each_child(Image& image, std::uint64_t node, std::uint64_t type, std::uint64_t key_bytes,
                const std::function<void(std::span<const std::byte> key, std::uint64_t child)>& child);
/// An object of a fractal heap by its id.
std::span<const std::byte> heap_object(Image& image, std::uint64_t heap, std::span<const std::byte> id);
/// An object of a global heap, where texts of any length lie.
std::span<const std::byte> global_object(Image& image, std::uint64_t collection, std::uint64_t index);

// Arrays (arrays.cpp).

/// The product of sizes and a factor, or kNowhere above `most`.
std::uint64_t product(const std::vector<std::uint64_t>& sizes, std::uint64_t factor, std::uint64_t most);

/// The type of an element.
struct Type {
  enum class Kind : std::uint8_t { Number, Text, TextsElsewhere, Opaque, Other };
  Kind kind = Kind::Other;
  DType dtype = DType::f32;  // of a Number
  bool is_big_endian = false;
  std::uint64_t bytes = 0;
  std::string words = {};  // of what is not read
};
Type parse_type(const Image& image, Cursor& in);
/// The sizes of an array, empty for a single element, and the sizes that it may grow to: kNowhere for any.
struct Space {
  std::vector<std::uint64_t> sizes, most;
};
Space parse_space(const Image& image, Cursor& in);

// Chunks (chunk_index.cpp).

struct Chunk {
  std::vector<std::uint64_t> begin;
  std::span<const std::byte> stored;
  std::uint64_t mask = 0;  // filters that were left out
};
struct Chunks {
  std::vector<std::uint64_t> sizes;  // of a chunk, in elements
  bool ends_are_plain = false;  // chunks that reach over the array's end are stored without filters
  std::vector<Chunk> all;  // that were written
};
/// The chunks of an array that is not empty, by any of the format's indices; `in` stands behind the class of a layout message of version 3 to 5. `width`: bytes
/// of an element.
Chunks find_chunks(Image& image, Cursor& in, std::uint64_t version, const Space& space, std::uint64_t width);

/// The messages that say where an array's elements lie.
struct Storage {
  std::span<const std::byte> layout, filters;
};
/// The elements, dense and little-endian. `taken`: bytes of the file that arrays took so far.
HostArray read_array(Image& image, const std::string& path, const Type& type, const Space& space, const Storage& storage,
                     std::uint64_t& taken);
/// The texts of an attribute.
std::vector<std::string> read_texts(Image& image, const Type& type, const std::vector<std::uint64_t>& shape, Cursor& in);

}  // namespace tegula::io::hdf5
