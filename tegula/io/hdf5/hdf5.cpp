// Objects of HDF5 files: the superblock, object headers and their messages, groups. Sections II, III.A and IV of the format specification.

#include "tegula/io/hdf5/hdf5.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/hdf5/image.h"

namespace tegula::io {
namespace {

using namespace hdf5;

/// Numbers of the messages in object headers.
enum Message : std::uint64_t {
  kSpace = 0x01,
  kLinkInfo = 0x02,
  kType = 0x03,
  kLink = 0x06,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15
};

struct HeaderMessage {
  std::uint64_t kind = 0;
  std::span<const std::byte> content;
};

struct Link {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t order = 0;  // of creation, where the file keeps it
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view name, Contents contents)
      : image_{.bytes = bytes, .name = name},
        wants_arrays_(contents == Contents::Arrays) {}

  std::vector<Hdf5Object> run() {
    walk(root(), "", 0);
    return std::move(objects_);
  }

 private:
  /// The address of the root group's header.
  std::uint64_t root() {
    constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
    // A user block of 512, 1024, … bytes may stand in front.
    for (std::uint64_t at = 0; at + 16 <= image_.bytes.size(); at = at == 0 ? 512 : 2 * at) {
      Cursor in(image_, image_.bytes.subspan(static_cast<std::size_t>(at)));
      if (in.text(kSignature.size()) != kSignature) continue;
      image_.base = at;
      const std::uint64_t version = in.byte();
      if (version > 3) image_.fail("a superblock of version " + std::to_string(version), "versions 0 to 3");
      if (version < 2) in.skip(4);
      const std::uint64_t offsets = in.byte(), lengths = in.byte();
      if (offsets != 8 || lengths != 8) image_.fail("addresses of " + std::to_string(offsets) + " bytes", "addresses of 8 bytes");
      if (version < 2) {
        in.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
        in.skip(4 * 8 + 8);  // base, free space, end, driver; the root's name
        return in.address();
      }
      in.skip(1 + 3 * 8);
      return in.address();
    }
    image_.fail("a file without the signature of HDF5", "an HDF5 file");
  }

