#include "tegula/cuda/driver/copied_exchanges.h"

#include <cstddef>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_all_reduce.h"

namespace tegula::gpu {
namespace {

using runtime::Collective;
using runtime::CollectiveKind;
using runtime::Reduction;

constexpr const char* kExchanging = "an exchange of two GPUs";

/// The kernel that consumes the received elements.
PlainKernel taking(const Collective& what, int rank) {
  const std::int64_t count = CopiedExchanges::bytes_sent(what) / static_cast<std::int64_t>(size_of(what.dtype));
  if (what.kind == CollectiveKind::AllGather) return join_arrived_kernel(CopiedExchanges::bytes_sent(what), rank);
  return add_arrived_kernel(what.dtype, count, what.reduction == Reduction::Mean);
}

}  // namespace

std::size_t CopiedExchanges::bytes(std::int64_t box) {
  return box == 0 ? 0 : static_cast<std::size_t>(box) + align_scratch(sizeof(CopyMeeting));
}

std::int64_t CopiedExchanges::bytes_sent(const Collective& what) {
  const std::int64_t bytes = numel(what.shape) * static_cast<std::int64_t>(size_of(what.dtype));
  if (what.kind == CollectiveKind::AllGather) return bytes;
  if (!is_float(what.dtype) || what.reduction == Reduction::Max) return 0;
  return what.kind == CollectiveKind::AllReduce ? bytes : what.kind == CollectiveKind::ReduceScatter ? bytes / 2 : 0;
}

CopiedExchanges::CopiedExchanges(Context& context, int rank, std::int64_t box, CUdeviceptr here, CUdeviceptr there,
                                 const std::uint32_t* stop)
    : context_(context),
      rank_(rank),
      here_(here),
      there_(there),
      meeting_(static_cast<std::size_t>(box)) {
  const CopyMeeting meeting{.stop = stop, .tell = reinterpret_cast<std::uint32_t*>(there + meeting_ + offsetof(CopyMeeting, theirs))};
  context.staging->copy_in(here + meeting_, &meeting, sizeof meeting);
}

class CopiedExchanges::Exchange final : public runtime::Call {
 public:
  Exchange(std::shared_ptr<const CopiedExchanges> exchanges, const Collective& what)
      : all_(std::move(exchanges)),
        bytes_(static_cast<std::size_t>(bytes_sent(what))),
        wait_(all_->context_, wait_for_box_kernel()),
        take_(all_->context_, taking(what, all_->rank_)) {
    const auto rank = static_cast<std::size_t>(all_->rank_);
    if (what.kind == CollectiveKind::ReduceScatter) sent_ = (1 - rank) * bytes_, kept_ = rank * bytes_;
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    const CUstream stream = all_->context_.stream();
    const CUdeviceptr in = device_pointer(buffers.front()), here = all_->here_ + all_->meeting_, there = all_->there_ + all_->meeting_;
    void* const meeting = reinterpret_cast<void*>(here);
    wait_.launch({meeting});
    check(cuMemcpyDtoDAsync(all_->there_, in + sent_, bytes_, stream), kExchanging);
    check(cuMemcpyDtoDAsync(there + offsetof(CopyMeeting, arrived), here + offsetof(CopyMeeting, next), sizeof(std::uint32_t), stream),
          kExchanging);
    take_.launch({reinterpret_cast<void*>(in + kept_), buffers.back(), reinterpret_cast<void*>(all_->here_), meeting});
  }
  std::string describe() const override { return "copies between 2 GPUs"; }

 private:
  std::shared_ptr<const CopiedExchanges> all_;
  std::size_t bytes_, sent_ = 0, kept_ = 0;  // that travel; where they, and those that stay, lie in what goes in
  LoadedKernel wait_, take_;
};

std::unique_ptr<runtime::Call> CopiedExchanges::call(std::shared_ptr<const CopiedExchanges> exchanges, const Collective& what) {
  return std::make_unique<Exchange>(std::move(exchanges), what);
}

}  // namespace tegula::gpu
