#include "tegula/cuda/driver/host_turn.h"

#include <exception>
#include <list>
#include <utility>

#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/driver/recording.h"

namespace tegula::gpu {
namespace {

using runtime::HostTurn;

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
    const std::size_t inputs = turn_.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i)
      fetch(static_cast<char*>(input_->data()) + HostTurn::place(turn_.inputs, i), buffers[i], turn_.inputs[i]);
    if (inputs == 0) fetch(input_->data(), buffers.front(), turn_.input_bytes);
    auto taken = std::make_unique<Taken>(Taken{this, turn_.queued(options.line)});
    const bool recorded = Capture::current(context_) != nullptr;
    check(cuLaunchHostFunc(context_.stream(), recorded ? &take : &take_once, taken.get()), kName);
    if (recorded) recorded_.push_back(std::move(taken));
    else taken.release();
    for (std::size_t i = 0; i < turn_.outputs.size(); ++i)
      bring(buffers[inputs + i], static_cast<const char*>(output_->data()) + HostTurn::place(turn_.outputs, i), turn_.outputs[i]);
    if (turn_.outputs.empty()) bring(buffers.back(), output_->data(), turn_.output_bytes);
    context_.queued(kName);
  }

  std::string describe() const override { return turn_.text; }

 private:
  struct Taken {
    const HostTurnCall* call;
    runtime::HostTurn::Work work;
  };

  void fetch(void* host, void* device, std::size_t bytes) const {
    if (device && bytes > 0) check(cuMemcpyDtoHAsync(host, device_pointer(device), bytes, context_.stream()), kName);
  }
  void bring(void* device, const void* host, std::size_t bytes) const {
    if (device && bytes > 0) check(cuMemcpyHtoDAsync(device_pointer(device), host, bytes, context_.stream()), kName);
  }

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
