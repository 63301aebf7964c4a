#include "tegula/cuda/driver/host_turn.h"

#include <exception>
#include <list>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

constexpr const char* kName = "the host's turn";

class HostTurnCall final : public runtime::Call {
 public:
  HostTurnCall(Context& context, runtime::HostTurn turn)
      : context_(context),
        turn_(std::move(turn)),
        input_(allocate_shared(context, turn_.input_bytes)),
        output_(allocate_shared(context, turn_.output_bytes)) {}

  /// The queue may still come to it.
  ~HostTurnCall() override { context_.drain(); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    if (turn_.input_bytes > 0)
      check(cuMemcpyDtoHAsync(input_->data(), device_pointer(buffers.front()), turn_.input_bytes, context_.stream()), kName);
    auto taken = std::make_unique<Taken>(Taken{this, turn_.queued(options.line)});
    const bool recorded = Capture::current(context_) != nullptr;
    check(cuLaunchHostFunc(context_.stream(), recorded ? &take : &take_once, taken.get()), kName);
    if (recorded) recorded_.push_back(std::move(taken));
    else taken.release();
    if (turn_.output_bytes > 0)
      check(cuMemcpyHtoDAsync(device_pointer(buffers.back()), output_->data(), turn_.output_bytes, context_.stream()), kName);
    context_.queued(kName);
  }

  std::string describe() const override { return turn_.text; }

 private:
  struct Taken {
    const HostTurnCall* call;
    runtime::HostTurn::Work work;
  };

  static void CUDA_CB take(void* data) {
    const Taken& taken = *static_cast<const Taken*>(data);
    try {
      taken.work(taken.call->input_->data(), taken.call->output_->data());
    } catch (...) { taken.call->context_.host_failed(std::current_exception()); }
  }
  static void CUDA_CB take_once(void* data) {
    const std::unique_ptr<Taken> taken(static_cast<Taken*>(data));
    take(data);
  }

  Context& context_;
  runtime::HostTurn turn_;
  Ref<Buffer> input_, output_;
  mutable std::list<std::unique_ptr<Taken>> recorded_;  // which replays come to; protected by Context::order
};

}  // namespace

std::unique_ptr<runtime::Call> make_host_turn(Context& context, const runtime::HostTurn& turn) {
  return std::make_unique<HostTurnCall>(context, turn);
}

}  // namespace tegula::gpu
