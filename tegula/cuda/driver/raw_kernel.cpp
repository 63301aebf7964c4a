#include "tegula/cuda/driver/raw_kernel.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/brought_code.h"
#include "tegula/cuda/driver/memory.h"
#include "tegula/cuda/handwritten/plain_kernels.h"
#include "tegula/runtime/cuda_text.h"

namespace tegula::gpu {
namespace {

using runtime::CudaArgument;
using runtime::CudaTensor;

/// A text on a card: its variables live as long as the process.
struct Module {
  Code binary;
  CUmodule handle = nullptr;
};

Module& module_of(const Context& context, const std::string& text) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<int, std::string>, Module>;
  const std::scoped_lock lock(mutex);
  Module& module = all[{context.index, text}];
  if (!module.binary.valid()) module.binary = compile_cubin_later(text, context.card.architecture, Products::Contracted);
  return module;
}

/// The same text for as long as the process lives.
const char* kept(const std::string& name) {
  static std::mutex mutex;
  static auto& all = *new std::set<std::string>;
  const std::scoped_lock lock(mutex);
  return all.insert(name).first->c_str();
}

class RawKernelCall final : public runtime::Call {
 public:
  RawKernelCall(Context& context, runtime::CudaKernel kernel)
      : context_(context),
        d_(std::move(kernel)),
        text_(runtime::text_for_nvrtc({d_.text, d_.file}, d_.name, {})),
        settings_(runtime::settings_of(d_)),
        name_(kept(d_.name)) {
    module_of(context, text_.text);
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < d_.tensors.size(); ++i) bytes += d_.is_unwanted(i) ? align_scratch(d_.tensors[i].bytes()) : 0;
    return bytes;
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    context_.enter();
    if (!function_) function_ = load(options.line);
    std::vector<void*> all(buffers.begin(), buffers.end());
    auto* scratch = static_cast<std::byte*>(options.scratch);
    for (std::size_t i = static_cast<std::size_t>(d_.inputs); i < d_.tensors.size(); ++i) {
      const CudaTensor& result = d_.tensors[i];
      if (d_.is_unwanted(i)) all[i] = scratch, scratch += align_scratch(result.bytes());
      if (result.bytes() > 0) begin(result, all, all[i]);
    }
    set_variables(all);
    std::vector<void*> parameters;
    for (const CudaArgument& one : d_.arguments) {
      static void* const nothing = nullptr;
      const void* const value = one.kind == CudaArgument::Kind::Tensor
                                    ? static_cast<const void*>(&all[static_cast<std::size_t>(one.tensor)])
                                : one.kind == CudaArgument::Kind::Number ? static_cast<const void*>(&one.bits)
                                                                         : static_cast<const void*>(&nothing);
      parameters.push_back(const_cast<void*>(value));
    }
    const auto size = [](const Dims& sizes, int axis) { return axis < sizes.rank() ? static_cast<unsigned>(sizes[axis]) : 1u; };
    if (std::ranges::any_of(d_.grid, [](std::int64_t blocks) { return blocks == 0; })) return;
    check(cuLaunchKernel(function_, size(d_.grid, 0), size(d_.grid, 1), size(d_.grid, 2), size(d_.block, 0), size(d_.block, 1),
                         size(d_.block, 2), static_cast<unsigned>(d_.shared), context_.stream(), parameters.data(), nullptr),
          name_);
    context_.queued(name_);
  }

  std::string describe() const override { return "CUDA C++ " + d_.name; }

