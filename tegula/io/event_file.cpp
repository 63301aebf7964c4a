#include "tegula/io/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/io/wire.h"

namespace tegula::io {
namespace {

[[noreturn]] void complain(const std::string& path, int code) {
  throw Error({.op = "EventFile", .got = path + ": " + std::strerror(code), .expected = "a file that can be written"});
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

template <class T>
void append(std::string& out, T value) {  // little-endian, as this machine
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

/// Event: 1 wall_time, 2 step, and one of 3 file_version, 5 summary.
std::string event(std::int64_t step, std::uint32_t field, std::string_view contents) {
  return WireWriter().fixed64(1, now()).varint(2, static_cast<std::uint64_t>(step)).bytes(field, contents).text();
}

std::string file_name() {
  static std::atomic<int> count{0};
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now())) + "." + host.data() + "." + std::to_string(::getpid()) +
         "." + std::to_string(count++);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
      out[i] = crc;
    }
    return out;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 255];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

EventFile::EventFile(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) complain(folder, error.value());
  path_ = folder + "/" + file_name();
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) complain(path_, errno);
  write(event(0, 3, "brain.Event:2"));
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

EventFile::EventFile(EventFile&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  const std::string entry = WireWriter().bytes(1, tag).fixed32(2, static_cast<float>(value)).text();
  write(event(step, 5, WireWriter().bytes(1, entry).text()));
}

/// A record: length, its CRC, the data, their CRC.
void EventFile::write(const std::string& event) {
  std::string length, record;
  append(length, static_cast<std::uint64_t>(event.size()));
  record = length;
  append(record, masked_crc32c(length));
  record += event;
  append(record, masked_crc32c(event));
  for (std::size_t done = 0; done < record.size();) {
    const ssize_t written = ::write(descriptor_, record.data() + done, record.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) complain(path_, errno);
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace tegula::io
