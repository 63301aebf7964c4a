// The places of an array's chunks: sections III.A.1, III.A.2, VII and IV.A.2.i of the format specification.

#include <bit>

#include "tegula/io/hdf5/image.h"

namespace tegula::io::hdf5 {
namespace {

/// Bytes ahead of what a block of an index holds: signature, version, client, the header's address; behind it stands a checksum.
constexpr std::uint64_t kPrefix = 4 + 1 + 1 + 8, kChecksum = 4;

/// The place of a chunk, as an index has it.
struct Entry {
  std::uint64_t address = kNowhere, bytes = 0, mask = 0;
};

/// The form of an index's entries: an address, and of chunks behind filters their bytes and which filters were left out. The bytes take as many bytes as those
/// of a chunk before the filters and one more in version 4 of the layout message, and eight in version 5 (HDF5 2.0): the size of the entry tells.
struct EntryForm {
  std::uint64_t bytes = 8;  // of an entry
  bool has_size = false;
  std::uint64_t chunk_bytes = 0;  // where it has none

  Entry parse(Cursor& in) const {
    Entry entry{.address = in.address(), .bytes = chunk_bytes};
    if (has_size) entry.bytes = in.number(bytes - 12), entry.mask = in.number(4);
    return entry;
  }
};

EntryForm entry_form(const Image& image, std::uint64_t client, std::uint64_t bytes, std::uint64_t chunk_bytes) {
  const bool has_size = client == 1;
  if (client > 1 || (has_size ? bytes < 13 || bytes > 20 : bytes != 8))
    image.damaged("an index of chunks with entries of " + std::to_string(bytes) + " bytes");
  return {.bytes = bytes, .has_size = has_size, .chunk_bytes = chunk_bytes};
}

/// True if bit `i` is set; the first one is the highest of its byte.
bool bit_at(std::span<const std::byte> bits, std::uint64_t i) {
  return std::to_integer<unsigned>(bits[static_cast<std::size_t>(i / 8)]) >> (7 - i % 8) & 1;
}

/// The entries of a block, in pages of a power of two of entries where there are more than one page has; behind each page stands a checksum.
struct Pages {
  std::uint64_t entries = 0, page_entries = 0;

  bool is_paged() const { return entries > page_entries; }
  std::uint64_t count() const { return (entries - 1) / page_entries + 1; }
  /// The byte of entry `index` behind the beginning of the first page.
  std::uint64_t place(std::uint64_t index, std::uint64_t bytes) const {
    return is_paged() ? index / page_entries * (page_entries * bytes + kChecksum) + index % page_entries * bytes : index * bytes;
  }
};

std::uint64_t page_entries(const Image& image, std::uint64_t bits) {
  if (bits > 40) image.damaged("pages of 2^" + std::to_string(bits) + " entries");
  return std::uint64_t{1} << bits;
}

/// One entry for each chunk that the array may ever have.
class FixedArray {
 public:
  FixedArray(const Image& image, std::uint64_t address, std::uint64_t chunk_bytes) : image_(image) {
    Cursor in(image, image.from(address));
    in.expect("FAHD");
    in.skip(1);
    const std::uint64_t client = in.byte();
    form_ = entry_form(image, client, in.byte(), chunk_bytes);
    pages_.page_entries = page_entries(image, in.byte());
    pages_.entries = in.address(), block_ = in.address();
    if (pages_.entries > image.bytes.size()) image.damaged("an index of " + std::to_string(pages_.entries) + " chunks");
  }

  Entry at(std::uint64_t index) const {
    if (index >= pages_.entries) image_.damaged("chunk " + std::to_string(index) + " of " + std::to_string(pages_.entries));
    if (block_ == kNowhere) return {};
    Cursor head(image_, image_.from(block_));
    head.expect("FADB");
    std::uint64_t begin = kPrefix;
    if (pages_.is_paged()) {
      const std::uint64_t bytes = (pages_.count() + 7) / 8;
      if (!bit_at(image_.at(block_ + begin, bytes), index / pages_.page_entries)) return {};
      begin += bytes + kChecksum;
    }
    Cursor in(image_, image_.at(block_ + begin + pages_.place(index, form_.bytes), form_.bytes));
    return form_.parse(in);
  }

 private:
  const Image& image_;
  EntryForm form_;
  Pages pages_;
  std::uint64_t block_ = kNowhere;
};

/// The index of an array that grows along one axis. The first entries stand in the index block. The others stand in data blocks, which are arranged in super
/// blocks:
/// super block u has 2^(u/2) data blocks of 2^((u+1)/2) times as many entries as the least. The addresses of the first data blocks stand in the
/// index block as well, those of the others in blocks of their super block.
class ExtensibleArray {
 public:
  ExtensibleArray(const Image& image, std::uint64_t address, std::uint64_t chunk_bytes) : image_(image) {
    Cursor in(image, image.from(address));
    in.expect("EAHD");
    in.skip(1);
    const std::uint64_t client = in.byte();
    form_ = entry_form(image, client, in.byte(), chunk_bytes);
    const std::uint64_t bits = in.byte();
    within_index_ = in.byte(), least_ = in.byte();
    const std::uint64_t least_pointers = in.byte();
    page_entries_ = page_entries(image, in.byte());
    in.skip(6 * 8);
    index_block_ = in.address();
    if (bits == 0 || bits > 64 || !std::has_single_bit(least_) || !std::has_single_bit(least_pointers))
      image.damaged("an index of chunks whose blocks have " + std::to_string(least_) + " entries");
    offset_bytes_ = (bits + 7) / 8;
    direct_supers_ = 2 * log2(least_pointers), direct_blocks_ = 2 * (least_pointers - 1);
    supers_ = 1 + bits - std::min(bits, log2(least_));
  }

