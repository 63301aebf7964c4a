#include "tegula/cuda/driver/joining.h"

#include <cstdio>
#include <mutex>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/ordered_call.h"
#include "tegula/cuda/driver/peer_reduction.h"
#include "tegula/cuda/driver/recording.h"
#include "tegula/cuda/nccl/communicator.h"

namespace tegula::gpu {
namespace {

class OrderedCommunicator final : public runtime::Communicator {
 public:
  OrderedCommunicator(Context& context, std::unique_ptr<runtime::Communicator> communicator)
      : context_(context),
        communicator_(std::move(communicator)) {}
  /// The queue may still come to its calls.
  ~OrderedCommunicator() override {
    const std::scoped_lock lock(context_.order);
    context_.drain();
    communicator_.reset();
  }

  bool has(const runtime::Collective& what) const override { return communicator_->has(what); }
  std::unique_ptr<runtime::Call> call(const runtime::Collective& what) override {
    return std::make_unique<OrderedCall>(context_, communicator_->call(what));
  }
  std::string failure() const override { return communicator_->failure(); }
  void abort() noexcept override { communicator_->abort(); }

 private:
  Context& context_;
  std::unique_ptr<runtime::Communicator> communicator_;
};

}  // namespace

std::string identity_of(CUdevice device) {
  CUuuid uuid{};
  check(cuDeviceGetUuid(&uuid, device), "the identity of a GPU");
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

std::unique_ptr<runtime::Communicator> make_communicator(Context& context, Progress& progress, const runtime::Communicates::Id& id,
                                                         int rank, int size) {
  const auto queued = [&context, &progress](const char* what) {
    context.queued(what);
    if (!Capture::current(context)) progress.mark();
  };
  NcclQueue queue{
      .stream = [&context]() -> void* { return context.stream(); },
      .enter = [&context] { return cuCtxSetCurrent(context.context) == CUDA_SUCCESS; },
      .zero = [&context](void* memory,
                         std::size_t bytes) { check(cuMemsetD8Async(device_pointer(memory), 0, bytes, context.stream()), "zeros"); },
      .queued = [queued] { queued("an exchange by NCCL"); },
      .word = allocate(context, 64)};
  auto joined = with_peer_reductions(context, join_nccl(std::move(queue), id, rank, size), rank, size, [queued] { queued("all_reduce"); });
  const std::scoped_lock lock(context.order);
  context.progress = &progress;
  return std::make_unique<OrderedCommunicator>(context, std::move(joined));
}

}  // namespace tegula::gpu
