#pragma once
// Values follow the work: a leaf that lies on another device than the one that computes moves there.

#include <memory>

#include "tegula/compile/run/executable.h"
#include "tegula/core/host_array.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// Moves the value of a leaf to `device`, dense; whoever holds the node sees it there. Does nothing when it is there. True when it moved. From GPU to GPU without the
/// host, which does not wait for it.
bool move_to(Node& leaf, runtime::Device& device);
/// The elements of a value on the host; waits for them.
HostArray on_host(const Node& value);
/// Queues a copy of a dense value on another device of its make to memory of `device` (runtime/peer_copies.h). False where that cannot be.
bool fetch_from_peer(const Node& value, runtime::Device& device, void* to);

/// Memory for `purpose`. If none is left, memory that is only kept is given up first: executables for graphs that may come again, arguments and
/// results of signatures that nobody is calling, arenas that nobody runs in. Throws runtime::OutOfMemory.
Ref<Buffer> allocate(runtime::Device& device, std::size_t bytes, const runtime::Purpose& purpose);
/// For a value like this node's.
Ref<Buffer> allocate_like(const Node& node, runtime::Device& device);
std::size_t bytes_of(const Node& node);

/// Remembers an executable whose checks have not been looked at, for confirm_checks().
void watch_checks(const std::shared_ptr<Executable>& executable);

}  // namespace tegula::compile
