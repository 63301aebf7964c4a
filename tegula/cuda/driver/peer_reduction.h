#pragma once
// Small all-reduces of GPUs that see each other's memory, one process a GPU, by a kernel of our own (handwritten/plain_all_reduce.h); everything else by the
// communicator that they have.

#include <functional>
#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// All ranks of `rest` call it, with nothing of theirs queued. `queued` is called behind each kernel. `rest` itself where they do not see each other's memory: on other
/// hosts, in one process, without a way between the cards; or where one of them has TEGULA_PEER_BYTES=0 in its environment (up to which size: the least of all counts).
std::unique_ptr<runtime::Communicator> with_peer_reductions(Context& context, std::unique_ptr<runtime::Communicator> rest, int rank,
                                                            int size, std::function<void()> queued);

}  // namespace tegula::gpu
