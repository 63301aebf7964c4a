#include "tegula/io/zip_archive.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"

#if TEGULA_HAS_ZIP
#include <zip.h>

#include <algorithm>
#endif

namespace tegula::io {
namespace {

[[noreturn]] void complain(std::string_view name, const ZipUser& user, const std::string& got, std::string expected,
                           std::string advice = "") {
  throw Error({.op = std::string(user.op),
               .got = printable(std::string(name) + ": " + got),
               .expected = std::move(expected),
               .advice = std::move(advice)});
}

}  // namespace

#if TEGULA_HAS_ZIP

namespace {

constexpr std::uint64_t kMaxExpansion = 1040;  // the maximum of deflate, rounded up

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

Archive open_archive(Source& source, int flags, std::string_view name, const ZipUser& user) {
  ZipError error;
  Archive archive(zip_open_from_source(source.get(), flags, &error.error));
  if (!archive) complain(name, user, error.text(), "a zip archive", "the file is damaged or of another kind");
  return archive;
}

}  // namespace

struct ZipReader::Impl {
  std::span<const std::byte> bytes;
  std::string_view file;
  ZipUser user;
  Archive archive = nullptr;
  std::vector<zip_stat_t> stats = {};

  [[noreturn]] void complain_of(std::size_t member, const std::string& got, std::string expected, std::string advice = "") const {
    complain(file, user, std::string(stats[member].name) + ": " + got, std::move(expected), std::move(advice));
  }
  Member open(std::size_t member) const {
    Member out(zip_fopen_index(archive.get(), member, 0));
    if (!out) complain_of(member, zip_strerror(archive.get()), "a member that can be read");
    return out;
  }
  void fill(std::size_t member, zip_file_t* from, std::span<std::byte> into) const {
    while (!into.empty()) {
      const zip_int64_t read = zip_fread(from, into.data(), into.size());
      if (read <= 0) complain_of(member, zip_file_strerror(from), "a member that can be read", "the file is damaged");
      into = into.subspan(static_cast<std::size_t>(read));
    }
  }
};

ZipReader::ZipReader(std::span<const std::byte> bytes, std::string_view name, ZipUser user)
    : impl_(new Impl{.bytes = bytes, .file = name, .user = user}) {
  // libzip takes an empty file for an archive.
  if (bytes.empty()) complain(name, user, "an empty file", std::string(user.kind), "the file is truncated; fetch it again");
  ZipError error;
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error));
  if (!source) complain(name, user, error.text(), "memory for a zip archive");
  impl_->archive = open_archive(source, ZIP_RDONLY | ZIP_CHECKCONS, name, user);
  static_cast<void>(source.release());  // the archive has it now
  const auto members = static_cast<zip_uint64_t>(zip_get_num_entries(impl_->archive.get(), 0));
  for (zip_uint64_t i = 0; i < members; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(impl_->archive.get(), i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
      complain(name, user, "a member without a size", "whole members");
    impl_->stats.push_back(stat);
  }
}

ZipReader::~ZipReader() = default;

std::size_t ZipReader::size() const { return impl_->stats.size(); }
std::string_view ZipReader::name(std::size_t member) const { return impl_->stats[member].name; }

std::size_t ZipReader::bytes(std::size_t member) const {
  const zip_stat_t& stat = impl_->stats[member];
  if (stat.comp_size > impl_->bytes.size() || stat.size > impl_->bytes.size() * kMaxExpansion)
    impl_->complain_of(member, std::to_string(stat.size) + " bytes out of an archive of " + std::to_string(impl_->bytes.size()),
                       "a whole archive");
  return stat.size;
}

Bytes ZipReader::first(std::size_t member, std::size_t most) const {
  Bytes out(std::min(most, bytes(member)));
  impl_->fill(member, impl_->open(member).get(), out);
  return out;
}

Bytes ZipReader::contents(std::size_t member) const {
  Bytes out(bytes(member));
  read(member, out);
  return out;
}

void ZipReader::read(std::size_t member, std::span<std::byte> into) const {
  const Member from = impl_->open(member);
  impl_->fill(member, from.get(), into);
  std::byte more;  // reading to the end checks the CRC
  if (zip_fread(from.get(), &more, 1) != 0)
    impl_->complain_of(member, zip_file_strerror(from.get()), "no byte behind its end", "the file is damaged");
}

Bytes zip_archive(const std::vector<std::pair<std::string, std::span<const std::byte>>>& members, std::string_view name, ZipUser user) {
  ZipError error;
  Source source(zip_source_buffer_create(nullptr, 0, 0, &error.error));
  if (!source) complain(name, user, error.text(), "memory for a zip archive");
  zip_source_keep(source.get());  // read again once it is written
  Archive archive = open_archive(source, ZIP_CREATE | ZIP_TRUNCATE, name, user);
  for (const auto& [member, contents] : members) {
    Source from(zip_source_buffer(archive.get(), contents.data(), contents.size(), 0));
    const zip_int64_t index = from ? zip_file_add(archive.get(), member.c_str(), from.get(), ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0 || zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0)
      complain(name, user, member + ": " + zip_strerror(archive.get()), "an archive that takes it");
    static_cast<void>(from.release());
    zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), 0, 0x21, 0);  // 1980, as NumPy
  }
  if (zip_close(archive.get()) != 0) complain(name, user, zip_strerror(archive.get()), "an archive that can be finished");
  static_cast<void>(archive.release());
  if (zip_source_open(source.get()) != 0) complain(name, user, "an empty archive", "something to write");
  zip_stat_t stat;
  zip_stat_init(&stat);
  zip_source_stat(source.get(), &stat);
  Bytes bytes(stat.size);
  const zip_int64_t read = zip_source_read(source.get(), bytes.data(), bytes.size());
  zip_source_close(source.get());
  if (read != static_cast<zip_int64_t>(bytes.size())) complain(name, user, "an archive that cannot be read back", "all of its bytes");
  return bytes;
}

#else

struct ZipReader::Impl {};

namespace {

[[noreturn]] void complain_of_zip(std::string_view name, const ZipUser& user) {
  complain(name, user, std::string(user.kind), "Tegula built with libzip",
           "install libzip-dev and build again" + (user.advice.empty() ? "" : "; " + std::string(user.advice)));
}

}  // namespace

ZipReader::ZipReader(std::span<const std::byte>, std::string_view name, ZipUser user) { complain_of_zip(name, user); }
ZipReader::~ZipReader() = default;
std::size_t ZipReader::size() const { return 0; }
std::string_view ZipReader::name(std::size_t) const { return ""; }
std::size_t ZipReader::bytes(std::size_t) const { return 0; }
Bytes ZipReader::first(std::size_t, std::size_t) const { return {}; }
Bytes ZipReader::contents(std::size_t) const { return {}; }
void ZipReader::read(std::size_t, std::span<std::byte>) const {}
Bytes zip_archive(const std::vector<std::pair<std::string, std::span<const std::byte>>>&, std::string_view name, ZipUser user) {
  complain_of_zip(name, user);
}

#endif

}  // namespace tegula::io
