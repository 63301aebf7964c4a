#include "tegula/dist/transport/endpoint.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "tegula/core/error.h"

namespace tegula::dist {
namespace {

constexpr std::string_view kUnix = "unix:", kFile = "file:";
constexpr std::uint32_t kMostMessage = 1 << 20;

[[noreturn]] void refuse(const std::string& got, const std::string& advice) {
  throw Error({.op = "dist",
               .got = got,
               .expected = "an address such as 10.0.0.1:29400, host:29400, unix:/tmp/run/meeting or file:/shared/run",
               .advice = advice});
}

bool is_unix(const std::string& address) { return address.starts_with(kUnix); }

std::optional<std::string> file_of(const std::string& address) {
  if (!address.starts_with(kFile)) return {};
  if (address.size() == kFile.size()) refuse("the address '" + address + "'", "name a file that all ranks see");
  return address.substr(kFile.size());
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) refuse("the path '" + path + "'", "a socket's path has 1 to 107 bytes");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Found look_up(const std::string& address, bool listens) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) refuse("the address '" + address + "'", "name a port");
  std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  unsigned number = 0;  // a number too large would be cut off by getaddrinfo
  const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (bad != std::errc() || end != port.data() + port.size() || number > 65535)
    refuse("the address '" + address + "'", "a port is a number from 0 to 65535");
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &wanted, &list);
  if (code != 0) refuse("the address '" + address + "': " + ::gai_strerror(code), "check the name of the host and the port");
  return {list, &::freeaddrinfo};
}

std::string text_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool six = address.ss_family == AF_INET6;
  return (six ? "[" : "") + std::string(host) + (six ? "]:" : ":") + port;
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on Unix sockets, which need it not
}

Listener bound(const sockaddr* address, socklen_t length) {
  Listener listener;
  listener.socket = Descriptor(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (address->sa_family != AF_UNIX) ::setsockopt(listener.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!listener.socket || ::bind(listener.socket.get(), address, length) != 0 || ::listen(listener.socket.get(), 512) != 0) {
    const int reason = errno;
    listener.socket.reset();
    errno = reason;
  }
  return listener;
}

Listener bound_at(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  const mode_t mask = ::umask(0077);
  Listener listener = bound(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(mask);
  if (listener.socket) listener.path = path, listener.address = std::string(kUnix) + path;
  return listener;
}

/// Listens at a port that is free, which is told by the file: all of it or nothing.
Listener bound_beside(const std::string& path) {
  Listener listener = listen_at(":0");
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  addrinfo* list = nullptr;
  const bool known = ::getaddrinfo(host, nullptr, nullptr, &list) == 0;
  const Found found(list, &::freeaddrinfo);
  listener.address = (known ? host : "127.0.0.1") + listener.address.substr(listener.address.rfind(':'));
  const std::string whole = path + "." + std::to_string(::getpid());
  std::ofstream(whole) << listener.address << "\n";
  if (::rename(whole.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(whole.c_str());
    throw Error({.op = "dist",
                 .got = "a file that cannot be written: " + path + ": " + reason,
                 .expected = "one that all ranks see, and rank 0 may write (TEGULA_RENDEZVOUS)"});
  }
  listener.path = path;
  return listener;
}

/// The address in the file; empty while it is not there.
std::string address_in(const std::string& path) {
  std::string address;
  std::ifstream file(path);
  std::getline(file, address);
  return address;
}

bool poll_for(const Descriptor& socket, short events, double seconds) {
  pollfd polled{socket.get(), events, 0};
  const int milliseconds = static_cast<int>(std::clamp(seconds, 0.0, 1e6) * 1e3);
  return ::poll(&polled, 1, milliseconds) > 0;
}

}  // namespace

Listener::~Listener() {
  if (socket && !path.empty()) ::unlink(path.c_str());
}

Listener listen_at(const std::string& address) {
  if (const auto path = file_of(address)) return bound_beside(*path);
  Listener listener;
  if (is_unix(address)) {
    listener = bound_at(address.substr(kUnix.size()));
  } else {
    const Found found = look_up(address, true);
    for (const addrinfo* at = found.get(); at && !listener.socket; at = at->ai_next) listener = bound(at->ai_addr, at->ai_addrlen);
    if (listener.socket) listener.address = text_of(listener.socket);
  }
  if (!listener.socket) {
    const std::string reason = std::strerror(errno);
    throw Error({.op = "dist",
                 .got = "nowhere to listen: " + address + ": " + reason,
                 .expected = "an address of this machine that is free",
                 .advice = "end the run that still has it, or choose another port (TEGULA_RENDEZVOUS)"});
  }
  return listener;
}

Listener listen_beside(const Descriptor& connection, const std::string& path) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&address), &length);
  Listener listener;
  if (address.ss_family == AF_UNIX) {
    listener = bound_at(path);
  } else {
    if (address.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(address).sin_port = 0;
    else reinterpret_cast<sockaddr_in6&>(address).sin6_port = 0;
    listener = bound(reinterpret_cast<const sockaddr*>(&address), length);
    if (listener.socket) listener.address = text_of(listener.socket);
  }
  if (!listener.socket) {
    const std::string reason = std::strerror(errno);
    throw Error({.op = "dist", .got = "no socket to listen at: " + reason, .advice = "close other programs or files"});
  }
  return listener;
}

