#pragma once
// A GPU among others: runtime::Communicates.

#include <memory>
#include <string>

#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/driver/progress.h"
#include "tegula/runtime/collective.h"

namespace tegula::gpu {

/// "GPU-8e3f…", as nvidia-smi -L has it.
std::string identity_of(CUdevice device);

/// NCCL's, on the stream. From now on the stream's progress is watched.
std::unique_ptr<runtime::Communicator> make_communicator(Context& context, Progress& progress, const runtime::Communicates::Id& id,
                                                         int rank, int size);

}  // namespace tegula::gpu