  Entry at(std::uint64_t index) const {
    if (index_block_ == kNowhere) return {};
    expect(index_block_, "EAIB");
    if (index < within_index_) return entry(index_block_ + kPrefix + index * form_.bytes);
    std::uint64_t rest = index - within_index_, u = 0, first_block = 0;
    const auto blocks = [](std::uint64_t super) { return std::uint64_t{1} << super / 2; };
    const auto entries = [&](std::uint64_t super) { return (std::uint64_t{1} << (super + 1) / 2) * least_; };
    for (; u < supers_ && u < 50 && rest >= blocks(u) * entries(u); ++u) rest -= blocks(u) * entries(u), first_block += blocks(u);
    if (u >= supers_ || u >= 50) image_.damaged("chunk " + std::to_string(index) + " of an index of fewer");
    const std::uint64_t which = rest / entries(u), place = rest % entries(u);
    const std::uint64_t pointers = index_block_ + kPrefix + within_index_ * form_.bytes;
    const Pages pages{.entries = entries(u), .page_entries = page_entries_};
    std::uint64_t block = kNowhere;
    if (u < direct_supers_) {
      if (pages.is_paged()) image_.damaged("a paged block of chunks in the index itself");
      block = address(pointers + (first_block + which) * 8);
    } else {
      const std::uint64_t super = address(pointers + (direct_blocks_ + u - direct_supers_) * 8);
      if (super == kNowhere) return {};
      expect(super, "EASB");
      const std::uint64_t bits = super + kPrefix + offset_bytes_;
      const std::uint64_t bytes = pages.is_paged() ? (pages.count() + 7) / 8 * blocks(u) : 0;
      if (pages.is_paged() && !bit_at(image_.at(bits, bytes), which * pages.count() + place / pages.page_entries)) return {};
      block = address(bits + bytes + which * 8);
    }
    if (block == kNowhere) return {};
    expect(block, "EADB");
    return entry(block + kPrefix + offset_bytes_ + (pages.is_paged() ? kChecksum : 0) + pages.place(place, form_.bytes));
  }

 private:
  static std::uint64_t log2(std::uint64_t power) { return static_cast<std::uint64_t>(std::bit_width(power)) - 1; }
  void expect(std::uint64_t address, std::string_view signature) const { Cursor(image_, image_.from(address)).expect(signature); }
  std::uint64_t address(std::uint64_t at) const { return Cursor(image_, image_.at(at, 8)).address(); }
  Entry entry(std::uint64_t at) const {
    Cursor in(image_, image_.at(at, form_.bytes));
    return form_.parse(in);
  }

