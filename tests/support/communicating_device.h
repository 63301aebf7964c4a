#pragma once
// A device that queues its work and exchanges by NCCL with others of its kind, whichever libnccl.so.2 is found: the one of tests/cuda/driver/fake_nccl.cpp, which
// moves host memory.

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tegula/cuda/nccl/communicator.h"
#include "tegula/runtime/collective.h"
#include "tests/support/queued_device.h"

namespace tegula::test {

class CommunicatingDevice final : public QueuedDevice, public runtime::Communicates {
 public:
  /// Never destroyed, as QueuedDevice::create says.
  static CommunicatingDevice& create() {
    static std::mutex mutex;
    static auto& all = *new std::vector<CommunicatingDevice*>;
    const std::scoped_lock lock(mutex);
    return *all.emplace_back(new CommunicatingDevice);
  }

  std::string card = "the GPU " + std::to_string(number());  // identity(): which one is pretended
  std::atomic<int> exchanges{0};  // by the communicator, that have begun

  runtime::Communicates* communicates() override { return this; }
  std::string identity() override { return card; }
  std::string engine() override { return gpu::nccl_name(); }
  Id draw_id() override { return gpu::draw_nccl_id(); }
  std::unique_ptr<runtime::Communicator> join(const Id& id, int rank, int size) override {
    return std::make_unique<Queueing>(*this, gpu::join_nccl({.enter = [] { return true; },
                                                             .zero = [](void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); },
                                                             .queued = [] {},
                                                             .word = allocate_host(64)},
                                                            id, rank, size));
  }
  bool ahead_of_replays(std::function<void()> first) override { return ahead_of_replays_here(std::move(first)); }
  double stalled() override {
    const auto begun = begun_.load();
    return begun == Clock::time_point() ? 0 : std::chrono::duration<double>(Clock::now() - begun).count();
  }
  void confirm_by(std::function<void()> confirm) override {
    const std::scoped_lock lock(failing_);
    confirm_ = std::move(confirm);
  }
  void fail(std::exception_ptr failure) noexcept override {
    const std::scoped_lock lock(failing_);
    failure_ = std::move(failure);
  }
  void synchronize() override {
    QueuedDevice::synchronize();
    std::exception_ptr failure;
    std::function<void()> confirm;
    {
      const std::scoped_lock lock(failing_);
      failure = std::exchange(failure_, nullptr);
      confirm = confirm_;
    }
    if (failure) std::rethrow_exception(failure);
    if (confirm) confirm();
  }

 private:
  using Clock = std::chrono::steady_clock;

  class Timed final : public runtime::Call {
   public:
    Timed(CommunicatingDevice& device, std::unique_ptr<runtime::Call> call) : device_(device), call_(std::move(call)) {}
    void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
      device_.exchanges++;
      device_.begun_ = Clock::now();
      call_->run(buffers, options);
      device_.begun_ = Clock::time_point();
    }
    std::string describe() const override { return call_->describe(); }

   private:
    CommunicatingDevice& device_;
    std::unique_ptr<runtime::Call> call_;
  };

  class Queueing final : public runtime::Communicator {
   public:
    Queueing(CommunicatingDevice& device, std::unique_ptr<runtime::Communicator> communicator)
        : device_(device),
          communicator_(std::move(communicator)) {}
    bool has(const runtime::Collective& what) const override { return communicator_->has(what); }
    std::unique_ptr<runtime::Call> call(const runtime::Collective& what) override {
      return device_.wrap(std::make_unique<Timed>(device_, communicator_->call(what)));
    }
    std::string failure() const override { return communicator_->failure(); }
    void abort() noexcept override { communicator_->abort(); }

   private:
    CommunicatingDevice& device_;
    std::unique_ptr<runtime::Communicator> communicator_;
  };

  CommunicatingDevice() = default;

  std::atomic<Clock::time_point> begun_{};
  std::mutex failing_;
  std::exception_ptr failure_;
  std::function<void()> confirm_;
};

}  // namespace tegula::test