Descriptor try_connect(const std::string& address) {
  if (const auto path = file_of(address)) {
    const std::string told = address_in(*path);
    return told.empty() ? Descriptor() : try_connect(told);
  }
  const auto connected = [](int family, const sockaddr* at, socklen_t length) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || ::connect(socket.get(), at, length) != 0) return Descriptor();
    send_at_once(socket);
    return socket;
  };
  if (is_unix(address)) {
    const sockaddr_un at = unix_address(address.substr(kUnix.size()));
    return connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  const Found found = look_up(address, false);
  for (const addrinfo* at = found.get(); at; at = at->ai_next) {
    if (Descriptor socket = connected(at->ai_family, at->ai_addr, at->ai_addrlen)) return socket;
  }
  return {};
}

Descriptor accept_within(const Listener& listener, double seconds) {
  if (!poll_for(listener.socket, POLLIN, seconds)) return {};
  Descriptor socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket) send_at_once(socket);
  return socket;
}

LeavingMessage::LeavingMessage(std::string_view message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  bytes_.assign(reinterpret_cast<const char*>(&length), sizeof length);
  bytes_ += message;
}

LeavingMessage::State LeavingMessage::give(const Descriptor& socket) {
  while (!is_whole()) {
    const ssize_t count = ::send(socket.get(), bytes_.data() + done_, bytes_.size() - done_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::Partial;
    if (count <= 0) return State::Broken;
    done_ += static_cast<std::size_t>(count);
  }
  return State::Whole;
}

bool send_message(const Descriptor& socket, std::string_view message, double seconds) {
  LeavingMessage leaving(message);
  auto state = leaving.give(socket);
  while (state == LeavingMessage::State::Partial && poll_for(socket, POLLOUT, seconds)) state = leaving.give(socket);
  return state == LeavingMessage::State::Whole;
}

bool receive_message(const Descriptor& socket, std::string& message, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto read = [&](char* to, std::size_t bytes) {
    while (bytes > 0) {
      const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
      if (left <= 0 || !poll_for(socket, POLLIN, left)) return false;
      const ssize_t count = ::recv(socket.get(), to, bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      to += count, bytes -= static_cast<std::size_t>(count);
    }
    return true;
  };
  std::uint32_t length = 0;
  if (!read(reinterpret_cast<char*>(&length), sizeof length) || length > kMostMessage) return false;
  message.resize(length);
  return read(message.data(), length);
}

ArrivingMessage::State ArrivingMessage::take(const Descriptor& socket) {
  for (;;) {
    const bool in_length = done_ < sizeof length_;
    char* const to = in_length ? reinterpret_cast<char*>(&length_) + done_ : text_.data() + (done_ - sizeof length_);
    const std::size_t wanted = in_length ? sizeof length_ - done_ : sizeof length_ + length_ - done_;
    const ssize_t count = ::recv(socket.get(), to, wanted, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::Partial;
    if (count <= 0) return State::Broken;
    done_ += static_cast<std::size_t>(count);
    if (done_ == sizeof length_) {
      if (length_ == 0 || length_ > most_) return State::Broken;
      text_.resize(length_);
    }
    if (done_ >= sizeof length_ && done_ == sizeof length_ + length_) return State::Whole;
  }
}

}  // namespace tegula::dist