 private:
  CUfunction load(const Line& line) const {
    Module& module = module_of(context_, text_.text);
    try {
      const std::vector<char>& image = module.binary.get();
      if (!module.handle) check(cuModuleLoadData(&module.handle, image.data()), name_);
    } catch (const Error& error) {
      Report report = error.report();
      report.op = "cuda_kernel " + d_.name, report.where = line;
      throw Error(std::move(report));
    }
    CUfunction found = nullptr;
    check(cuModuleGetFunction(&found, module.handle, text_.entry.c_str()), name_);
    for (const auto& [name, tensor] : settings_) {
      CUdeviceptr at = 0;
      std::size_t room = 0;
      check(cuModuleGetGlobal(&at, &room, module.handle, name.c_str()), name_);
      const std::size_t bytes = d_.tensors[tensor].bytes();
      if (bytes > room)
        throw Error({.op = "cuda_kernel " + d_.name,
                     .got = std::to_string(bytes) + " bytes for the variable " + name,
                     .expected = "at most its " + std::to_string(room),
                     .where = line});
      variables_.push_back(at);
    }
    int most = 0;  // threads of a block: __launch_bounds__, or what registers are there for
    check(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found), name_);
    std::int64_t threads = 1;
    for (const std::int64_t size : d_.block) threads *= size;
    if (most > 0 && threads > most)
      throw Error({.op = "cuda_kernel " + d_.name,
                   .got = "blocks of " + std::to_string(threads) + " threads",
                   .expected = "at most " + std::to_string(most),
                   .advice = "by its __launch_bounds__, or by its registers",
                   .where = line});
    constexpr std::int64_t kWithoutAsking = 48 << 10;
    if (d_.shared > kWithoutAsking)
      check(cuFuncSetAttribute(found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(d_.shared)), name_);
    return found;
  }

  void set_variables(const std::vector<void*>& all) const {
    for (std::size_t k = 0; k < settings_.size(); ++k) {
      const std::size_t tensor = settings_[k].tensor, bytes = d_.tensors[tensor].bytes();
      if (bytes > 0) check(cuMemcpyDtoDAsync(variables_[k], device_pointer(all[tensor]), bytes, context_.stream()), name_);
    }
  }

  /// Sets the result's initial elements before the kernel runs.
  void begin(const CudaTensor& result, const std::vector<void*>& all, void* at) const {
    if (result.begins == CudaTensor::Begins::Copied) {
      void* const from = all[static_cast<std::size_t>(result.bits)];
      if (from != at) check(cuMemcpyDtoDAsync(device_pointer(at), device_pointer(from), result.bytes(), context_.stream()), name_);
    }
    if (result.begins != CudaTensor::Begins::Filled) return;
    const CUdeviceptr to = device_pointer(at);
    const auto bits = static_cast<std::uint64_t>(result.bits);
    const std::size_t size = size_of(result.dtype), count = result.bytes() / size;
    const auto low = static_cast<unsigned>(bits), high = static_cast<unsigned>(bits >> 32);
    if (size == 1) check(cuMemsetD8Async(to, static_cast<unsigned char>(low), count, context_.stream()), name_);
    else if (size == 2) check(cuMemsetD16Async(to, static_cast<unsigned short>(low), count, context_.stream()), name_);
    else if (size == 4) check(cuMemsetD32Async(to, low, count, context_.stream()), name_);
    else if (low == high) check(cuMemsetD32Async(to, low, 2 * count, context_.stream()), name_);
    else {
      // Every other word: rows of one word, eight bytes apart.
      check(cuMemsetD2D32Async(to, 8, low, 1, count, context_.stream()), name_);
      check(cuMemsetD2D32Async(to + 4, 8, high, 1, count, context_.stream()), name_);
    }
  }

  Context& context_;
  runtime::CudaKernel d_;
  runtime::NvrtcText text_;
  std::vector<runtime::CudaSetting> settings_;
  const char* name_;
  mutable std::vector<CUdeviceptr> variables_;
  mutable CUfunction function_ = nullptr;  // calls of a card run one after another
};

}  // namespace

std::unique_ptr<runtime::Call> make_raw_kernel(Context& context, const runtime::CudaKernel& kernel) {
  return std::make_unique<RawKernelCall>(context, kernel);
}

}  // namespace tegula::gpu
