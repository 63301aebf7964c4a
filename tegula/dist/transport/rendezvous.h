#pragma once
// The meeting of a run's ranks over sockets.

#include <memory>
#include <string>

#include "tegula/dist/transport/transport.h"

namespace tegula::dist {

struct Meeting {
  std::string
      address;  // where rank 0 listens: "host:port", "unix:/a/path" for ranks of one machine, "file:/a/path", in which it says where
  int rank = 0, size = 1;
  std::string secret;      // of the run: a client that does not know it is refused. Later traffic is not encrypted
  double patience = 60;    // seconds until all have come
  double timeout = 300;    // seconds that the transport waits
};

/// Rank 0 waits for the others, tells each where the others listen, and each connects to those before it. Both sides prove that they know the secret
/// (HMAC-SHA256 over numbers that both drew), which itself is never sent.
/// Throws Error for an address that cannot be, another secret, another number of ranks, a rank that is there twice, and ranks that do not come in time.
std::unique_ptr<Transport> meet(const Meeting& meeting);

}  // namespace tegula::dist
