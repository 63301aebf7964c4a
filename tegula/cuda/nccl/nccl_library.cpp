#include "tegula/cuda/nccl/nccl_library.h"

#include "tegula/core/error.h"

namespace tegula::gpu {

const Nccl& Nccl::get() {
  static const Nccl instance;
  return instance;
}

Nccl::Nccl()
    : library_("nccl", {"libnccl.so.2", "libnccl.so"},
               "install NCCL 2 (package libnccl2 or nvidia-nccl-cu13) or add its folder to LD_LIBRARY_PATH") {
  find(draw, "ncclGetUniqueId");
  find(join, "ncclCommInitRank");
  find(abort, "ncclCommAbort");
  find(async_error, "ncclCommGetAsyncError");
  find(error_text, "ncclGetErrorString");
  find(last_error, "ncclGetLastError");
  find(all_reduce, "ncclAllReduce");
  find(reduce_scatter, "ncclReduceScatter");
  find(all_gather, "ncclAllGather");
  find(broadcast, "ncclBroadcast");
  find(reduce, "ncclReduce");
  find(send, "ncclSend");
  find(receive, "ncclRecv");
  find(group_start, "ncclGroupStart");
  find(group_end, "ncclGroupEnd");
  int number = 0;
  check(library_.function<Result(int*)>("ncclGetVersion")(&number), "its version");
  version = std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." + std::to_string(number % 100);
}

void Nccl::check(Result result, const char* what) const {
  if (result == kSuccess) return;
  const char* const more = last_error(nullptr);
  std::string got = std::string("NCCL: ") + error_text(result) + ", for " + what;
  if (more && *more) got += " (" + std::string(more) + ")";
  throw Error({.op = "nccl", .got = std::move(got), .advice = "NCCL_DEBUG=WARN has NCCL say more; TEGULA_ENGINE=sockets does without it"});
}

}  // namespace tegula::gpu
