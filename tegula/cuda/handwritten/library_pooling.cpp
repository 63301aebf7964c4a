// Maxima of channels-last images on the GPU, by kernels over pieces of pixels: cuDNN's have other rules for ties, NaN and dilation. All other poolings are tile programs.

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

class PoolingCall : public runtime::Call {
 public:
  PoolingCall(Context& context, const Pooling& d) : context_(context), d_(d), pieces_(context, piece_pooling(d).value()) {}

  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    context_.enter();
    const bool aligned = in_pieces(buffers);
    if (!aligned && !elements_) elements_.emplace(context_, piece_pooling(d_, false).value());  // for slices that begin anywhere
    const LoadedKernel& kernel = aligned ? pieces_ : *elements_;
    if (buffers.size() == 3) kernel.launch({buffers[0], buffers[1], buffers[2]});
    else kernel.launch({buffers[0], buffers[1]});
    context_.queued("pooling");
  }
  std::string describe() const override {
    return std::string("kernel over pieces, max pooling ") + (d_.backward ? "backward " : "") + to_string(d_.input.layout.shape) + " -> " +
           to_string(d_.output.layout.shape);
  }

 private:
  static bool in_pieces(std::span<void* const> buffers) {
    return std::all_of(buffers.begin(), buffers.end(), [](void* p) { return std::bit_cast<std::uintptr_t>(p) % 16 == 0; });
  }

  Context& context_;
  Pooling d_;
  LoadedKernel pieces_;
  mutable std::optional<LoadedKernel> elements_;
};

}  // namespace

bool pools(const Pooling& description) { return piece_pooling(description).has_value(); }

std::unique_ptr<runtime::Call> make_pooling(Context& context, const Pooling& description) {
  runtime::check(description);
  if (!pools(description)) throw Error({.op = "pooling", .got = "one without a call", .expected = "maxima of channels-last images"});
  return std::make_unique<PoolingCall>(context, description);
}

}  // namespace tegula::gpu
