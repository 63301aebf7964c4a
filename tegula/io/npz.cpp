// .npz archives, by libzip where it was found when Tegula was built.

#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/npy.h"

#if TEGULA_HAS_ZIP
#include <zip.h>

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

NamedArrays parse_npz(std::span<const std::byte> bytes, std::string_view name) {
  ZipError error;
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error));
  if (!source) complain(name, error.text(), "memory for a zip archive");
  const Archive archive = open_archive(source, ZIP_RDONLY | ZIP_CHECKCONS, name);
  static_cast<void>(source.release());  // the archive has it now
  NamedArrays out;
  const auto members = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t i = 0; i < members; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(archive.get(), i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      complain(name, "a member without a size", "whole members");
    std::string member(stat.name);
    // Before memory is taken: can the archive hold so much at all?
    if (stat.comp_size > bytes.size() || stat.size > bytes.size() * kMaxExpansion)
      complain(name, member + ": " + std::to_string(stat.size) + " bytes out of an archive of " + std::to_string(bytes.size()),
               "a whole archive");
    const Member file(zip_fopen_index(archive.get(), i, 0));
    if (!file) complain(name, member + ": " + zip_strerror(archive.get()), "a member that can be read");
    Bytes data(stat.size);
    zip_uint64_t have = 0;
    while (have < data.size()) {  // reading to the end checks the CRC
      const zip_int64_t read = zip_fread(file.get(), data.data() + have, data.size() - have);
      if (read <= 0) complain(name, member + ": " + zip_file_strerror(file.get()), "a member that can be read", "the file is damaged");
      have += static_cast<zip_uint64_t>(read);
    }
    std::byte more;
    if (zip_fread(file.get(), &more, 1) != 0)
      complain(name, member + ": " + zip_file_strerror(file.get()), "no byte behind its end", "the file is damaged");
    HostArray array = parse_npy(data, std::string(name) + ", " + member);
    if (member.ends_with(".npy")) member.resize(member.size() - 4);
    out.emplace_back(std::move(member), std::move(array));
  }
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
void write_npz(const std::string& path, const NamedArrays&) { complain_of_zip(path); }

#endif

NamedArrays read_npz(const std::string& path) { return parse_npz(read_file(path, {.op = "npz"}), path); }

}  // namespace tegula::io