  const Image& image_;
  EntryForm form_;
  std::uint64_t within_index_ = 0, least_ = 0, page_entries_ = 0, index_block_ = kNowhere;
  std::uint64_t offset_bytes_ = 0, supers_ = 0, direct_supers_ = 0, direct_blocks_ = 0;
};

/// The chunks of an array in row-major order, each by `entry` of its number. Numbers count the chunks that the array may have when it has grown; the axis
/// that has no limit comes first.
template <class F>
void each_chunk(Image& image, const Space& space, Chunks& out, F&& entry) {
  const std::size_t axes = space.sizes.size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < axes; ++i)
    if (space.most[i] == kNowhere) order.push_back(i);
  for (std::size_t i = 0; i < axes; ++i)
    if (space.most[i] != kNowhere) order.push_back(i);
  std::vector<std::uint64_t> counts(axes), strides(axes), at(axes, 0);
  std::uint64_t stride = 1;
  for (std::size_t k = axes; k-- > 0;) {
    const std::size_t i = order[k];
    counts[i] = (space.sizes[i] - 1) / out.sizes[i] + 1;
    strides[i] = stride;
    const std::uint64_t most = space.most[i] == kNowhere ? counts[i] : (space.most[i] - 1) / out.sizes[i] + 1;
    if (counts[i] > image.bytes.size() || most < counts[i] || __builtin_mul_overflow(stride, most, &stride))
      image.damaged("an array of more chunks than the file holds");
  }
  for (;;) {
    image.step();
    std::uint64_t number = 0;
    Chunk chunk;
    for (std::size_t i = 0; i < axes; ++i) number += at[i] * strides[i], chunk.begin.push_back(at[i] * out.sizes[i]);
    const Entry found = entry(number);
    if (found.address != kNowhere) {
      chunk.stored = image.at(found.address, found.bytes), chunk.mask = found.mask;
      out.all.push_back(std::move(chunk));
    }
    std::size_t i = axes;
    while (i > 0 && ++at[i - 1] == counts[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

/// Records of type 10, and 11 behind filters: the entry, and the chunk's place counted in chunks.
void tree_of_places(Image& image, std::uint64_t tree, std::size_t axes, std::uint64_t chunk_bytes, Chunks& out) {
  if (tree == kNowhere) return;
  each_record(image, tree, [&](std::span<const std::byte> record) {
    const std::uint64_t places = 8 * axes;
    if (record.size() < 8 + places) image.damaged("a record of " + std::to_string(record.size()) + " bytes");
    const std::uint64_t bytes = record.size() - places;
    const EntryForm form = entry_form(image, bytes == 8 ? 0 : 1, bytes, chunk_bytes);
    Cursor in(image, record);
    const Entry found = form.parse(in);
    Chunk chunk{.begin = {}, .stored = image.at(found.address, found.bytes), .mask = found.mask};
    for (std::size_t i = 0; i < axes; ++i) {
      std::uint64_t begin = 0;
      if (__builtin_mul_overflow(in.address(), out.sizes[i], &begin)) image.damaged("a chunk outside of its array");
      chunk.begin.push_back(begin);
    }
    out.all.push_back(std::move(chunk));
  });
}

/// Version 3 of the layout message: the chunks lie in a version 1 B-tree.
Chunks tree_of_chunks(Image& image, Cursor& in) {
  Chunks out;
  const std::uint64_t axes = in.byte(), tree = in.address();  // the last axis is the element's bytes
  if (axes == 0 || axes > 33) image.damaged("chunks of " + std::to_string(axes) + " axes");
  for (std::uint64_t i = 0; i < axes; ++i) out.sizes.push_back(in.number(4));
  out.sizes.pop_back();
  if (tree == kNowhere) return out;
  each_child(image, tree, 1, 8 + 8 * axes, [&](std::span<const std::byte> key, std::uint64_t address) {
    Cursor entry(image, key);
    const std::uint64_t bytes = entry.number(4);
    Chunk chunk{.begin = {}, .stored = image.at(address, bytes), .mask = entry.number(4)};
    for (std::uint64_t i = 0; i + 1 < axes; ++i) chunk.begin.push_back(entry.address());
    out.all.push_back(std::move(chunk));
  });
  return out;
}

}  // namespace

Chunks find_chunks(Image& image, Cursor& in, std::uint64_t version, const Space& space, std::uint64_t width) {
  if (version == 3) return tree_of_chunks(image, in);
  Chunks out;
  const std::uint64_t flags = in.byte(), axes = in.byte(), size_width = in.byte();
  for (std::uint64_t i = 0; i < axes; ++i) out.sizes.push_back(in.number(size_width));
  if (!out.sizes.empty()) out.sizes.pop_back();
  out.ends_are_plain = flags & 1;
  const std::uint64_t chunk_bytes = product(out.sizes, width, image.bytes.size() * kMostExpansion);
  if (out.sizes.size() != space.sizes.size() || chunk_bytes == 0 || chunk_bytes == kNowhere) image.damaged("chunks of other axes");
  const std::uint64_t index = in.byte();
  if (index == 1) {  // a single chunk
    Entry one{.bytes = chunk_bytes};
    if (flags & 2) one.bytes = in.address(), one.mask = in.number(4);
    one.address = in.address();
    each_chunk(image, space, out, [&](std::uint64_t number) { return number == 0 ? one : Entry(); });
  } else if (index == 2) {  // one after the other, without an index
    const std::uint64_t first = in.address();
    each_chunk(image, space, out, [&](std::uint64_t number) {
      std::uint64_t place = 0;
      if (first == kNowhere) return Entry();
      if (__builtin_mul_overflow(number, chunk_bytes, &place) || place > image.bytes.size()) image.damaged("a chunk behind the end");
      return Entry{.address = first + place, .bytes = chunk_bytes};
    });
  } else if (index == 3 || index == 4) {
    in.skip(index == 3 ? 1 : 5);  // the sizes that the index's own header has again
    const std::uint64_t address = in.address();
    if (address == kNowhere) return out;
    if (index == 3) {
      const FixedArray entries(image, address, chunk_bytes);
      each_chunk(image, space, out, [&](std::uint64_t number) { return entries.at(number); });
    } else {
      const ExtensibleArray entries(image, address, chunk_bytes);
      each_chunk(image, space, out, [&](std::uint64_t number) { return entries.at(number); });
    }
  } else if (index == 5) {
    in.skip(4 + 1 + 1);
    tree_of_places(image, in.address(), out.sizes.size(), chunk_bytes, out);
  } else {
    image.fail("an index of chunks of kind " + std::to_string(index), "kinds 1 to 5");
  }
  return out;
}

}  // namespace tegula::io::hdf5
