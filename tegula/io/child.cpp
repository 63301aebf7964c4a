#include "tegula/io/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tegula/core/error.h"

extern char** environ;

namespace tegula::io {
namespace {

[[noreturn]] void fail(const char* what, int reason) {
  throw Error({.op = "run_child",
               .got = std::string(what) + ": " + std::strerror(reason),
               .expected = "",
               .advice = "close other programs or files"});
}

/// A file that lives in memory only. Pipes would need a thread or poll to avoid that both sides wait for each other. Several processes may write at once: each
/// appends, since the position of a write is not locked for such files.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("tegula", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("memfd_create", errno);
    if (::fcntl(descriptor_, F_SETFL, O_APPEND) != 0) fail("fcntl", errno);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  void fill(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  Bytes contents() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail("fstat", errno);
    Bytes bytes(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail("read", errno);
      done += static_cast<std::size_t>(count);
    }
    return bytes;
  }

 private:
  int descriptor_;
};

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
};

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, std::span<const std::byte> input) {
  MemoryFile in, out, messages;
  in.fill(input);
  FileActions files;
  posix_spawn_file_actions_adddup2(&files.actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files.actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files.actions, messages.descriptor(), STDERR_FILENO);

  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn's interface lacks const
  argv.push_back(nullptr);
  pid_t child = 0;
  const int code = ::posix_spawnp(&child, argv[0], &files.actions, nullptr, argv.data(), environ);
  if (code == ENOENT || code == EACCES || code == ENOTDIR) return {.found = false, .exit_code = 127, .output = {}, .messages = {}};
  if (code != 0) fail("posix_spawn", code);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid", errno);
  }
  const Bytes text = messages.contents();
  return {.found = true,
          .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = out.contents(),
          .messages = std::string(reinterpret_cast<const char*>(text.data()), text.size())};
}

}  // namespace tegula::io
