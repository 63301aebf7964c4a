// .npz archives, by libzip where it was found when Tegula was built.

#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/npy.h"

#if TEGULA_HAS_ZIP
#include <zip.h>

#include <algorithm>
#include <memory>
#endif

namespace tegula::io {
namespace {

[[noreturn]] void complain(std::string_view file, const std::string& got, std::string expected, std::string advice = "") {
  throw Error(
      {.op = "npz", .got = printable(std::string(file) + ": " + got), .expected = std::move(expected), .advice = std::move(advice)});
}

#if TEGULA_HAS_ZIP

constexpr std::uint64_t kMaxExpansion = 1040;  // of deflate, rounded up

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

struct ZipError {
  zip_error_t error;
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  std::string text() { return zip_error_strerror(&error); }
};

Archive open_archive(Source& source, int flags, std::string_view name) {
  ZipError error;
  Archive archive(zip_open_from_source(source.get(), flags, &error.error));
  if (!archive) complain(name, error.text(), "a zip archive", "the file is damaged or of another kind");
  return archive;
}

#else

[[noreturn]] void complain_of_zip(std::string_view file) {
  complain(file, "an .npz archive", "Tegula built with libzip", "install libzip-dev and build again; .npy files need nothing");
}

#endif

}  // namespace

#if TEGULA_HAS_ZIP

namespace {

/// An archive in memory, and its members.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {
    refuse_other_kinds(bytes, {FileKind::Npz, FileKind::Zip}, "npz", name, "an .npz archive");
    if (bytes.empty())
      complain(name, "an empty file", "an .npz archive", "the file is truncated; fetch it again");  // libzip takes it for an archive
    ZipError error;
    Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error));
    if (!source) complain(name, error.text(), "memory for a zip archive");
    archive_ = open_archive(source, ZIP_RDONLY | ZIP_CHECKCONS, name);
    static_cast<void>(source.release());  // the archive has it now
    const auto members = static_cast<zip_uint64_t>(zip_get_num_entries(archive_.get(), 0));
    for (zip_uint64_t i = 0; i < members; ++i) {
      zip_stat_t stat;
      zip_stat_init(&stat);
      constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
      if (zip_stat_index(archive_.get(), i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
        complain(name, "a member without a size", "whole members");
      stats_.push_back(stat);
    }
  }

  std::size_t size() const { return stats_.size(); }
  std::string member(std::size_t i) const {
    std::string name(stats_[i].name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    return name;
  }

  /// Reads the header first: memory is taken only for what an array of that size is.
  NpyHeader header(std::size_t i) const { return begin(i).header; }

  HostArray array(std::size_t i) const {
    Begun begun = begin(i);
    const std::size_t have = begun.bytes.size();
    begun.bytes.resize(stats_[i].size);
    fill(i, begun.file, std::span(begun.bytes).subspan(have));  // reading to the end checks the CRC
    std::byte more;
    if (zip_fread(begun.file.get(), &more, 1) != 0)
      complain(name_, where(i) + zip_file_strerror(begun.file.get()), "no byte behind its end", "the file is damaged");
    return parse_npy(begun.bytes, named(i));
  }

 private:
  struct Begun {
    Member file;
    Bytes bytes;
    NpyHeader header;
  };
  std::string where(std::size_t i) const { return std::string(stats_[i].name) + ": "; }
  std::string named(std::size_t i) const { return std::string(name_) + ", " + stats_[i].name; }

  void fill(std::size_t i, const Member& file, std::span<std::byte> into) const {
    while (!into.empty()) {
      const zip_int64_t read = zip_fread(file.get(), into.data(), into.size());
      if (read <= 0) complain(name_, where(i) + zip_file_strerror(file.get()), "a member that can be read", "the file is damaged");
      into = into.subspan(static_cast<std::size_t>(read));
    }
  }

  Begun begin(std::size_t i) const {
    const zip_stat_t& stat = stats_[i];
    // Before memory is taken: can the archive hold so much at all?
    if (stat.comp_size > bytes_.size() || stat.size > bytes_.size() * kMaxExpansion)
      complain(name_, where(i) + std::to_string(stat.size) + " bytes out of an archive of " + std::to_string(bytes_.size()),
               "a whole archive");
    Begun out{Member(zip_fopen_index(archive_.get(), i, 0)), {}, {}};
    if (!out.file) complain(name_, where(i) + zip_strerror(archive_.get()), "a member that can be read");
    out.bytes.resize(std::min<std::uint64_t>(12, stat.size));
    fill(i, out.file, out.bytes);
    const std::size_t have = out.bytes.size(), length = std::max(have, npy_header_bytes(out.bytes, named(i)));
    if (length <= stat.size) {
      out.bytes.resize(length);
      fill(i, out.file, std::span(out.bytes).subspan(have));
    }
    out.header = parse_npy_header(out.bytes, stat.size, named(i));
    return out;
  }

  std::span<const std::byte> bytes_;
  std::string_view name_;
  Archive archive_;
  std::vector<zip_stat_t> stats_;
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
  ZipError error;
  Source source(zip_source_buffer_create(nullptr, 0, 0, &error.error));
  if (!source) complain(path, error.text(), "memory for a zip archive");
  zip_source_keep(source.get());  // read again once it is written
  Archive archive = open_archive(source, ZIP_CREATE | ZIP_TRUNCATE, path);
  std::vector<Bytes> contents;  // until the archive is closed
  contents.reserve(arrays.size());
  for (const auto& [name, array] : arrays) {
    contents.push_back(npy_bytes(array, path + ", " + name));
    Source member(zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0));
    const zip_int64_t index = member ? zip_file_add(archive.get(), (name + ".npy").c_str(), member.get(), ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0 || zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0)
      complain(path, name + ": " + zip_strerror(archive.get()), "an archive that takes it");
    static_cast<void>(member.release());
    zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), 0, 0x21,
                         0);  // 1980, as NumPy: the same arrays give the same bytes
  }
  if (zip_close(archive.get()) != 0) complain(path, zip_strerror(archive.get()), "an archive that can be finished");
  static_cast<void>(archive.release());
  if (zip_source_open(source.get()) != 0) complain(path, "an empty archive", "something to write");
  zip_stat_t stat;
  zip_stat_init(&stat);
  zip_source_stat(source.get(), &stat);
  Bytes bytes(stat.size);
  const zip_int64_t read = zip_source_read(source.get(), bytes.data(), bytes.size());
  zip_source_close(source.get());
  if (read != static_cast<zip_int64_t>(bytes.size())) complain(path, "an archive that cannot be read back", "all of its bytes");
  write_atomically(path, bytes, "npz");
}

#else

NamedArrays parse_npz(std::span<const std::byte>, std::string_view name) { complain_of_zip(name); }
HostArray read_npz(const std::string& path, const std::string&) { complain_of_zip(path); }
std::vector<NpzMember> list_npz(const std::string& path) { complain_of_zip(path); }
void write_npz(const std::string& path, const NamedArrays&) { complain_of_zip(path); }

#endif

NamedArrays read_npz(const std::string& path) { return parse_npz(read_file(path, {.op = "npz"}), path); }

}  // namespace tegula::io
