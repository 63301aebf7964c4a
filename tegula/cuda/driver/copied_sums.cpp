#include "tegula/cuda/driver/copied_sums.h"

#include <cstddef>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_all_reduce.h"

namespace tegula::gpu {
namespace {

constexpr const char* kAdding = "a sum of two GPUs";

}  // namespace

std::size_t CopiedSums::bytes(std::int64_t box) { return box == 0 ? 0 : static_cast<std::size_t>(box) + align_scratch(sizeof(SumMeeting)); }

CopiedSums::CopiedSums(Context& context, std::int64_t box, CUdeviceptr here, CUdeviceptr there, const std::uint32_t* stop)
    : context_(context),
      here_(here),
      there_(there),
      meeting_(static_cast<std::size_t>(box)) {
  const SumMeeting meeting{.stop = stop, .tell = reinterpret_cast<std::uint32_t*>(there + meeting_ + offsetof(SumMeeting, theirs))};
  context.staging->copy_in(here + meeting_, &meeting, sizeof meeting);
}

class CopiedSums::Sum final : public runtime::Call {
 public:
  Sum(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what)
      : sums_(std::move(sums)),
        bytes_(static_cast<std::size_t>(numel(what.shape)) * size_of(what.dtype)),
        wait_(sums_->context_, wait_for_box_kernel(what.dtype)),
        add_(sums_->context_, add_arrived_kernel(what.dtype, numel(what.shape), what.reduction == runtime::Reduction::Mean)) {}

  void run(std::span<void* const> buffers, void*, int) const override {
    const CUstream stream = sums_->context_.stream;
    const CUdeviceptr here = sums_->here_ + sums_->meeting_, there = sums_->there_ + sums_->meeting_;
    void* const meeting = reinterpret_cast<void*>(here);
    wait_.launch({meeting});
    check(cuMemcpyDtoDAsync(sums_->there_, device_pointer(buffers.front()), bytes_, stream), kAdding);
    check(cuMemcpyDtoDAsync(there + offsetof(SumMeeting, arrived), here + offsetof(SumMeeting, next), sizeof(std::uint32_t), stream),
          kAdding);
    add_.launch({buffers.front(), buffers.back(), reinterpret_cast<void*>(sums_->here_), meeting});
  }
  std::string describe() const override { return "copies between 2 GPUs, and their sum"; }

 private:
  std::shared_ptr<const CopiedSums> sums_;
  std::size_t bytes_;
  LoadedKernel wait_, add_;
};

std::unique_ptr<runtime::Call> CopiedSums::call(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what) {
  return std::make_unique<Sum>(std::move(sums), what);
}

}  // namespace tegula::gpu
