#include "tegula/cuda/driver/peer_reduction.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_all_reduce.h"

namespace tegula::gpu {
namespace {

using runtime::Collective;
using runtime::CollectiveKind;
using runtime::Reduction;

constexpr const char* kMeeting = "GPUs that look into each other's memory";
/// So many bytes a rank sends at most. With two H200 NCCL is not faster below (docs/devices.md).
constexpr std::int64_t kMostSent = 2 << 20;

std::int64_t wished_bytes(int size) {
  const char* const value = std::getenv("TEGULA_PEER_BYTES");
  const std::int64_t bytes = value ? std::strtoll(value, nullptr, 10) : kMostSent / (size - 1);
  return std::max<std::int64_t>(bytes, 0) / 256 * 256;
}

/// What a rank tells the others.
struct Introduction {
  std::array<char, 64> machine{};  // the same for all of it, until it is started again
  std::int64_t process = 0, bytes = 0;
  CUipcMemHandle boxes{};
  std::int32_t able = 0;
};

std::array<char, 64> this_machine() {
  std::array<char, 64> text{};
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
    const std::size_t count = std::fread(text.data(), 1, text.size() - 1, file);
    std::fclose(file);
    if (count == 0) text = {};
  }
  return text;
}

/// What the communicator and its calls share. Boxes stay until the process ends: the others may have them before their eyes.
struct Boxes {
  Context& context;
  std::unique_ptr<runtime::Communicator> rest;
  int rank, size;
  std::int64_t bytes = 0;
  CUdeviceptr memory = 0;
  void* state = nullptr;  // AllReduceState, on the device
  std::uint32_t* stop = nullptr;
  std::function<void()> queued;
};

/// One row of `mine` from each rank, by `rest`.
template <class T>
std::vector<T> gathered(Boxes& boxes, const T& mine) {
  const auto count = static_cast<std::size_t>(boxes.size);
  std::vector<T> all(count);
  const Ref<Buffer> in = allocate(boxes.context, sizeof(T)), out = allocate(boxes.context, count * sizeof(T));
  const auto call =
      boxes.rest->call({.kind = CollectiveKind::AllGather, .dtype = DType::u8, .shape = {static_cast<std::int64_t>(sizeof(T))}});
  {
    const std::scoped_lock lock(boxes.context.order);
    boxes.context.enter();
    boxes.context.staging->copy_in(device_pointer(in->data()), &mine, sizeof(T));
    const std::array<void*, 2> buffers{in->data(), out->data()};
    call->run(buffers, nullptr, 1);
  }
  copy_out(boxes.context, all.data(), device_pointer(out->data()), count * sizeof(T));
  return all;
}

bool neighbours(const std::vector<Introduction>& all) {
  return std::ranges::all_of(all, [&](const Introduction& one) {
    const bool alone = std::ranges::count(all, one.process, &Introduction::process) == 1;
    return one.able != 0 && one.bytes > 0 && one.machine == all[0].machine && one.machine[0] != 0 && alone;
  });
}

/// Opens the others' boxes and puts the state onto the device. False where one cannot be opened.
bool open(Boxes& boxes, const std::vector<Introduction>& all) {
  AllReduceState state{.rank = static_cast<std::uint32_t>(boxes.rank)};
  CUdeviceptr seen_stop = 0;
  if (cuMemHostGetDevicePointer(&seen_stop, boxes.stop, 0) != CUDA_SUCCESS) return false;
  state.stop = reinterpret_cast<const std::uint32_t*>(seen_stop);
  const std::size_t each = 2 * all_reduce_box(boxes.bytes);  // a rank has two at every other
  for (int r = 0; r < boxes.size; ++r) {
    if (r == boxes.rank) continue;
    CUdeviceptr theirs = 0;
    const CUipcMemHandle handle = all[static_cast<std::size_t>(r)].boxes;
    if (cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS) return false;
    state.to[r] = reinterpret_cast<void*>(theirs + static_cast<std::size_t>(boxes.rank) * each);
    state.from[r] = reinterpret_cast<void*>(boxes.memory + static_cast<std::size_t>(r) * each);
  }
  const CUdeviceptr at = boxes.memory + static_cast<std::size_t>(boxes.size) * each;
  boxes.state = reinterpret_cast<void*>(at);
  boxes.context.staging->copy_in(at, &state, sizeof state);
  return true;
}

/// Whether the boxes, and room for the state behind them, are there, cleared.
bool make(Boxes& boxes, Introduction& mine) {
  const std::size_t all = static_cast<std::size_t>(boxes.size) * 2 * all_reduce_box(boxes.bytes) + align_scratch(sizeof(AllReduceState));
  void* stop = nullptr;
  if (boxes.bytes == 0 || cuMemHostAlloc(&stop, 64, CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS) return false;
  boxes.stop = static_cast<std::uint32_t*>(stop);
  *boxes.stop = 0;
  if (cuMemAlloc(&boxes.memory, all) != CUDA_SUCCESS) return false;
  if (cuIpcGetMemHandle(&mine.boxes, boxes.memory) != CUDA_SUCCESS) return false;
  check(cuMemsetD8Async(boxes.memory, 0, all, boxes.context.stream), kMeeting);
  return true;
}

class PeerReduction final : public runtime::Call {
 public:
  PeerReduction(std::shared_ptr<Boxes> boxes, const PlainAllReduce& what)
      : boxes_(std::move(boxes)),
        kernel_(boxes_->context, all_reduce_kernel(what)) {}

  void run(std::span<void* const> buffers, void*, int) const override {
    boxes_->context.enter();
    if (*static_cast<volatile std::uint32_t*>(boxes_->stop) != 0) return;  // as after Communicator::abort()
    kernel_.launch({buffers.front(), buffers.back(), boxes_->state});
    boxes_->queued();
  }
  std::string describe() const override { return "a kernel over the memory of " + std::to_string(boxes_->size) + " GPUs"; }

 private:
  std::shared_ptr<Boxes> boxes_;
  LoadedKernel kernel_;
};

class PeerCommunicator final : public runtime::Communicator {
 public:
  explicit PeerCommunicator(std::shared_ptr<Boxes> boxes) : boxes_(std::move(boxes)) {}
  bool has(const Collective& what) const override { return boxes_->rest->has(what); }
  std::unique_ptr<runtime::Call> call(const Collective& what) override {
    const std::int64_t count = numel(what.shape), bytes = count * static_cast<std::int64_t>(size_of(what.dtype));
    if (what.kind != CollectiveKind::AllReduce || !is_float(what.dtype) || what.reduction == Reduction::Max || bytes == 0 ||
        bytes > boxes_->bytes)
      return boxes_->rest->call(what);
    return std::make_unique<PeerReduction>(boxes_, PlainAllReduce{.dtype = what.dtype,
                                                                  .count = count,
                                                                  .ranks = boxes_->size,
                                                                  .mean = what.reduction == Reduction::Mean,
                                                                  .box_bytes = boxes_->bytes});
  }
  std::string failure() const override { return boxes_->rest->failure(); }
  void abort() noexcept override {
    *static_cast<volatile std::uint32_t*>(boxes_->stop) = 1;
    boxes_->rest->abort();
  }

 private:
  std::shared_ptr<Boxes> boxes_;
};

}  // namespace

std::unique_ptr<runtime::Communicator> with_peer_reductions(Context& context, std::unique_ptr<runtime::Communicator> rest, int rank,
                                                            int size, std::function<void()> queued) {
  if (size < 2 || size > kMostReducingRanks) return rest;
  auto boxes =
      std::make_shared<Boxes>(Boxes{.context = context, .rest = std::move(rest), .rank = rank, .size = size, .queued = std::move(queued)});
  Introduction mine{.machine = this_machine(), .process = ::getpid(), .bytes = wished_bytes(size)};
  boxes->bytes = mine.bytes;
  {
    const std::scoped_lock lock(context.order);
    context.enter();
    mine.able = make(*boxes, mine) ? 1 : 0;
  }
  const std::vector<Introduction> all = gathered(*boxes, mine);
  boxes->bytes = std::ranges::min(all, {}, &Introduction::bytes).bytes;
  std::int32_t sees = 0;
  if (neighbours(all)) {
    const std::scoped_lock lock(context.order);
    context.enter();
    sees = open(*boxes, all) ? 1 : 0;
  }
  // Boxes are cleared and open everywhere before anybody writes.
  const std::vector<std::int32_t> seeing = gathered(*boxes, sees);
  if (std::ranges::count(seeing, 1) < size) return std::move(boxes->rest);
  return std::make_unique<PeerCommunicator>(std::move(boxes));
}

}  // namespace tegula::gpu
