#include "tegula/dist/engines/device_call.h"

#include <array>
#include <mutex>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/dist/engines/engines.h"
#include "tegula/runtime/begins.h"
#include "tegula/runtime/call_site.h"
#include "tegula/runtime/host_turn.h"
#include "tegula/runtime/timeline.h"

namespace tegula::dist {
namespace {

/// Over host memory.
class HostCall final : public runtime::Call, public runtime::Begins {
 public:
  HostCall(Group group, Collective what) : group_(std::move(group)), what_(std::move(what)) {}
  std::size_t scratch_bytes() const override { return dist::scratch_bytes(what_, group_.size()); }
  void run(std::span<void* const> buffers, void* scratch, int) const override {
    carry_out(group_, what_, buffers.front(), buffers.back(), scratch, runtime::CallSite::current());
  }
  std::uint64_t begin(std::span<void* const> buffers, void* scratch) const override {
    return dist::begin(group_, what_, buffers.front(), buffers.back(), scratch, runtime::CallSite::current());
  }
  void finish(std::uint64_t ticket) const override { dist::finish(group_, ticket); }
  std::string describe() const override {
    return std::string(name(what_.kind)) + " " + text_of(what_) + " among " + std::to_string(group_.size());
  }

 private:
  Group group_;
  Collective what_;
};

std::unique_ptr<runtime::Call> turn_of_host(runtime::GivesHostTurns& queue, const Group& group, const Collective& what,
                                            const Shape& result) {
  const auto shared = std::make_shared<const HostCall>(group, what);
  const auto bytes = [&](const Shape& shape) { return static_cast<std::size_t>(numel(shape)) * size_of(what.dtype); };
  const Ref<Buffer> scratch = allocate_host(shared->scratch_bytes());
  return queue.host_turn({.input_bytes = what.kind == Kind::Receive ? 0 : bytes(what.shape),
                          .output_bytes = bytes(result),
                          .text = shared->describe() + ", by the host",
                          .queued = [shared, scratch]() -> runtime::HostTurn::Work {
                            return [shared, scratch, where = runtime::CallSite::current()](const void* input, void* output) {
                              const runtime::CallSite site(where);
                              const runtime::TimelineScope unseen(nullptr);  // when it was, the device's queue tells
                              const std::array buffers{const_cast<void*>(input), output};
                              shared->run(buffers, scratch->data(), 1);
                            };
                          }});
}

class DeviceCall final : public runtime::Call {
 public:
  DeviceCall(runtime::Device& device, Group group, Collective what, Shape result)
      : device_(device),
        group_(std::move(group)),
        what_(std::move(what)),
        result_(std::move(result)) {}

  void run(std::span<void* const> buffers, void* scratch, int threads) const override {
    const std::lock_guard lock(mutex_);
    const Line where = runtime::CallSite::current();
    if (!call_) decide(where);
    if (communicator_) Engines::of(*group_.state()->world).queue(group_, device_, intent_at(where));
    call_->run(buffers, scratch, threads);
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
    call_ = turn_of_host(dynamic_cast<runtime::GivesHostTurns&>(device_), group_, what_, result_);
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
  mutable std::mutex mutex_;  // of what follows
  mutable std::shared_ptr<runtime::Communicator> communicator_;  // whose call it is; null: the host's turn
  mutable std::unique_ptr<runtime::Call> call_;
  mutable std::shared_ptr<const Intent> intent_;
};

}  // namespace

std::unique_ptr<runtime::Call> collective_call(runtime::Device& device, const Group& group, const Collective& what, const Shape& result) {
  if (!device.asynchronous()) return std::make_unique<HostCall>(group, what);
  if (!dynamic_cast<runtime::GivesHostTurns*>(&device)) {
    throw Error({.op = std::string(name(what.kind)), .got = "a tensor on " + device.name(), .expected = "one on the cpu or a GPU"});
  }
  return std::make_unique<DeviceCall>(device, group, what, result);
}

}  // namespace tegula::dist
