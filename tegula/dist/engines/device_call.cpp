#include "tegula/dist/engines/device_call.h"

#include <array>
#include <mutex>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/dist/engines/engines.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/timeline.h"

namespace tegula::dist {
namespace {

/// Over host memory.
class HostCall final : public runtime::Call {
 public:
  HostCall(Group group, Collective what) : group_(std::move(group)), what_(std::move(what)) {}
  std::size_t scratch_bytes() const override { return dist::scratch_bytes(what_, group_.size()); }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    carry_out(group_, what_, buffers.front(), buffers.back(), options.scratch, options.line);
  }
  bool begins() const override { return true; }
  std::uint64_t begin(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    return dist::begin(group_, what_, buffers.front(), buffers.back(), options.scratch, options.line);
  }
  void finish(std::uint64_t ticket) const override { dist::finish(group_, ticket); }
  std::string describe() const override {
    return std::string(name(what_.kind)) + " " + text_of(what_) + " among " + std::to_string(group_.size());
  }

 private:
  Group group_;
  Collective what_;
};

runtime::HostTurn turn_of_host(const Group& group, const Collective& what, const Shape& result) {
  const auto shared = std::make_shared<const HostCall>(group, what);
  const auto bytes = [&](const Shape& shape) { return static_cast<std::size_t>(numel(shape)) * size_of(what.dtype); };
  const Ref<Buffer> scratch = allocate_host(shared->scratch_bytes());
  return {.input_bytes = what.kind == Kind::Receive ? 0 : bytes(what.shape),
          .output_bytes = bytes(result),
          .text = shared->describe() + ", by the host",
          .queued = [shared, scratch](const Line& where) -> runtime::HostTurn::Work {
            return [shared, scratch, where](const void* input, void* output) {
              const runtime::TimelineScope unseen(nullptr);  // when it was, the device's queue tells
              const std::array buffers{const_cast<void*>(input), output};
              shared->run(buffers, {.scratch = scratch->data(), .line = where});
            };
          }};
}

class DeviceCall final : public runtime::Call {
 public:
  DeviceCall(runtime::Device& device, Group group, Collective what, Shape result)
      : device_(device),
        group_(std::move(group)),
        what_(std::move(what)),
        result_(std::move(result)) {}

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const std::lock_guard lock(mutex_);
    if (!call_) decide(options.line);
    if (communicator_) Engines::of(*group_.state()->world).queue(group_, device_, intent_at(options.line));
    call_->run(buffers, options);
  }

  std::string describe() const override {
    const std::lock_guard lock(mutex_);
    if (call_ && !communicator_) return call_->describe();
    const std::string text = HostCall(group_, what_).describe();
    return text + (call_ ? ", by " + call_->describe() : ", by the device or the host");
  }

 private:
  void decide(const Line& where) const {
    communicator_ = Engines::of(*group_.state()->world).communicator(group_, device_, where);
    if (communicator_ && communicator_->has(what_)) {
      call_ = communicator_->call(what_);
      return;
    }
    communicator_ = nullptr;
    call_ = device_.make(turn_of_host(group_, what_, result_));
  }

  const std::shared_ptr<const Intent>& intent_at(const Line& where) const {
    if (!intent_ || intent_->where.line() != where.line() || intent_->where.file_name() != where.file_name()) {
      const std::string text = std::string(name(what_.kind)) + (what_.kind == Kind::Barrier ? "" : " of " + text_of(what_));
      intent_ = std::make_shared<const Intent>(Intent{header_of(group_.state()->ranks, group_.rank(), what_, where), where, text});
    }
    return intent_;
  }

  runtime::Device& device_;
  Group group_;
  Collective what_;
  Shape result_;
  mutable std::mutex mutex_;  // protects the following fields
  mutable std::shared_ptr<runtime::Communicator> communicator_;  // the communicator that runs the call; null: the host's turn
  mutable std::unique_ptr<runtime::Call> call_;
  mutable std::shared_ptr<const Intent> intent_;
};

}  // namespace

std::unique_ptr<runtime::Call> collective_call(runtime::Device& device, const Group& group, const Collective& what, const Shape& result) {
  if (!device.traits().queues) return std::make_unique<HostCall>(group, what);
  return std::make_unique<DeviceCall>(device, group, what, result);
}

}  // namespace tegula::dist
