#include "tegula/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::io {
namespace {

[[noreturn]] void fail(std::string_view op, std::string got, std::string expected, std::string advice) {
  throw Error({.op = std::string(op), .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
}

std::string system_message() { return std::strerror(errno); }

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

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
  Bytes bytes(static_cast<std::size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

Bytes read_file_or_gzip(const std::string& path, const ReadOptions& options) {
  Bytes bytes = read_file(path, options);
  return is_gzip(bytes) ? gunzip(bytes, path, options) : bytes;
}

bool is_gzip(std::span<const std::byte> bytes) { return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b}; }

namespace {

// Deflate cannot expand by more than about 1032 (a 258-byte match in two bits), which bounds what a length field may promise.
constexpr std::size_t kMaxExpansion = 1040;

std::size_t first_guess(std::span<const std::byte> bytes, std::size_t limit) {
  std::uint32_t promised = 0;  // the length modulo 2^32 in the trailer
  if (bytes.size() >= 18) std::memcpy(&promised, bytes.data() + bytes.size() - 4, 4);
  const std::size_t possible = bytes.size() > limit / kMaxExpansion ? limit : bytes.size() * kMaxExpansion;
  return std::max<std::size_t>(std::min<std::size_t>(promised, possible), 64);
}

struct Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;  // 16: gzip wrapper, with CRC and length check
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

}  // namespace

Bytes gunzip(std::span<const std::byte> bytes, std::string_view name, const ReadOptions& options) {
  const std::string file(name);
  constexpr std::size_t kChunk = std::numeric_limits<uInt>::max();
  Inflater inflater;
  if (!inflater.ready) fail(options.op, "zlib could not start", "enough memory", "");
  z_stream& stream = inflater.stream;

  // One byte above the limit, so that passing it is seen.
  const std::size_t room = options.limit + 1;
  Bytes out(std::min(first_guess(bytes, options.limit), room));
  std::size_t used = 0, written = 0;
  for (;;) {
    if (written == out.size()) out.resize(std::min(out.size() * 2, room));
    const auto input = static_cast<uInt>(std::min(bytes.size() - used, kChunk));
    const auto output = static_cast<uInt>(std::min(out.size() - written, kChunk));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data() + used));  // zlib's interface lacks const
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = output;
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += input - stream.avail_in;
    written += output - stream.avail_out;
    if (written > options.limit) {
      fail(options.op, file + ": more than " + std::to_string(options.limit) + " bytes when decompressed",
           "at most " + std::to_string(options.limit) + " bytes", "this is probably not the file you meant");
    }
    if (code == Z_STREAM_END) {
      if (used == bytes.size()) break;
      if (!is_gzip(bytes.subspan(used))) {
        fail(options.op, file + ": " + std::to_string(bytes.size() - used) + " bytes after the gzip data", "the end of the file",
             "the file is damaged; fetch it again");
      }
      inflateReset(&stream);
      continue;
    }
    if (code == Z_BUF_ERROR || (code == Z_OK && used == bytes.size() && stream.avail_out != 0)) {
      fail(options.op, file + ": gzip data that stop after " + std::to_string(bytes.size()) + " bytes", "the rest of the gzip data",
           "the file is truncated; fetch it again");
    }
    if (code != Z_OK) {
      fail(options.op,
           file + ": corrupt gzip data near byte " + std::to_string(used) + (stream.msg ? std::string(" (") + stream.msg + ")" : ""),
           "gzip data", "the file is damaged; fetch it again");
    }
  }
  out.resize(written);
  return out;
}

AtomicFile::AtomicFile(std::string path, std::string_view op) : path_(std::move(path)), op_(op) {
  struct stat status{};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    io::fail(op_, path_ + (S_ISDIR(status.st_mode) ? ": a folder" : ": not a regular file"), "a file name", "choose another path");
  }
  static std::atomic<unsigned> serial{0};
  do {
    temporary_ = path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    io::fail(op_, path_ + ": " + system_message(), "a folder that can be written",
             "create the folder " + folder_of(path_) + " first, or choose another path");
  }
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));  // best effort: keep the access rights
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(const char* what) const {
  io::fail(op_, path_ + ": " + system_message() + " (" + what + ")", "a disk that takes the file",
           "check free space and rights; the old file, if any, is untouched");
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("fsync");
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) fail("close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  temporary_.clear();
  // The new name itself must reach the disk. Some file systems cannot sync a folder (EINVAL): then nothing more can be done.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const int code = ::fsync(folder);
  const int reason = errno;
  ::close(folder);
  errno = reason;
  if (code != 0 && reason != EINVAL && reason != EROFS) fail("fsync of the folder");
}

void write_atomically(const std::string& path, std::span<const std::byte> bytes, std::string_view op) {
  AtomicFile file(path, op);
  file.write(bytes);
  file.commit();
}

}  // namespace tegula::io
