#include "tegula/cuda/dnn/dnn_blocks.h"

#include <utility>

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

class AlignedCall final : public runtime::Call {
 public:
  AlignedCall(Context& context, const char* op, std::unique_ptr<runtime::Call> call, std::vector<AlignedTensor> tensors)
      : op_(op),
        call_(std::move(call)),
        tensors_(std::move(tensors)),
        blocks_(context, tensors_.size()) {}

  std::size_t scratch_bytes() const override { return call_->scratch_bytes(); }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    std::vector<void*> at(buffers.begin(), buffers.end());
    for (std::size_t b = 0; b < at.size(); ++b) {
      const AlignedTensor& tensor = tensors_[b];
      if (tensor.bytes == 0) continue;
      at[b] = blocks_.aligned(b, buffers[b], tensor.bytes);
      if (at[b] == buffers[b]) continue;
      if (tensor.written && tensor.sparse)
        throw Error({.op = op_, .got = "a part of a tensor that begins elsewhere", .expected = "a multiple of 16 bytes for a result"});
      if (!tensor.written) blocks_.copy(at[b], buffers[b], tensor.bytes, op_);
    }
    call_->run(at, options);
    for (std::size_t b = 0; b < at.size(); ++b)
      if (tensors_[b].written && at[b] != buffers[b]) blocks_.copy(buffers[b], at[b], tensors_[b].bytes, op_);
  }
  std::string describe() const override { return call_->describe(); }

 private:
  const char* op_;
  std::unique_ptr<runtime::Call> call_;
  std::vector<AlignedTensor> tensors_;
  DnnBlocks blocks_;
};

}  // namespace

std::unique_ptr<runtime::Call> aligned_call(Context& context, const char* op, std::unique_ptr<runtime::Call> call,
                                            std::vector<AlignedTensor> tensors) {
  return std::make_unique<AlignedCall>(context, op, std::move(call), std::move(tensors));
}

}  // namespace tegula::gpu
