// The numbers and sizes of tegula/cuda/nccl/nccl_library.h are those of nccl.h. Compiled where that is found, never run.

#include <nccl.h>

#include "tegula/cuda/nccl/nccl_library.h"

namespace tegula::gpu {

static_assert(Nccl::kSuccess == ncclSuccess && Nccl::kInProgress == ncclInProgress);
static_assert(Nccl::Int8 == static_cast<int>(ncclInt8) && Nccl::Uint8 == static_cast<int>(ncclUint8));
static_assert(Nccl::Int32 == static_cast<int>(ncclInt32) && Nccl::Int64 == static_cast<int>(ncclInt64));
static_assert(Nccl::Float16 == static_cast<int>(ncclFloat16) && Nccl::BFloat16 == static_cast<int>(ncclBfloat16));
static_assert(Nccl::Float32 == static_cast<int>(ncclFloat32) && Nccl::Float64 == static_cast<int>(ncclFloat64));
static_assert(Nccl::Sum == static_cast<int>(ncclSum) && Nccl::Max == static_cast<int>(ncclMax) &&
              Nccl::Average == static_cast<int>(ncclAvg));
static_assert(sizeof(Nccl::UniqueId) == sizeof(ncclUniqueId) && sizeof(ncclDataType_t) == sizeof(int) &&
              sizeof(ncclRedOp_t) == sizeof(int));

// The same parameters in the same order, but for the names of types.
template <class... Parameters>
constexpr bool is_called_with(ncclResult_t (*)(Parameters...)) {
  return true;
}
static_assert(is_called_with<const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t>(&ncclAllReduce));
static_assert(is_called_with<const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t>(&ncclReduceScatter));
static_assert(is_called_with<const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t>(&ncclAllGather));
static_assert(is_called_with<const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t>(&ncclBroadcast));
static_assert(is_called_with<const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t>(&ncclReduce));
static_assert(is_called_with<const void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t>(&ncclSend));
static_assert(is_called_with<void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t>(&ncclRecv));
static_assert(is_called_with<ncclComm_t*, int, ncclUniqueId, int>(&ncclCommInitRank));

}  // namespace tegula::gpu