  std::vector<HeaderMessage> messages(std::uint64_t address) {
    std::vector<HeaderMessage> out;
    Cursor in(image_, image_.from(address));
    const bool is_new = in.byte() == 'O';
    // Blocks of messages; continuations add to them.
    std::vector<std::span<const std::byte>> blocks;
    std::uint64_t flags = 0;
    if (is_new) {
      if (in.text(3) != "HDR") image_.damaged("no OHDR where one belongs");
      in.skip(1);
      flags = in.byte();
      in.skip((flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
      const std::uint64_t bytes = in.number(std::uint64_t{1} << (flags & 3));
      blocks.push_back(in.take(bytes));
    } else {
      in.skip(1 + 2 + 4);
      const std::uint64_t bytes = in.number(4);
      in.skip(4);
      blocks.push_back(in.take(bytes));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Cursor block(image_, blocks[i]);
      const std::uint64_t head = is_new ? 4u + (flags & 4 ? 2 : 0) : 8u;
      while (block.left() >= head) {
        image_.step();
        HeaderMessage message{.kind = block.number(is_new ? 1 : 2), .content = {}};
        const std::uint64_t bytes = block.number(2), shared = block.byte() & 2;
        block.skip(head - (is_new ? 4 : 5));
        message.content = block.take(bytes);
        if (shared && (message.kind == kType || message.kind == kSpace || message.kind == kLayout || message.kind == kFilters))
          image_.fail("a type that several arrays share", "arrays with types of their own");
        if (message.kind == kContinuation) {
          Cursor where(image_, message.content);
          const std::uint64_t at = where.address(), length = where.address();
          auto more = image_.at(at, length);
          if (is_new) {
            Cursor next(image_, more);
            next.expect("OCHK");
            if (more.size() < 8) image_.damaged("a header without its end");
            more = more.subspan(4, more.size() - 8);
          }
          blocks.push_back(more);
        } else {
          out.push_back(message);
        }
      }
    }
    return out;
  }

  static const HeaderMessage* find(const std::vector<HeaderMessage>& messages, std::uint64_t kind) {
    const auto found = std::ranges::find(messages, kind, &HeaderMessage::kind);
    return found == messages.end() ? nullptr : &*found;
  }

  void walk(std::uint64_t address, const std::string& path, int depth) {
    if (depth > kDeepest) image_.fail("groups more than " + std::to_string(kDeepest) + " deep", "groups of arrays");
    image_.step();
    if (!visited_.insert(address).second) return;  // a second name of the same object
    constexpr std::uint64_t kMostCopies = 16;
    path_bytes_ += path.size();
    if (path_bytes_ > kMostCopies * image_.bytes.size()) image_.damaged("names that are longer than the file together");
    const auto all = messages(address);
    const std::size_t at = objects_.size();
    objects_.push_back({.path = path});
    objects_[at].texts = attributes(all);
    const HeaderMessage *type = find(all, kType), *space = find(all, kSpace), *layout = find(all, kLayout);
    if (type && space && layout) {
      array(objects_[at], *type, *space, *layout, find(all, kFilters));
      return;
    }
    for (const Link& link : links(all)) walk(link.address, path.empty() ? link.name : path + "/" + link.name, depth + 1);
  }

  void array(Hdf5Object& object, const HeaderMessage& type_message, const HeaderMessage& space, const HeaderMessage& layout,
             const HeaderMessage* filters) {
    object.is_array = true;
    Cursor type_in(image_, type_message.content), space_in(image_, space.content);
    Type type = parse_type(image_, type_in);
    const Space sizes = parse_space(image_, space_in);
    object.shape = sizes.sizes;
    // Keras writes bfloat16 as two bytes, and says so.
    const auto named = object.texts.find("dtype");
    if (type.kind == Type::Kind::Opaque && type.bytes == 2 && named != object.texts.end() &&
        named->second == std::vector<std::string>{"bfloat16"})
      type.kind = Type::Kind::Number, type.dtype = DType::bf16;
    if (type.kind != Type::Kind::Number) {
      object.type = type.words;
      return;
    }
    object.type = std::string(name(type.dtype));
    if (wants_arrays_)
      object.array =
          read_array(image_, object.path, type, sizes, {layout.content, filters ? filters->content : std::span<const std::byte>()}, taken_);
  }

  std::vector<Link> links(const std::vector<HeaderMessage>& all) {
    std::vector<Link> out;
    bool has_order = false;
    for (const HeaderMessage& message : all) {
      if (message.kind == kSymbolTable) old_links(message.content, out);
      else if (message.kind == kLink) add_link(message.content, out, has_order);
      else if (message.kind == kLinkInfo) dense_links(message.content, out, has_order);
    }
    if (has_order) std::ranges::stable_sort(out, {}, &Link::order);
    else std::ranges::stable_sort(out, {}, &Link::name);
    return out;
  }

  /// A group of the first format: a B-tree of nodes of symbols, whose names lie in a heap.
  void old_links(std::span<const std::byte> message, std::vector<Link>& out) {
    Cursor in(image_, message);
    const std::uint64_t tree = in.address(), heap = in.address();
    Cursor head(image_, image_.from(heap));
    head.expect("HEAP");
    head.skip(4);
    const std::uint64_t bytes = head.address();
    head.skip(8);
    const auto names = image_.at(head.address(), bytes);
    each_child(image_, tree, 0, 8, [&](std::span<const std::byte>, std::uint64_t address) {
      Cursor node(image_, image_.from(address));
      node.expect("SNOD");
      node.skip(2);
      for (std::uint64_t count = node.number(2); count > 0; --count) {
        image_.step();
        const std::uint64_t name = node.address(), header = node.address(), cached = node.number(4);
        node.skip(4 + 16);
        if (cached == 2) continue;  // a symbolic link
        if (name >= names.size()) image_.damaged("a name outside of its heap");
        const auto rest = names.subspan(static_cast<std::size_t>(name));
        const auto end = std::ranges::find(rest, std::byte{0});
        if (end == rest.end()) image_.damaged("a name without an end");
        out.push_back(
            {.name = {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())}, .address = header});
      }
    });
  }

  void add_link(std::span<const std::byte> message, std::vector<Link>& out, bool& has_order) {
    Cursor in(image_, message);
    in.skip(1);
    const std::uint64_t flags = in.byte(), kind = flags & 8 ? in.byte() : 0;
    Link link;
    if (flags & 4) link.order = in.address(), has_order = true;
    if (flags & 16) in.skip(1);
    link.name = in.text(in.number(std::uint64_t{1} << (flags & 3)));
    if (kind != 0) return;  // symbolic, or into another file
    link.address = in.address();
    out.push_back(std::move(link));
  }

  /// A group of the new format with many links: they lie in a fractal heap, and a B-tree has their places.
  void dense_links(std::span<const std::byte> message, std::vector<Link>& out, bool& has_order) {
    Cursor in(image_, message);
    in.skip(1);
    if (in.byte() & 1) in.skip(8);
    const std::uint64_t heap = in.address(), by_name = in.address();
    if (heap == kNowhere || by_name == kNowhere) return;
    each_record(image_, by_name, [&](std::span<const std::byte> record) {
      if (record.size() < 5) image_.damaged("a record of " + std::to_string(record.size()) + " bytes");
      add_link(heap_object(image_, heap, record.subspan(4)), out, has_order);  // behind the name's hash
    });
  }

  std::map<std::string, std::vector<std::string>> attributes(const std::vector<HeaderMessage>& all) {
    std::map<std::string, std::vector<std::string>> out;
    for (const HeaderMessage& message : all) {
      if (message.kind == kAttribute) add_attribute(message.content, out);
      if (message.kind != kAttributeInfo) continue;
      Cursor in(image_, message.content);
      in.skip(1);
      if (in.byte() & 1) in.skip(2);
      const std::uint64_t heap = in.address(), by_name = in.address();
      if (heap == kNowhere || by_name == kNowhere) continue;
      each_record(image_, by_name, [&](std::span<const std::byte> record) {
        if (record.size() < 9) image_.damaged("a record of " + std::to_string(record.size()) + " bytes");
        add_attribute(heap_object(image_, heap, record.first(8)), out);
      });
    }
    return out;
  }

  void add_attribute(std::span<const std::byte> message, std::map<std::string, std::vector<std::string>>& out) {
    Cursor in(image_, message);
    const std::uint64_t version = in.byte();
    if (version < 1 || version > 3) image_.damaged("an attribute of version " + std::to_string(version));
    const std::uint64_t flags = in.byte(), name_bytes = in.number(2), type_bytes = in.number(2), space_bytes = in.number(2);
    if (version == 3) in.skip(1);
    if (version > 1 && flags != 0) return;  // a type that is kept elsewhere: none of a text
    const auto padded = [&](std::uint64_t bytes) { return version == 1 ? (bytes + 7) / 8 * 8 : bytes; };
    std::string name = in.text(padded(name_bytes));
    name.resize(std::min(name.size(), name.find('\0')));
    Cursor type_in(image_, in.take(padded(type_bytes))), space_in(image_, in.take(padded(space_bytes)));
    const Type type = parse_type(image_, type_in);
    const auto shape = parse_space(image_, space_in).sizes;
    if (type.kind == Type::Kind::Text || type.kind == Type::Kind::TextsElsewhere) out[name] = read_texts(image_, type, shape, in);
  }

  Image image_;
  bool wants_arrays_;
  std::set<std::uint64_t> visited_;  // addresses of headers
  std::uint64_t taken_ = 0, path_bytes_ = 0;
  std::vector<Hdf5Object> objects_;
};

}  // namespace

std::vector<Hdf5Object> parse_hdf5(std::span<const std::byte> bytes, std::string_view name, Contents contents) {
  refuse_other_kinds(bytes, {FileKind::Hdf5}, "hdf5", name, "an HDF5 file");
  return Reader(bytes, name, contents).run();
}

std::vector<Hdf5Object> read_hdf5(const std::string& path, Contents contents) {
  return parse_hdf5(read_file(path, {.op = "hdf5", .limit = std::size_t{1} << 36}), path, contents);
}

}  // namespace tegula::io
