#pragma once
// The files of the cache on disk: compiled kernels, timings, versions of libraries. No other user may have written the files read here, since they are
// run; a file of any other kind does no more harm than a missing one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tegula::runtime {

/// $TEGULA_CACHE_DIR, else $XDG_CACHE_HOME/tegula, else ~/.cache/tegula: where compiled kernels and the tuning file lie. Nothing where none
/// of these is set.
std::optional<std::filesystem::path> cache_folder();

enum class Trust : std::uint8_t {
  Owner,  // a regular file of this user or of root, not reached through a link, that no other user may write
  Any,  // a regular file: the user has named it
};

/// The contents; nothing when the file is missing, not to be trusted, unreadable or larger than 1 GiB. Never waits for a writer.
std::optional<std::string> read_cache_file(const std::filesystem::path& path, Trust trust);

/// Replaces the file as a whole, for this user only, and makes the folder where it is missing. Failures do not matter: nothing is left behind.
void write_cache_file(const std::filesystem::path& path, const std::string& contents);

/// Adds to the end of the file, in one go, unless it is not to be trusted or larger than `most` bytes; makes file and folder where they are missing.
/// Failures do not matter.
void append_cache_file(const std::filesystem::path& path, const std::string& text, std::size_t most);

/// Held while a file is read, merged and written again, so that of several processes none loses what another has added. Given up after a
/// second: a process that was stopped must not stop others.
class CacheLock {
 public:
  explicit CacheLock(const std::filesystem::path& path);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace tegula::runtime
