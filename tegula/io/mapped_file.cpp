#include "tegula/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tegula/core/error.h"

namespace tegula::io {
namespace {

class MappedBuffer final : public Buffer {
 public:
  MappedBuffer(std::shared_ptr<const MappedFile> file, void* data, std::size_t bytes) : Buffer(data, bytes, 0), file_(std::move(file)) {}

 private:
  std::shared_ptr<const MappedFile> file_;
};

/// A descriptor that is closed at the end.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path, const std::string& op) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto fail = [&](const std::string& why) {
    throw Error({.op = op, .got = path + ": " + why, .expected = "a regular file that can be read"});
  };
  struct stat status{};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_size == 0) fail("no regular file, or an empty one");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.number, 0);
  if (data == MAP_FAILED) fail(std::strerror(errno));
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<std::byte*>(data), bytes));
}

MappedFile::~MappedFile() { ::munmap(data_, bytes_); }

Ref<Buffer> MappedFile::buffer(std::uint64_t offset, std::size_t bytes) {
  if (offset % kBufferAlignment != 0 || offset > bytes_ || bytes > bytes_ - offset) return {};
  return make<MappedBuffer>(shared_from_this(), data_ + offset, bytes);
}

}  // namespace tegula::io
