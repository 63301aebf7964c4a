#include "tegula/cuda/driver/peer_reduction.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tegula/cuda/driver/copied_exchanges.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_all_reduce.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

using runtime::Collective;
using runtime::CollectiveKind;
using runtime::Reduction;

constexpr const char* kMeeting = "GPUs that look into each other's memory";
/// The value of the environment's variable, or `usual`, rounded down to whole units.
std::int64_t wished(const char* variable, std::int64_t usual, std::int64_t unit) {
  const char* const value = std::getenv(variable);
  return std::max<std::int64_t>(value ? std::strtoll(value, nullptr, 10) : usual, 0) / unit * unit;
}

/// The message by which a rank introduces itself to the others.
struct Introduction {
  std::array<char, 64> machine{};  // the same for all of it, until it is started again
  std::int64_t process = 0, bytes = 0, copied = 0;
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

/// The state shared by the communicator and its calls. Boxes stay until the process ends, because the other ranks may have them mapped.
struct Boxes {
  Context& context;
  std::unique_ptr<runtime::Communicator> rest;
  int rank, size;
  std::int64_t bytes = 0, copied = 0;  // that a rank sends at most; of the box that is copied into
  CUdeviceptr memory = 0;
  std::shared_ptr<const CopiedExchanges> copies;
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
    call->run(buffers, {});
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
  CUdeviceptr other = 0;  // the last one's memory: of two ranks, the other's
  for (int r = 0; r < boxes.size; ++r) {
    if (r == boxes.rank) continue;
    CUdeviceptr theirs = 0;
    const CUipcMemHandle handle = all[static_cast<std::size_t>(r)].boxes;
    if (cuIpcOpenMemHandle(&theirs, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS) return false;
    other = theirs;
    state.to[r] = reinterpret_cast<void*>(theirs + static_cast<std::size_t>(boxes.rank) * each);
    state.from[r] = reinterpret_cast<void*>(boxes.memory + static_cast<std::size_t>(r) * each);
  }
  const std::size_t behind = static_cast<std::size_t>(boxes.size) * each;
  const CUdeviceptr at = boxes.memory + behind;
  boxes.state = reinterpret_cast<void*>(at);
  boxes.context.staging->copy_in(at, &state, sizeof state);
  if (boxes.copied > 0) {
    const std::size_t copied = behind + align_scratch(sizeof(AllReduceState));
    boxes.copies =
        std::make_shared<CopiedExchanges>(boxes.context, boxes.rank, boxes.copied, boxes.memory + copied, other + copied, state.stop);
  }
  return true;
}

/// Allocates and clears the boxes, and room for the state behind them; true if that succeeded.
bool make(Boxes& boxes, Introduction& mine) {
  const std::size_t all = static_cast<std::size_t>(boxes.size) * 2 * all_reduce_box(boxes.bytes) + align_scratch(sizeof(AllReduceState)) +
                          CopiedExchanges::bytes(boxes.copied);
  void* stop = nullptr;
  if (boxes.bytes == 0 || cuMemHostAlloc(&stop, 64, CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS) return false;
  boxes.stop = static_cast<std::uint32_t*>(stop);
  *boxes.stop = 0;
  if (cuMemAlloc(&boxes.memory, all) != CUDA_SUCCESS) return false;
  if (cuIpcGetMemHandle(&mine.boxes, boxes.memory) != CUDA_SUCCESS) return false;
  check(cuMemsetD8Async(boxes.memory, 0, all, boxes.context.stream()), kMeeting);
  return true;
}

class PeerReduction final : public runtime::Call {
 public:
  PeerReduction(std::shared_ptr<Boxes> boxes, const PlainAllReduce& what)
      : boxes_(std::move(boxes)),
        kernel_(boxes_->context, all_reduce_kernel(what)) {}

  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
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

/// Larger ones of two.
class PeerExchange final : public runtime::Call {
 public:
  PeerExchange(std::shared_ptr<Boxes> boxes, const Collective& what)
      : boxes_(std::move(boxes)),
        call_(CopiedExchanges::call(boxes_->copies, what)) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    boxes_->context.enter();
    if (*static_cast<volatile std::uint32_t*>(boxes_->stop) != 0) return;  // as after Communicator::abort()
    call_->run(buffers, options);
    boxes_->queued();
  }
  std::string describe() const override { return call_->describe(); }

 private:
  std::shared_ptr<Boxes> boxes_;
  std::unique_ptr<runtime::Call> call_;
};

class PeerCommunicator final : public runtime::Communicator {
 public:
  explicit PeerCommunicator(std::shared_ptr<Boxes> boxes) : boxes_(std::move(boxes)) {}
  bool has(const Collective& what) const override { return boxes_->rest->has(what); }
  std::unique_ptr<runtime::Call> call(const Collective& what) override {
    const std::int64_t sent = CopiedExchanges::bytes_sent(what);
    if (boxes_->copies && sent > boxes_->bytes && sent <= boxes_->copied) return std::make_unique<PeerExchange>(boxes_, what);
    if (what.kind != CollectiveKind::AllReduce || sent == 0 || sent > boxes_->bytes) return boxes_->rest->call(what);
    return std::make_unique<PeerReduction>(boxes_, PlainAllReduce{.dtype = what.dtype,
                                                                  .count = numel(what.shape),
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
  // With more than two ranks, copying sends more than a ring does: nothing is copied then.
  Introduction mine{.machine = this_machine(),
                    .process = ::getpid(),
                    .bytes = wished("TEGULA_PEER_BYTES", static_cast<std::int64_t>(costs().sent_bytes) / (size - 1), 256),
                    .copied = size == 2 ? wished("TEGULA_COPIED_BYTES", static_cast<std::int64_t>(costs().copied_bytes), 256) : 0};
  boxes->bytes = mine.bytes, boxes->copied = mine.copied;
  {
    const std::scoped_lock lock(context.order);
    context.enter();
    mine.able = make(*boxes, mine) ? 1 : 0;
  }
  const std::vector<Introduction> all = gathered(*boxes, mine);
  boxes->bytes = std::ranges::min(all, {}, &Introduction::bytes).bytes;
  boxes->copied = std::ranges::min(all, {}, &Introduction::copied).copied;
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
