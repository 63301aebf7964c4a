// Heaps and trees of HDF5: sections III.A, C to G of the format specification.

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/hdf5/image.h"

namespace tegula::io::hdf5 {

void Image::fail(const std::string& got, const std::string& expected, const std::string& advice) const {
  throw Error({.op = "hdf5", .got = printable(std::string(name) + ": " + got), .expected = expected, .advice = advice});
}

void Image::damaged(const std::string& what) const { fail(what, "a whole HDF5 file", "the file is truncated or damaged"); }

std::span<const std::byte> Image::from(std::uint64_t address) const {
  if (address > bytes.size() - base) damaged("an address behind the end, at byte " + std::to_string(bytes.size()));
  return bytes.subspan(static_cast<std::size_t>(base + address));
}

std::span<const std::byte> Image::at(std::uint64_t address, std::uint64_t count) const {
  const auto rest = from(address);
  if (count > rest.size()) damaged(std::to_string(count) + " bytes where " + std::to_string(rest.size()) + " are left");
  return rest.first(static_cast<std::size_t>(count));
}

void Image::step() {
  if (++steps > bytes.size()) damaged("records that are visited again and again");
}

namespace {

/// The least bytes that hold numbers up to `most`.
std::uint64_t width_of(std::uint64_t most) { return most == 0 ? 1 : (static_cast<std::uint64_t>(std::bit_width(most)) - 1) / 8 + 1; }

/// A B-tree of version 2. The width of a child's counts depends on the number of records that its nodes may have.
struct RecordTree {
  Image& image;
  const std::function<void(std::span<const std::byte>)>& entry;
  std::uint64_t type = 0, node_bytes = 0, record_bytes = 0;
  std::uint64_t count_width = 0;
  std::vector<std::uint64_t> total_widths = {};  // by depth

  void walk(std::uint64_t address, std::uint64_t records, std::uint64_t depth) {
    image.step();
    Cursor in(image, image.at(address, node_bytes));
    in.expect(depth == 0 ? "BTLF" : "BTIN");
    in.skip(2);  // version, type
    const auto all = in.take(records > node_bytes ? node_bytes + 1 : records * record_bytes);
    const auto record = [&](std::uint64_t i) {
      return all.subspan(static_cast<std::size_t>(i * record_bytes), static_cast<std::size_t>(record_bytes));
    };
    for (std::uint64_t i = 0; i <= records; ++i) {
      if (depth > 0) {
        const std::uint64_t child = in.address(), count = in.number(count_width);
        if (depth > 1) in.number(total_widths[static_cast<std::size_t>(depth - 1)]);
        walk(child, count, depth - 1);
      }
      if (i < records) image.step(), entry(record(i));
    }
  }
};

}  // namespace

void each_record(Image& image, std::uint64_t tree, const std::function<void(std::span<const std::byte>)>& entry) {
  Cursor in(image, image.from(tree));
  in.expect("BTHD");
  in.skip(1);
  RecordTree walk{.image = image, .entry = entry};
  walk.type = in.byte(), walk.node_bytes = in.number(4), walk.record_bytes = in.number(2);
  const std::uint64_t depth = in.number(2);
  in.skip(2);
  const std::uint64_t root = in.address(), records = in.number(2);
  if (records == 0 || root == kNowhere) return;
  constexpr std::uint64_t kPrefix = 10;  // signature, version, type, checksum
  if (walk.record_bytes == 0 || walk.node_bytes < kPrefix + walk.record_bytes || depth > kDeepest)
    image.damaged("a tree of depth " + std::to_string(depth) + " of records of " + std::to_string(walk.record_bytes) + " bytes");
  std::uint64_t most = (walk.node_bytes - kPrefix) / walk.record_bytes, total = most;
  walk.count_width = width_of(most);
  walk.total_widths = {0};
  for (std::uint64_t level = 1; level <= depth; ++level) {
    const std::uint64_t pointer = 8 + walk.count_width + walk.total_widths.back();
    if (walk.node_bytes < kPrefix + pointer) image.damaged("nodes of " + std::to_string(walk.node_bytes) + " bytes");
    most = (walk.node_bytes - kPrefix - pointer) / (walk.record_bytes + pointer);
    total = total > kNowhere / (most + 2) ? kNowhere : (most + 1) * total + most;
    walk.total_widths.push_back(width_of(total));
  }
  walk.walk(root, records, depth);
}

namespace {

void walk_children(Image& image, std::uint64_t node, std::uint64_t type, std::uint64_t key_bytes,
                   const std::function<void(std::span<const std::byte>, std::uint64_t)>& child, std::uint64_t level) {
  image.step();
  Cursor in(image, image.from(node));
  in.expect("TREE");
  if (in.byte() != type) image.damaged("a tree of another kind");
  const std::uint64_t own = in.byte(), entries = in.number(2);
  if (own > kDeepest || (level != kNowhere && own != level)) image.damaged("a tree whose levels do not go down");
  in.skip(16);  // the nodes beside it
  for (std::uint64_t i = 0; i < entries; ++i) {
    const auto key = in.take(key_bytes);
    const std::uint64_t address = in.address();
    image.step();
    if (own == 0) child(key, address);
    else walk_children(image, address, type, key_bytes, child, own - 1);
  }
}

}  // namespace

void each_child(Image& image, std::uint64_t node, std::uint64_t type, std::uint64_t key_bytes,
                const std::function<void(std::span<const std::byte>, std::uint64_t)>& child) {
  walk_children(image, node, type, key_bytes, child, kNowhere);
}

namespace {

/// The blocks of a fractal heap: rows of `width` blocks each, which double in size from the second row on; the first rows hold objects, those behind them more rows.
struct FractalHeap {
  Image& image;
  std::uint64_t width = 0, first_bytes = 0, most_direct = 0, offset_width = 0, length_width = 0, root = 0, root_rows = 0;

