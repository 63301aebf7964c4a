#pragma once
// Bytes between the ranks of a run. An engine carries them: sockets (sockets.h) or MPI (mpi.h); what travels when is decided above (exchange.h).

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tegula/core/error.h"

namespace tegula::dist {

/// The present activity of a rank, for the message when another rank does not come: "all_reduce #17 of f32 (3, 4)", and the user's line.
struct Doing {
  std::function<std::string()> text;
  Line where{};
};

/// Another rank has ended, has stopped, or did not come. From then on every exchange of the transport throws.
class PeerError : public Error {
 public:
  using Error::Error;
};

/// A few bytes that another rank has sent beside the exchanges.
struct Note {
  int from = 0;
  std::string bytes;
};

/// Between two ranks bytes arrive in the order in which they were sent. One thread at a time.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "sockets", "MPI"

  /// Sends `out` to one rank while `in` arrives from another, or the same: a ring of them never locks up. An empty span is no message.
  /// Throws PeerError where a rank has ended or stopped, or nothing moves for so long that somebody must be missing.
  virtual void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in, const Doing& doing) = 0;

  /// Sends a note without waiting. Like notes() called by any thread, beside an exchange, too, which lets notes come and go.
  virtual void tell(int to, std::string bytes) = 0;
  /// The notes that have come since the last call, during exchange() or listen().
  virtual std::vector<Note> notes() = 0;
  /// Reads other ranks' notices, without waiting. Throws as exchange() does if any rank has ended or stopped; returns the ranks that have done their part and
  /// are gone. Not beside an exchange.
  virtual std::vector<int> listen(const Doing& doing) = 0;
  /// Seconds without any progress after which a waiting rank gives up.
  virtual double timeout() const = 0;

  /// Tells all others that this rank gives up, and why: whatever they wait for, they throw a PeerError with the sentence. Never throws; only the
  /// first call counts. May be called by another thread.
  virtual void stop(const std::string& sentence) noexcept = 0;

  /// Says goodbye: this rank has done its part. Never throws; destructors call it, and so does the end of a program, where plans still hold the transport.
  virtual void finish() noexcept = 0;
};

}  // namespace tegula::dist
