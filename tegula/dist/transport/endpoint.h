#pragma once
// Addresses, and sockets at them that block for a limited time.

#include <cstdint>
#include <string>
#include <string_view>

#include "tegula/dist/transport/descriptor.h"

namespace tegula::dist {

/// A listening socket, and how others reach it.
struct Listener {
  Descriptor socket;
  std::string address;
  std::string path;  // of a Unix socket, or of the file with the address: unlinked with the listener
  Listener() = default;
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  ~Listener();
};

/// Addresses are "host:port", "unix:/a/path", and "file:/a/path": the listener writes its address, with a free port, into that file.
/// Throws Error when the address is none, or taken.
Listener listen_at(const std::string& address);
/// Listens on the same machine's side of an existing connection, at a port or path that is free. `path`: where a Unix socket would lie.
Listener listen_beside(const Descriptor& connection, const std::string& path);
/// Nothing if there is no listener. Throws Error for an invalid address.
Descriptor try_connect(const std::string& address);
/// The next one who connects within `seconds`, or nothing.
Descriptor accept_within(const Listener& listener, double seconds);

/// A message behind its length. False when the other side has gone, takes or says nothing for `seconds`, or the message is absurdly long.
bool send_message(const Descriptor& socket, std::string_view message, double seconds = 10);
bool receive_message(const Descriptor& socket, std::string& message, double seconds = 10);

/// A message that is written as the other side takes its bytes, without waiting for it.
class LeavingMessage {
 public:
  enum class State { Partial, Whole, Broken };
  LeavingMessage() = default;  // nothing is left to be written
  explicit LeavingMessage(std::string_view message);
  /// Writes what the socket takes. Broken: the other side has gone.
  State give(const Descriptor& socket);
  bool is_whole() const { return done_ == bytes_.size(); }
  std::size_t done() const { return done_; }

 private:
  std::string bytes_;  // with those of the length
  std::size_t done_ = 0;
};

/// A message that is read as its bytes arrive, without waiting for any.
class ArrivingMessage {
 public:
  enum class State { Partial, Whole, Broken };
  /// Longer than `most` bytes is broken.
  explicit ArrivingMessage(std::uint32_t most) : most_(most) {}
  /// Reads the bytes that have arrived. Broken: the other side has gone, or the message is too long.
  State take(const Descriptor& socket);
  const std::string& text() const { return text_; }

 private:
  std::uint32_t most_, length_ = 0;
  std::size_t done_ = 0;  // bytes, with those of the length
  std::string text_;
};

}  // namespace tegula::dist