  std::uint64_t bytes_of_row(std::uint64_t row) const {
    const std::uint64_t doublings = row == 0 ? 0 : row - 1;
    return doublings > 40 ? kNowhere : first_bytes << doublings;
  }

  /// The bytes of an object at `offset` of the heap's space, below the rows of the block at `address`, whose space begins at `begin`.
  std::span<const std::byte> find(std::uint64_t address, std::uint64_t rows, std::uint64_t begin, std::uint64_t offset,
                                  std::uint64_t length, int depth) {
    image.step();
    if (depth > kDeepest) image.damaged("a heap whose blocks are too deep");
    Cursor in(image, image.from(address));
    if (rows == 0) {
      in.expect("FHDB");
      return image.at(address + (offset - begin), length);
    }
    in.expect("FHIB");
    in.skip(1 + 8 + offset_width);
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint64_t bytes = bytes_of_row(row);
      for (std::uint64_t i = 0; i < width; ++i, begin += bytes) {
        const std::uint64_t child = in.address();
        if (bytes > offset - begin) return find(child, bytes <= most_direct ? 0 : rows_within(bytes), begin, offset, length, depth + 1);
      }
    }
    image.damaged("an object outside of its heap");
  }

  /// The rows of an indirect block that covers `bytes`.
  std::uint64_t rows_within(std::uint64_t bytes) const {
    std::uint64_t rows = 0;
    for (std::uint64_t covered = 0; covered < bytes && rows < 64; ++rows) covered += width * bytes_of_row(rows);
    return rows;
  }
};

}  // namespace

std::span<const std::byte> heap_object(Image& image, std::uint64_t heap, std::span<const std::byte> id) {
  Cursor in(image, image.from(heap));
  in.expect("FRHP");
  in.skip(1 + 2);
  if (in.number(2) != 0) image.fail("a heap behind filters", "groups without compression");
  in.skip(1);  // flags
  const std::uint64_t most_object = in.number(4);
  in.skip(12 * 8);  // huge objects, space and counts
  FractalHeap blocks{.image = image};
  blocks.width = in.number(2), blocks.first_bytes = in.address(), blocks.most_direct = in.address();
  const std::uint64_t bits = in.number(2);
  in.skip(2);
  blocks.root = in.address(), blocks.root_rows = in.number(2);
  blocks.offset_width = (bits + 7) / 8;
  if (blocks.width == 0 || blocks.first_bytes == 0 || blocks.most_direct == 0 || bits == 0 || bits > 64)
    image.damaged("a heap without blocks");
  blocks.length_width = std::min((static_cast<std::uint64_t>(std::bit_width(blocks.most_direct)) + 6) / 8, width_of(most_object));
  Cursor key(image, id);
  const std::uint64_t first = key.byte();
  if ((first >> 4 & 3) == 2) return key.take((first & 15) + 1);  // lies in the id itself
  if ((first >> 4 & 3) != 0) image.fail("a name of more than " + std::to_string(most_object) + " bytes", "shorter names");
  const std::uint64_t offset = key.number(blocks.offset_width), length = key.number(blocks.length_width);
  return blocks.find(blocks.root, blocks.root_rows, 0, offset, length, 0);
}

std::span<const std::byte> global_object(Image& image, std::uint64_t collection, std::uint64_t index) {
  auto [found, is_new] = image.collections.try_emplace(collection);
  if (is_new) {
    Cursor head(image, image.from(collection));
    head.expect("GCOL");
    head.skip(4);
    const std::uint64_t bytes = head.address();
    if (bytes < head.place()) image.damaged("a heap of " + std::to_string(bytes) + " bytes");
    Cursor in(image, image.at(collection, bytes));
    in.skip(head.place());
    while (in.left() >= 16) {
      image.step();
      const std::uint64_t number = in.number(2);
      in.skip(6);
      const std::uint64_t size = in.address();
      if (number == 0) break;  // the rest is free
      found->second.emplace(number, in.take(size));
      in.skip(std::min<std::uint64_t>((8 - size % 8) % 8, in.left()));
    }
  }
  const auto object = found->second.find(index);
  if (object == found->second.end()) image.damaged("a text that is not in its heap");
  return object->second;
}

}  // namespace tegula::io::hdf5
