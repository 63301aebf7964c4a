#pragma once
// Values follow the work: a leaf that lies on another device than the one that computes moves there.

#include <memory>

#include "tegula/compile/run/executable.h"

namespace tegula::compile {

/// Moves the value of a leaf to `device`, dense; whoever holds the node sees it there. Does nothing when it is there. True when it moved.
bool move_to(Node& leaf, runtime::Device& device);

/// Memory for `purpose`. Where there is none left, what is only kept is given up first: executables for graphs that may come again, arguments and
/// results of signatures that nobody is calling, arenas that nobody runs in. Throws runtime::OutOfMemory.
Ref<Buffer> allocate(runtime::Device& device, std::size_t bytes, const runtime::Purpose& purpose);
/// For a value like this node's.
Ref<Buffer> allocate_like(const Node& node, runtime::Device& device);
std::size_t bytes_of(const Node& node);

/// Remembers an executable whose checks have not been looked at, for confirm_checks().
void watch_checks(const std::shared_ptr<Executable>& executable);

}  // namespace tegula::compile
