#include "tegula/cpu/calls/widened.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

constexpr std::size_t kMostBuffers = 4;

class WidenedCall : public runtime::Call {
 public:
  WidenedCall(std::unique_ptr<runtime::Call> inner, DType dtype, std::vector<std::int64_t> sizes, std::size_t read)
      : inner_(std::move(inner)),
        dtype_(dtype),
        sizes_(std::move(sizes)),
        read_(read),
        most_threads_(library_threads()) {}

  std::size_t scratch_bytes() const override {
    std::size_t bytes = inner_->scratch_bytes();
    for (const std::int64_t size : sizes_) bytes += size == kNoFloats ? 0 : aligned(size);
    return bytes;
  }
  std::string describe() const override { return std::string(name(dtype_)) + " widened: " + inner_->describe(); }

  void run(std::span<void* const> buffers, void* scratch, int threads) const override {
    threads = std::clamp(threads, 1, most_threads_);
    std::array<void*, kMostBuffers> wide{};
    char* at = static_cast<char*>(scratch);
    const auto converted = [&](std::size_t i) { return sizes_[i] != kNoFloats && buffers[i]; };
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      wide[i] = converted(i) ? at : buffers[i];
      if (sizes_[i] != kNoFloats) at += aligned(sizes_[i]);
    }
    for (std::size_t i = 0; i < read_; ++i) {
      if (!converted(i)) continue;
      parallel(threads, [&](int thread, int count) {
        const Range r = share(sizes_[i], thread, count);
        widen(dtype_, static_cast<const std::uint16_t*>(buffers[i]) + r.begin, static_cast<float*>(wide[i]) + r.begin, r.end - r.begin);
      });
    }
    inner_->run({wide.data(), buffers.size()}, at, threads);
    for (std::size_t i = read_; i < buffers.size(); ++i) {
      if (!converted(i)) continue;
      parallel(threads, [&](int thread, int count) {
        const Range r = share(sizes_[i], thread, count);
        narrow(dtype_, static_cast<const float*>(wide[i]) + r.begin, static_cast<std::uint16_t*>(buffers[i]) + r.begin, r.end - r.begin);
      });
    }
  }

 private:
  static std::size_t aligned(std::int64_t elements) { return static_cast<std::size_t>((elements + 15) / 16 * 64); }

  std::unique_ptr<runtime::Call> inner_;
  DType dtype_;
  std::vector<std::int64_t> sizes_;
  std::size_t read_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, std::vector<std::int64_t> sizes,
                                            std::size_t read) {
  return std::make_unique<WidenedCall>(std::move(inner), dtype, std::move(sizes), read);
}

}  // namespace tegula::host
