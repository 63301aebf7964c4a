#pragma once
// Whole-file reading, and writing that is all or nothing.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/signals.h"

namespace tegula::io {

using Bytes = std::vector<std::byte>;

struct ReadOptions {
  std::string_view op = "read_file";              // the caller's name, for error messages
  std::size_t limit = std::size_t{4} << 30;       // bytes, after decompression; more is an error
};

/// The contents of the regular file `path`. Throws Error when it is missing, unreadable, not a regular file or larger than the limit.
Bytes read_file(const std::string& path, const ReadOptions& options = {});

/// True if a file or folder of this name exists. False if that is unknown (a loop of links, an unreadable folder): opening the
/// file then reports the reason.
bool is_there(const std::string& path);
bool is_folder(const std::string& path);
/// Makes a folder and those above it, where they are missing. Throws Error.
void make_folder(const std::string& path, std::string_view op);

/// A regular file opened for reading pieces of it.
class InputFile {
 public:
  /// Throws Error when the file is missing, unreadable or not a regular file.
  InputFile(std::string path, std::string_view op);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const { return size_; }  // bytes, when it was opened
  /// Fills `into` from byte `offset` on. Throws Error when the file ends before or the disk fails.
  void read_at(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  std::string path_;
  std::string op_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file that appears under its name only as a whole: bytes go to a temporary file in the same folder; commit() flushes it to the
/// disk, renames it over `path` and flushes the folder. Without commit() nothing is left behind and an older file stays as it was; the rests of a
/// killed process are removed by the next writer of the same file. Ctrl-C and SIGTERM wait on the calling thread until it is done. A symbolic
/// link stays, the file behind it is replaced.
class AtomicFile {
 public:
  /// Throws Error when the folder cannot be written, or when `path` exists and is no regular file.
  explicit AtomicFile(std::string path, std::string_view op = "write_atomically");
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Error when the disk refuses.
  void write(std::span<const std::byte> bytes);
  /// Throws Error when the disk refuses. Call once, last.
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  void discard() noexcept;

  HeldInterrupts held_;  // an end in between would leave the temporary file
  std::string path_;  // as the user wrote it
  std::string target_;  // behind symbolic links
  std::string temporary_;  // empty: renamed or removed
  std::string op_;
  int descriptor_ = -1;
};

/// Replaces the contents of `path` by `bytes`, all or nothing (see AtomicFile). Throws Error.
void write_atomically(const std::string& path, std::span<const std::byte> bytes, std::string_view op = "write_atomically");

/// Throws the Error that writing `path` would throw now, if any, and leaves nothing behind: to be asked before long work.
void require_writable(const std::string& path, std::string_view op);

}  // namespace tegula::io
