#include "tegula/cuda/driver/copied_sums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_all_reduce.h"

namespace tegula::gpu {
namespace {

constexpr const char* kAdding = "a sum of two GPUs";
constexpr std::int64_t kGranule = 256;  // where parts begin

/// Behind the boxes.
struct Words {
  std::array<PartTurn, CopiedSums::kBoxes> turns;
  PartMeeting meeting;
};

std::byte* moved(void* pointer, std::int64_t bytes) { return static_cast<std::byte*>(pointer) + bytes; }

}  // namespace

std::size_t CopiedSums::bytes(std::int64_t boxes) {
  return boxes == 0 ? 0 : static_cast<std::size_t>(boxes) + align_scratch(sizeof(Words));
}

CopiedSums::CopiedSums(Context& context, std::int64_t boxes, CUdeviceptr here, CUdeviceptr there, const std::uint32_t* stop)
    : context_(context),
      box_(boxes / kBoxes),
      here_(here),
      there_(there) {
  Words words;
  words.meeting.stop = stop;
  const std::size_t at = static_cast<std::size_t>(boxes);
  words.meeting.tell = reinterpret_cast<std::uint32_t*>(there + at + offsetof(Words, meeting) + offsetof(PartMeeting, theirs));
  context.staging->copy_in(here + at, &words, sizeof words);
}

CUdeviceptr CopiedSums::turn(CUdeviceptr memory, int box) const {
  return memory + static_cast<std::size_t>(box_ * kBoxes) + static_cast<std::size_t>(box) * sizeof(PartTurn);
}

class CopiedSums::Sum final : public runtime::Call {
 public:
  Sum(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what)
      : sums_(std::move(sums)),
        size_(static_cast<std::int64_t>(size_of(what.dtype))),
        count_(numel(what.shape)),
        wait_(sums_->context_, wait_for_boxes_kernel(what.dtype)) {
    const std::int64_t parts = divide_up(count_ * size_, sums_->box_);
    part_ = divide_up(divide_up(count_, parts) * size_, kGranule) * kGranule / size_;
    for (std::int64_t at = 0; at < count_; at += part_) {
      const std::int64_t count = std::min(part_, count_ - at);
      if (!kernels_.contains(count))
        kernels_.emplace(count,
                         LoadedKernel(sums_->context_, add_arrived_kernel(what.dtype, count, what.reduction == runtime::Reduction::Mean)));
    }
  }

  void run(std::span<void* const> buffers, void*, int) const override {
    const Context& context = sums_->context_;
    const CUdeviceptr words = sums_->turn(sums_->here_, 0);
    void* const meeting = reinterpret_cast<void*>(words + offsetof(Words, meeting));
    const bool recorded = Capture::current(context) != nullptr;
    wait_.launch({meeting});
    // In a recording a part is copied beside the sum of the one before it. Four boxes: when the sum of a part has seen what came, the other rank had
    // added up what lay two parts before.
    std::vector<CUgraphNode> copied, added, added_before;
    int box = 0;
    for (std::int64_t at = 0; at < count_; at += part_, box = (box + 1) % kBoxes) {
      const std::int64_t count = std::min(part_, count_ - at);
      void* const in = moved(buffers.front(), at * size_);
      const auto place = static_cast<std::size_t>(box) * static_cast<std::size_t>(sums_->box_);
      if (recorded && at > 0) {
        std::vector<CUgraphNode> before = copied;
        before.insert(before.end(), added_before.begin(), added_before.end());
        let_next_wait_for(context, std::move(before));
      }
      check(cuMemcpyDtoDAsync(sums_->there_ + place, device_pointer(in), static_cast<std::size_t>(count * size_), context.stream), kAdding);
      check(cuMemcpyDtoDAsync(sums_->turn(sums_->there_, box) + offsetof(PartTurn, arrived),
                              sums_->turn(sums_->here_, box) + offsetof(PartTurn, next), sizeof(std::uint32_t), context.stream),
            kAdding);
      if (recorded) {
        copied = next_waits_for(context);
        added_before = added;
        std::vector<CUgraphNode> both = copied;
        both.insert(both.end(), added.begin(), added.end());
        let_next_wait_for(context, std::move(both));
      }
      kernels_.at(count).launch({in, moved(buffers.back(), at * size_), reinterpret_cast<void*>(sums_->here_ + place),
                                 reinterpret_cast<void*>(sums_->turn(sums_->here_, box)), meeting});
      if (recorded) added = next_waits_for(context);
    }
  }
  std::string describe() const override { return "copies between 2 GPUs, and their sums"; }

 private:
  std::shared_ptr<const CopiedSums> sums_;
  std::int64_t size_, count_, part_ = 0;  // bytes of an element; elements, and of a part
  LoadedKernel wait_;
  std::map<std::int64_t, LoadedKernel> kernels_;  // by elements
};

std::unique_ptr<runtime::Call> CopiedSums::call(std::shared_ptr<const CopiedSums> sums, const runtime::Collective& what) {
  return std::make_unique<Sum>(std::move(sums), what);
}

}  // namespace tegula::gpu
