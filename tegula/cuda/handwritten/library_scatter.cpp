// Sums by index on the GPU: plain kernels, because what the libraries have adds in no fixed order.

#include <initializer_list>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/cuda/handwritten/plain_scatter.h"

namespace tegula::gpu {
namespace {

using runtime::ScatterSum;

class ScatterSumCall final : public runtime::Call {
 public:
  ScatterSumCall(Context& context, const ScatterSum& d) : context_(context), d_(d), kernels_(scatter_kernels(d)) {
    for (const PlainKernel& kernel : kernels_.kernels) loaded_.emplace_back(context, kernel);
  }
  std::size_t scratch_bytes() const override { return kernels_.scratch_bytes; }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    kernels_.run(buffers, options.scratch, [&](std::size_t k, std::initializer_list<void*> pointers) { loaded_[k].launch(pointers); });
    context_.queued("scatter_sum");
  }
  std::string describe() const override {
    return "plain kernels sort " + std::to_string(d_.count) + " lines of " + std::to_string(d_.width) + " into " +
           std::to_string(d_.length);
  }

 private:
  Context& context_;
  ScatterSum d_;
  ScatterKernels kernels_;
  std::vector<LoadedKernel> loaded_;
};

/// The result has no elements.
class NothingToAdd final : public runtime::Call {
 public:
  void run(std::span<void* const>, const runtime::RunOptions&) const override {}
  std::string describe() const override { return "nothing to add"; }
};

}  // namespace

std::unique_ptr<runtime::Call> make_scatter_sum(Context& context, const ScatterSum& d) {
  if (d.dtype == boolean) throw Error({.op = "scatter_sum", .got = "dtype bool", .expected = "numbers to add"});
  if (d.outer * d.length * d.width == 0) return std::make_unique<NothingToAdd>();
  return std::make_unique<ScatterSumCall>(context, d);
}

}  // namespace tegula::gpu
