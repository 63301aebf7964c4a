#pragma once
// A GPU without one: a card's plans and texts, an H200's if nothing else is said, queued as a GPU would, run by the emulator.

#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "tegula/simt/card.h"
#include "tegula/simt/decide/layout.h"
#include "tests/support/emulator.h"
#include "tests/support/queued_device.h"

namespace tegula::test {

/// The kernels of a plan are compiled together.
class EmulatedQueue final : public QueuedDevice {
 public:
  /// Never destroyed, as QueuedDevice::create says.
  static EmulatedQueue& create(const gpu::Card& card = {}) { return *new EmulatedQueue(card); }

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override {
    const auto memory = [this, parameters = program.parameters](std::span<const runtime::ArgumentSet> sets) {
      return memory_of(parameters, sets);
    };
    return queued(gpu::emulated_kernel(program, {.architecture = card_.architecture, .memory = memory}), program);
  }
  Ref<Buffer> allocate(std::size_t bytes, const runtime::Purpose& purpose = {}) override {
    return noted(QueuedDevice::allocate(bytes, purpose));
  }
  Ref<Buffer> allocate_shared(std::size_t bytes) override { return noted(QueuedDevice::allocate_shared(bytes)); }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override {
    std::vector<runtime::PlannedLaunch> all(launches.begin(), launches.end());
    for (runtime::PlannedLaunch& launch : all) launch.kernel = &underneath(*launch.kernel);
    gpu::compile_together(all);
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    std::vector<runtime::Candidate> out = QueuedDevice::candidates(d);
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    for (runtime::Candidate& way : out) way.programs_are_faster = product && gpu::programs_are_faster(*product);
    return out;
  }

 private:
  explicit EmulatedQueue(const gpu::Card& card) : card_(card) { preference = gpu::tiles_for(card); }

  /// Forgets buffers that lay there before.
  Ref<Buffer> noted(Ref<Buffer> buffer) {
    const std::scoped_lock lock(mutex_);
    const auto* const begin = static_cast<const std::byte*>(buffer->data());
    const std::byte* const end = begin + buffer->bytes();
    auto at = buffers_.lower_bound(begin);
    if (at != buffers_.begin() && std::prev(at)->second > begin) --at;
    while (at != buffers_.end() && at->first < end) at = buffers_.erase(at);
    buffers_[begin] = end;
    return buffer;
  }
  /// The buffers that the arguments point into; nothing where one points elsewhere.
  std::vector<std::span<const std::byte>> memory_of(const std::vector<tile::Parameter>& parameters,
                                                    std::span<const runtime::ArgumentSet> sets) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::span<const std::byte>> all;
    for (const runtime::ArgumentSet& set : sets) {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!parameters[i].pointer) continue;
        const auto* const pointer = static_cast<const std::byte*>(set.arguments[i].pointer);
        const auto behind = buffers_.upper_bound(pointer);
        if (behind == buffers_.begin() || std::prev(behind)->second <= pointer) return {};
        const auto& [begin, end] = *std::prev(behind);
        all.emplace_back(begin, end);
      }
    }
    return all;
  }

  gpu::Card card_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, const std::byte*> buffers_;
};

}  // namespace tegula::test
