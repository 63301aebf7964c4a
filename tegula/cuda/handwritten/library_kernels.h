#pragma once
// Plain kernels (plain_kernels.h) on the card: compiled once per process for each source, side by side, and queued.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "tegula/cuda/compiler/brought_code.h"
#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/handwritten/plain_kernels.h"

namespace tegula::gpu {

class LoadedKernel {
 public:
  /// Begins to compile it in the background.
  LoadedKernel(Context& context, const PlainKernel& kernel);
  /// Queues it behind what is on context.stream(); the first time waits for the compiler (so not while work is being recorded) and throws Error
  /// when it failed. Nothing happens where the result has no elements.
  void launch(std::span<void* const> pointers) const;
  void launch(std::initializer_list<void*> pointers) const { launch(std::span(pointers.begin(), pointers.size())); }

 private:
  Context* context_;
  PlainKernel kernel_;
  mutable CUfunction function_ = nullptr;  // calls of a card run one after another
};

/// The code of all LoadedKernels of the card.
const AskedCode& asked_library_code(const Context& context);

/// A kernel as a call: its arguments are the call's buffers. `op` is who reports what goes wrong behind it.
std::unique_ptr<runtime::Call> kernel_call(Context& context, const PlainKernel& kernel, const char* op, std::string text = "");

/// Bytes from the first to the last element.
std::size_t extent_bytes(DType dtype, const Layout& layout);

}  // namespace tegula::gpu
