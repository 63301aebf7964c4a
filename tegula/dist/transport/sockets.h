#pragma once
// The engine that is always there: two stream sockets between each two ranks, TCP, Unix or a pair within one process.

#include <memory>
#include <vector>

#include "tegula/dist/transport/descriptor.h"
#include "tegula/dist/transport/transport.h"

namespace tegula::dist {

/// The connections to one other rank: for data, and beside it for notices that must arrive at any time (a rank that stops, or that waits in vain).
struct Link {
  Descriptor data, control;
};

/// links[r] leads to rank r; that of this rank is empty. `timeout`: seconds in which some byte must move while one is waited for.
std::unique_ptr<Transport> socket_transport(int rank, std::vector<Link> links, double timeout);

/// The ranks of a run within one process, each to be used by a thread of its own, or by a child made by fork.
std::vector<std::unique_ptr<Transport>> local_transports(int size, double timeout = 60);

}  // namespace tegula::dist
