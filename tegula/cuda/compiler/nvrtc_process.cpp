#include "tegula/cuda/compiler/nvrtc_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "tegula/core/code_file.h"
#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc_library.h"

namespace tegula::gpu {
namespace {

constexpr int kIdleMilliseconds = 10'000, kSendMilliseconds = 5'000, kWaitMilliseconds = 120'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
constexpr std::uint32_t kRequest = 0x54434d51, kResult = 0x54434d52;

/// Before each message. A request's bytes are its options and its source, each behind its length; a result's are the cubin.
struct Header {
  std::uint32_t kind;
  std::int32_t number;  // request: number of options; result: version of NVRTC, 0 for failure
  std::uint64_t bytes;
};

/// Sends all bytes. The receiver is always waiting, so it reads at once; returns false if it does not: it was stopped, or is gone.
bool send_all(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    pollfd ready{.fd = socket, .events = POLLOUT, .revents = 0};
    const int polled = poll(&ready, 1, kSendMilliseconds);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    at += sent, size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size, int milliseconds) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    const int polled = poll(&ready, 1, milliseconds);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return false;
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_message(int socket, std::uint32_t kind, std::int32_t number, const std::string& bytes) {
  const Header header{kind, number, bytes.size()};
  return send_all(socket, &header, sizeof header) && send_all(socket, bytes.data(), bytes.size());
}

/// Nothing when the other side is gone, silent for too long, or says what makes no sense.
std::optional<std::vector<char>> receive_message(int socket, std::uint32_t kind, std::int32_t& number, int milliseconds) {
  Header header{};
  if (!receive_all(socket, &header, sizeof header, milliseconds) || header.kind != kind || header.bytes > kMostBytes) return {};
  std::vector<char> bytes(header.bytes);
  if (!receive_all(socket, bytes.data(), bytes.size(), kWaitMilliseconds)) return {};
  number = header.number;
  return bytes;
}

std::string request_text(const std::string& source, const std::vector<std::string>& options) {
  std::string text;
  const auto add = [&](const std::string& part) {
    const std::uint64_t size = part.size();
    text.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
  };
  for (const std::string& option : options) add(option);
  add(source);
  return text;
}

/// The parts of a request; empty when they are not as many as they should be.
std::vector<std::string> parts_of(const std::vector<char>& bytes, std::int32_t options) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t size = 0;
    if (bytes.size() - at < sizeof size) return {};
    std::copy_n(bytes.data() + at, sizeof size, reinterpret_cast<char*>(&size));
    at += sizeof size;
    if (bytes.size() - at < size) return {};
    parts.emplace_back(bytes.data() + at, size);
    at += size;
  }
  if (options < 0 || parts.size() != static_cast<std::size_t>(options) + 1) return {};
  return parts;
}

/// Our ends of sockets to as many new processes; none if the program cannot be started. The program leaves a child of its own at once, so this process
/// need not wait for it.
std::vector<int> spawn_compilers(const std::filesystem::path& path, int count) {
  std::vector<int> ours, theirs;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int i = 0; i < count; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) break;
    const int above = fcntl(ends[1], F_DUPFD_CLOEXEC, kCompilerSocket + count);  // the places where the program finds them
    close(ends[1]);
    if (above < 0) {
      close(ends[0]);
      break;
    }
    ours.push_back(ends[0]);
    theirs.push_back(above);
    posix_spawn_file_actions_adddup2(&files, above, kCompilerSocket + i);
  }
  for (const int standard : {0, 1, 2}) posix_spawn_file_actions_addopen(&files, standard, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, kCompilerSocket + static_cast<int>(theirs.size()));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = path.string(), number = std::to_string(theirs.size());
  char* arguments[] = {name.data(), number.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, name.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  for (const int end : theirs) close(end);
  int status = 0;
  while (failed == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (failed == 0 && status == 0) return ours;
  for (const int end : ours) close(end);
  return {};
}

int default_count() {
  if (const char* count = std::getenv("TEGULA_COMPILERS"); count && *count) return std::clamp(std::atoi(count), 0, 64);
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  return processors < 4 ? 0 : std::min(processors, 16);
}

/// The path beside the file that this function is in.
std::filesystem::path default_path() {
  const std::filesystem::path file = code_file(reinterpret_cast<const void*>(&default_path));
  return file.empty() ? file : file.parent_path() / "tegula-nvrtc";
}

}  // namespace

CompilerProcesses& CompilerProcesses::get() {
  static auto* instance = new CompilerProcesses(default_path(), default_count());
  return *instance;
}

CompilerProcesses::~CompilerProcesses() {
  for (const Process& process : processes_) close(process.socket);
}

int CompilerProcesses::running() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(processes_.size());
}

void CompilerProcesses::start() {
  int missing = 0;
  {
    const std::scoped_lock lock(mutex_);
    missing = count_ - static_cast<int>(processes_.size());
    if (starting_ || missing <= 0 || access(path_.c_str(), X_OK) != 0) return;
    starting_ = true;
  }
  const std::vector<int> sockets = spawn_compilers(path_, missing);
  const std::scoped_lock lock(mutex_);
  for (const int socket : sockets) processes_.push_back({socket});
  starting_ = false;
  changed_.notify_all();
}

std::optional<std::vector<char>> CompilerProcesses::compile(const std::string& source, const std::vector<std::string>& options,
                                                            int version) {
  const auto is_free = [](const Process& process) { return !process.busy; };
  int socket = -1;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return (processes_.empty() && !starting_) || std::ranges::any_of(processes_, is_free); });
    const auto found = std::ranges::find_if(processes_, is_free);
    if (found == processes_.end()) return {};
    found->busy = true;
    socket = found->socket;
  }
  std::optional<std::vector<char>> result;
  std::int32_t there = 0;
  if (send_message(socket, kRequest, static_cast<std::int32_t>(options.size()), request_text(source, options)))
    result = receive_message(socket, kResult, there, kWaitMilliseconds);
  const std::scoped_lock lock(mutex_);
  const auto self = std::ranges::find(processes_, socket, &Process::socket);
  if (result) {
    self->busy = false;
  } else {  // it is gone
    close(socket);
    processes_.erase(self);
  }
  changed_.notify_all();
  if (there != version) return {};
  return result;
}

int serve_compilations(int socket) {
  std::int32_t count = 0;
  while (const auto request = receive_message(socket, kRequest, count, kIdleMilliseconds)) {
    std::vector<std::string> parts = parts_of(*request, count);
    if (parts.empty()) return 1;
    const std::string source = std::move(parts.back());
    parts.pop_back();
    std::string cubin;
    int version = 0;
    try {
      const std::vector<char> image = Unit(source, parts).cubin();
      cubin.assign(image.begin(), image.end());
      version = Nvrtc::get().version;
    } catch (const Error&) { version = 0; }
    if (!send_message(socket, kResult, version, cubin)) return 1;
  }
  return 0;
}

bool fork_servers(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return false;
    if (child > 0) continue;
    for (int other = 0; other < count; ++other) {  // an end that others hold never ends
      if (other != i) close(kCompilerSocket + other);
    }
    _exit(serve_compilations(kCompilerSocket + i));
  }
  return true;
}

}  // namespace tegula::gpu
