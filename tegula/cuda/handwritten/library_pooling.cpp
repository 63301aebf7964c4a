// Pooling on the GPU: plain kernels, because cuDNN's have other rules for ties, NaN and dilation.

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/piece_pooling.h"
#include "tegula/runtime/checks.h"

namespace tegula::gpu {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;

class PoolingCall : public runtime::Call {
 public:
  PoolingCall(Context& context, const Pooling& d) : context_(context), d_(d) {
    if (const auto pieces = piece_pooling(d)) pieces_.emplace(context, *pieces);
    else kernel_.emplace(context, pooling_kernel(d));
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    context_.enter();
    const bool pieces = pieces_ && in_pieces(buffers);
    if (!pieces && !kernel_) kernel_.emplace(context_, pooling_kernel(d_));  // for slices that begin anywhere
    const LoadedKernel& kernel = pieces ? *pieces_ : *kernel_;
    if (buffers.size() == 3) kernel.launch({buffers[0], buffers[1], buffers[2]});
    else kernel.launch({buffers[0], buffers[1]});
    context_.queued("pooling");
  }
  std::string describe() const override {
    return std::string(pieces_ ? "kernel over pieces, " : "plain kernel ") + (d_.kind == PoolingKind::Max ? "max" : "average") +
           (d_.backward ? " pooling backward " : " pooling ") + to_string(d_.input.layout.shape) + " -> " +
           to_string(d_.output.layout.shape);
  }

 private:
  static bool in_pieces(std::span<void* const> buffers) {
    return std::all_of(buffers.begin(), buffers.end(), [](void* p) { return std::bit_cast<std::uintptr_t>(p) % 16 == 0; });
  }

  Context& context_;
  Pooling d_;
  mutable std::optional<LoadedKernel> kernel_;
  std::optional<LoadedKernel> pieces_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_pooling(Context& context, const Pooling& description) {
  runtime::check(description);
  return std::make_unique<PoolingCall>(context, description);
}

}  // namespace tegula::gpu
