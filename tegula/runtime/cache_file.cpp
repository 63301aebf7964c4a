#include "tegula/runtime/cache_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tegula::runtime {
namespace {

constexpr off_t kMostBytes = off_t{1} << 30;
constexpr mode_t kMine = S_IRUSR | S_IWUSR;

bool may_be_read(const struct stat& status, Trust trust) {
  if (!S_ISREG(status.st_mode) || status.st_size > kMostBytes) return false;
  if (trust == Trust::Any) return true;
  return (status.st_uid == geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool read_all(int descriptor, std::string& into) {
  for (std::size_t done = 0; done < into.size();) {
    const ssize_t count = pread(descriptor, into.data() + done, into.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::exists(folder, ignored)) return;
  std::filesystem::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

std::optional<std::filesystem::path> cache_folder() {
  const auto variable = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    if (!value || !*value) return {};
    return std::filesystem::path(value);
  };
  if (auto path = variable("TEGULA_CACHE_DIR")) return path;
  if (auto path = variable("XDG_CACHE_HOME")) return *path / "tegula";
  if (auto path = variable("HOME")) return *path / ".cache" / "tegula";
  return {};
}

std::optional<std::string> read_cache_file(const std::filesystem::path& path, Trust trust) {
  const int links = trust == Trust::Owner ? O_NOFOLLOW : 0;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | links);  // a pipe is not waited for
  if (descriptor < 0) return {};
  struct stat status{};
  std::optional<std::string> contents;
  if (fstat(descriptor, &status) == 0 && may_be_read(status, trust)) {
    contents.emplace(static_cast<std::size_t>(status.st_size), '\0');
    if (!read_all(descriptor, *contents)) contents.reset();
  }
  close(descriptor);
  return contents;
}

void write_cache_file(const std::filesystem::path& path, const std::string& contents) {
  static std::atomic<unsigned> number = 0;
  make_folder(path.parent_path());
  std::string temporary;
  int descriptor = -1;
  do {  // O_EXCL: an existing file, such as a planted link, is not written through
    temporary = path.string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);
    descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMine);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) return;
  const bool written = write_all(descriptor, contents);
  if (close(descriptor) != 0 || !written || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

void append_cache_file(const std::filesystem::path& path, const std::string& text, std::size_t most) {
  make_folder(path.parent_path());
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMine);
  if (descriptor < 0) return;
  struct stat status{};
  const bool may_be =
      fstat(descriptor, &status) == 0 && may_be_read(status, Trust::Owner) && static_cast<std::size_t>(status.st_size) <= most;
  if (may_be) static_cast<void>(write_all(descriptor, text));
  close(descriptor);
}

CacheLock::CacheLock(const std::filesystem::path& path) {
  make_folder(path.parent_path());
  descriptor_ = open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMine);
  for (int tries = 0; descriptor_ >= 0 && tries < 100 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    usleep(10'000);
  }
}

CacheLock::~CacheLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tegula::runtime
