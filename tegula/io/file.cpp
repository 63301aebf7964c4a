#include "tegula/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::io {
namespace {

[[noreturn]] void fail(std::string_view op, std::string got, std::string expected, std::string advice) {
  throw Error({.op = std::string(op), .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
}

std::string system_message() { return std::strerror(errno); }

}  // namespace

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

void make_folder(const std::string& path, std::string_view op) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(op, path + ": " + error.message(), "a folder that can be made", "choose another place");
}

InputFile::InputFile(std::string path, std::string_view op) : path_(std::move(path)), op_(op) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer before fstat can refuse it.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    fail(op_, path_ + ": " + system_message(), "a readable file", "check the path; it is relative to the working directory");
  }
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    fail(op_, path_ + (S_ISDIR(status.st_mode) ? ": a folder" : ": not a regular file"), "a regular file", "name the file itself");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(op_, path_ + ": " + system_message(), "a readable file", "check the disk");
    if (count == 0) {
      fail(op_, path_ + ": the end of the file at byte " + std::to_string(offset), std::to_string(into.size()) + " more bytes",
           "the file is truncated, or was changed while it was read");
    }
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

Bytes read_file(const std::string& path, const ReadOptions& options) {
  const InputFile file(path, options.op);
  if (file.size() > options.limit) {
    fail(options.op, path + ": " + std::to_string(file.size()) + " bytes", "at most " + std::to_string(options.limit) + " bytes",
         "this is probably not the file you meant");
  }
  Bytes bytes;
  try {
    bytes.resize(static_cast<std::size_t>(file.size()));
  } catch (const std::bad_alloc&) {
    fail(options.op, path + ": " + std::to_string(file.size()) + " bytes", "memory for them", "free memory, or use a smaller file");
  }
  file.read_at(0, bytes);
  return bytes;
}

}  // namespace tegula::io
