// .npz archives.

#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/npy.h"
#include "tegula/io/zip_archive.h"

namespace tegula::io {
namespace {

constexpr ZipUser kNpz{.op = "npz", .kind = "an .npz archive", .advice = ".npy files need nothing"};

[[noreturn]] void complain(std::string_view file, const std::string& got, std::string expected) {
  throw Error({.op = "npz", .got = printable(std::string(file) + ": " + got), .expected = std::move(expected)});
}

/// An archive in memory, and its members as arrays.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view name) : name_(name), zip_(of_npz(bytes, name), name, kNpz) {}

  std::size_t size() const { return zip_.size(); }
  std::string member(std::size_t i) const {
    std::string name(zip_.name(i));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    return name;
  }

  NpyHeader header(std::size_t i) const {
    const std::size_t size = zip_.bytes(i);
    const Bytes start = zip_.first(i, 12);
    return parse_npy_header(zip_.first(i, std::max(start.size(), npy_header_bytes(start, named(i)))), size, named(i));
  }

  /// Reads the header first: no more memory is allocated than an array of that size needs.
  HostArray array(std::size_t i) const {
    header(i);
    return parse_npy(zip_.contents(i), named(i));
  }

 private:
  static std::span<const std::byte> of_npz(std::span<const std::byte> bytes, std::string_view name) {
    refuse_other_kinds(bytes, {FileKind::Npz, FileKind::Zip}, "npz", name, "an .npz archive");
    return bytes;
  }
  std::string named(std::size_t i) const { return std::string(name_) + ", " + std::string(zip_.name(i)); }

  std::string_view name_;
  ZipReader zip_;
};

}  // namespace

NamedArrays parse_npz(std::span<const std::byte> bytes, std::string_view name) {
  const Reader reader(bytes, name);
  NamedArrays out;
  for (std::size_t i = 0; i < reader.size(); ++i) {
    if (const std::string reason = reader.header(i).unreadable; !reason.empty()) {
      warn("npz.unreadable", printable(std::string(name) + ": left out member " + reader.member(i) + ", " + reason));
      continue;
    }
    out.emplace_back(reader.member(i), reader.array(i));
  }
  return out;
}

HostArray read_npz(const std::string& path, const std::string& member) {
  const Bytes bytes = read_file(path, {.op = "npz"});
  const Reader reader(bytes, path);
  std::string list;
  for (std::size_t i = 0; i < reader.size(); ++i) {
    if (reader.member(i) == member) return reader.array(i);
    if (i < 20) list += (i ? ", " : "") + reader.member(i);
  }
  complain(path, "no member " + member, "one of " + list);
}

std::vector<NpzMember> list_npz(const std::string& path) {
  const Bytes bytes = read_file(path, {.op = "npz"});
  const Reader reader(bytes, path);
  std::vector<NpzMember> out;
  for (std::size_t i = 0; i < reader.size(); ++i) out.push_back({reader.member(i), reader.header(i)});
  return out;
}

void write_npz(const std::string& path, const NamedArrays& arrays) {
  std::set<std::string> names;
  for (const auto& [name, array] : arrays) {
    if (name.empty() || !names.insert(name).second) complain(path, "the name \"" + name + "\" twice or empty", "a name for each array");
  }
  std::vector<Bytes> contents;
  contents.reserve(arrays.size());
  std::vector<std::pair<std::string, std::span<const std::byte>>> members;
  for (const auto& [name, array] : arrays) {
    contents.push_back(npy_bytes(array, path + ", " + name));
    members.emplace_back(name + ".npy", contents.back());
  }
  write_atomically(path, zip_archive(members, path, kNpz), "npz");
}

NamedArrays read_npz(const std::string& path) { return parse_npz(read_file(path, {.op = "npz"}), path); }

}  // namespace tegula::io
