#include "tegula/cuda/dnn/dnn_convolution_steps.h"

#include <utility>

#include "tegula/cuda/dnn/dnn_blocks.h"

namespace tegula::gpu {
namespace {

constexpr const char* kName = "convolution";

class EngineCall final : public runtime::Call {
 public:
  EngineCall(Context& context, std::shared_ptr<const ChosenEngine> engine, std::string text, bool bias, bool addend)
      : context_(context),
        engine_(std::move(engine)),
        text_(std::move(text)),
        bias_(bias),
        addend_(addend) {}

  std::size_t scratch_bytes() const override { return engine_->plan.workspace(); }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    gpu::run(engine_->plan,
             {.input = buffers[0],
              .weight = buffers[1],
              .output = buffers[2],
              .bias = bias_ ? buffers[3] : nullptr,
              .addend = addend_ ? buffers.back() : nullptr},
             options.scratch);
    context_.queued(kName);
  }
  std::string describe() const override {
    std::string text = "cuDNN engine " + engine_->plan.engine();
    if (engine_->plan.workspace() > 0) text += ", workspace " + std::to_string(engine_->plan.workspace() >> 10) + " KiB";
    return text + ": " + text_;
  }

 private:
  Context& context_;
  std::shared_ptr<const ChosenEngine> engine_;
  std::string text_;
  bool bias_, addend_;
};

class RepeatingCall final : public runtime::Call {
 public:
  RepeatingCall(Context& context, std::size_t bytes, std::size_t times)
      : context_(context),
        blocks_(context, 0),
        bytes_(bytes),
        times_(times) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    context_.enter();
    for (std::size_t i = 0; i < times_; ++i) blocks_.copy(static_cast<char*>(buffers[1]) + i * bytes_, buffers[0], bytes_, kName);
  }
  std::string describe() const override { return std::to_string(times_) + " copies of " + std::to_string(bytes_) + " bytes"; }

 private:
  Context& context_;
  DnnBlocks blocks_;
  std::size_t bytes_, times_;
};

}  // namespace

std::unique_ptr<runtime::Call> engine_call(Context& context, std::shared_ptr<const ChosenEngine> engine, std::string text, bool bias,
                                           bool addend) {
  return std::make_unique<EngineCall>(context, std::move(engine), std::move(text), bias, addend);
}

std::unique_ptr<runtime::Call> repeating_call(Context& context, std::size_t bytes, std::size_t times) {
  return std::make_unique<RepeatingCall>(context, bytes, times);
}

}  // namespace tegula::gpu
