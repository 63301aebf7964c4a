#pragma once
// A file as memory: pages are read when they are touched.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tegula/core/buffer.h"

namespace tegula::io {

/// A mapped file. Writes to its memory stay in this process. While it lives the file must keep its length and contents: it may be replaced, as AtomicFile does,
/// but not overwritten.
class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  /// Throws Error when the file is missing, unreadable, not a regular file, or cannot be mapped.
  static std::shared_ptr<MappedFile> open(const std::string& path, const std::string& op);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// `bytes` bytes of the file from `offset` on, as a buffer that keeps the mapping alive; null if they do not begin at a multiple of kBufferAlignment.
  Ref<Buffer> buffer(std::uint64_t offset, std::size_t bytes);

 private:
  MappedFile(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace tegula::io
