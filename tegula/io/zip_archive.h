#pragma once
// Zip archives in memory, by libzip where it was found when Tegula was built: .npz and PyTorch's files are such.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/io/file.h"

namespace tegula::io {

/// The files that a reader of archives is for, in its Errors.
struct ZipUser {
  std::string_view op;    // "npz"
  std::string_view kind;  // "an .npz archive"
  std::string_view advice = "";  // advice if libzip is missing
};

/// The members of an archive. Throws Error for an empty or damaged archive, and without libzip.
class ZipReader {
 public:
  /// `bytes` and `name` (the file, in messages) must outlive it.
  ZipReader(std::span<const std::byte> bytes, std::string_view name, ZipUser user);
  ~ZipReader();

  std::size_t size() const;
  std::string_view name(std::size_t member) const;
  /// The size of the member's contents. Throws Error if the archive is too short to hold as much.
  std::size_t bytes(std::size_t member) const;
  /// The first bytes, as many as there are of `most`.
  Bytes first(std::size_t member, std::size_t most) const;
  /// All of a member, its CRC checked.
  Bytes contents(std::size_t member) const;
  /// The same into memory of its size.
  void read(std::size_t member, std::span<std::byte> into) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// An archive of members that are not compressed, in this order, dated 1980: the same members give the same bytes. The members must live until it returns.
Bytes zip_archive(const std::vector<std::pair<std::string, std::span<const std::byte>>>& members, std::string_view name, ZipUser user);

}  // namespace tegula::io
