#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/io/file.h"

// While a temporary file is written, its writer holds a lock on it (flock), which ends with the process in any case. A process that gets
// the lock of such a file therefore knows that its writer is gone. On file systems without locks the files of killed runs stay.
namespace tegula::io {
namespace {

constexpr std::string_view kInfix = ".tmp-";  // "model.st.tmp-<process>-<number>"

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The end of a chain of symbolic links, so that saving through a link replaces the file and not the link. The file need not exist.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks; ++i) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) break;  // no link
    const std::string_view text(target.data(), static_cast<std::size_t>(length));
    path = text.starts_with('/') ? std::string(text) : folder_of(path) + "/" + std::string(text);
  }
  return path;
}

bool is_temporary_of(std::string_view name, std::string_view file) {
  if (!name.starts_with(file) || !name.substr(file.size()).starts_with(kInfix)) return false;
  const std::string_view rest = name.substr(file.size() + kInfix.size());
  const auto dash = rest.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string_view::npos && is_number(rest.substr(0, dash)) && is_number(rest.substr(dash + 1));
}

/// Removes what runs that were killed while they wrote `path` have left. Failures do not matter.
void remove_abandoned(const std::string& path) {
  const std::string folder = folder_of(path), file = path.substr(path.find_last_of('/') + 1);
  DIR* entries = ::opendir(folder.c_str());
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries)) {
    if (!is_temporary_of(entry->d_name, file)) continue;
    const std::string name = folder + "/" + entry->d_name;
    const int descriptor = ::open(name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat opened{}, named{};
    const bool ours = ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == ::geteuid();
    // The name is looked at again: the writer may have renamed the file before it gave up its lock.
    if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::lstat(name.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
        named.st_dev == opened.st_dev) {
      ::unlink(name.c_str());
    }
    ::close(descriptor);
  }
  ::closedir(entries);
}

[[noreturn]] void refuse(const std::string& op, const std::string& path, std::string got, std::string expected, std::string advice) {
  throw Error({.op = op, .got = path + ": " + std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
}

/// The advice for a folder in which no file can be made.
std::string advice_for(int reason, const std::string& folder) {
  struct stat status{};
  switch (reason) {
    case ENOENT:
      if (::stat(folder.c_str(), &status) != 0) return "create the folder " + folder + " first, or choose another path";
      break;
    case ENOSPC:
    case EDQUOT: return "the folder " + folder + " is full: free some space, or choose another path";
    case EACCES:
    case EPERM:
    case EROFS: return "you may not write into the folder " + folder + ": change its rights, or choose another path";
    case ENOTDIR: return folder + " is no folder: choose another path";
    case ENAMETOOLONG: return "choose a shorter name";
    default: break;
  }
  return "choose another path";
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string_view op) : path_(std::move(path)), target_(behind_links(path_)), op_(op) {
  struct stat status{};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno == ELOOP) refuse(op_, path_, "symbolic links that go round in a circle", "a file name", "choose another path");
  if (exists && !S_ISREG(status.st_mode))
    refuse(op_, path_, S_ISDIR(status.st_mode) ? "a folder" : "not a regular file", "a file name", "choose another path");
  remove_abandoned(target_);
  static std::atomic<unsigned> serial{0};
  for (;;) {
    temporary_ = target_ + std::string(kInfix) + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) {
      const int reason = errno;
      refuse(op_, path_, std::strerror(reason), "a folder that can be written", advice_for(reason, folder_of(target_)));
    }
    struct stat made{};
    static_cast<void>(::flock(descriptor_, LOCK_EX));  // waits at most for a process that takes the file for abandoned, and removes it
    if (::fstat(descriptor_, &made) != 0 || made.st_nlink > 0) break;
    ::close(descriptor_);
  }
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));  // best effort: keep the access rights
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void AtomicFile::fail(const char* what) const {
  refuse(op_, path_, std::strerror(errno) + std::string(" (") + what + ")", "a disk that takes the file",
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
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename");
  temporary_.clear();
  ::close(std::exchange(descriptor_, -1));  // after the renaming: until then the lock shows that the file is in use
  // The new name itself must reach the disk. Some file systems cannot sync a folder (EINVAL): then nothing more can be done.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

void require_writable(const std::string& path, std::string_view op) { const AtomicFile file(path, op); }

}  // namespace tegula::io
