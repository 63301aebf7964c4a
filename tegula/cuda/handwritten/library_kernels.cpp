#include "tegula/cuda/handwritten/library_kernels.h"

#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

/// A translation unit: compiled in the background, loaded where the first of its kernels is queued. Lives as long as the process.
struct Module {
  std::string key;
  Code binary;
  CUmodule handle = nullptr;
};

struct Modules {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, Module> all;  // by (device, source)
  std::map<int, AskedCode> asked;  // by device
};

Modules& modules() {
  static auto* instance = new Modules;
  return *instance;
}

void request(const Context& context, const PlainKernel& kernel) {
  Modules& m = modules();
  const std::scoped_lock lock(m.mutex);
  Module& module = m.all[{context.index, kernel.source}];
  if (!module.binary.valid()) {
    module.key = code_key(kernel.name, kernel.source, context.card.architecture, Products::Contracted);
    module.binary = brought(module.key);
    if (!module.binary.valid()) module.binary = compile_cubin_later(kernel.source, context.card.architecture, Products::Contracted);
  }
  m.asked[context.index].note(module.key, module.binary);
}

CUfunction load(const Context& context, const PlainKernel& kernel) {
  Modules& m = modules();
  const std::scoped_lock lock(m.mutex);
  Module& module = m.all[{context.index, kernel.source}];
  const std::vector<char>& binary = module.binary.get();
  context.enter();
  if (!module.handle) check(cuModuleLoadData(&module.handle, binary.data()), kernel.name);
  CUfunction found = nullptr;
  check(cuModuleGetFunction(&found, module.handle, kernel.name.c_str()), kernel.name);
  constexpr std::size_t kWithoutAsking = 48 << 10;
  if (kernel.shared > kWithoutAsking)
    check(cuFuncSetAttribute(found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(kernel.shared)), kernel.name);
  return found;
}

}  // namespace

LoadedKernel::LoadedKernel(Context& context, const PlainKernel& kernel) : context_(&context), kernel_(kernel) {
  if (kernel.blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error({.op = kernel.name, .got = std::to_string(kernel.blocks) + " blocks", .expected = "less than 2^31"});
  }
  if (kernel.blocks > 0) request(context, kernel);
}

void LoadedKernel::launch(std::span<void* const> pointers) const {
  if (kernel_.blocks == 0) return;
  if (!function_) function_ = load(*context_, kernel_);
  std::array<void*, 8> values{}, addresses{};
  std::size_t count = 0;
  for (void* pointer : pointers) {
    values[count] = pointer;
    addresses[count] = &values[count];
    ++count;
  }
  check(cuLaunchKernel(function_, static_cast<unsigned>(kernel_.blocks), 1, 1, static_cast<unsigned>(kernel_.threads), 1, 1,
                       static_cast<unsigned>(kernel_.shared), context_->stream(), addresses.data(), nullptr),
        "launch");
}

const AskedCode& asked_library_code(const Context& context) {
  Modules& m = modules();
  const std::scoped_lock lock(m.mutex);
  return m.asked[context.index];
}

namespace {

class KernelCall final : public runtime::Call {
 public:
  KernelCall(Context& context, const PlainKernel& kernel, const char* op, std::string text)
      : context_(context),
        kernel_(context, kernel),
        op_(op),
        text_(text.empty() ? "kernel " + kernel.name : std::move(text)) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    context_.enter();
    kernel_.launch(buffers);
    context_.queued(op_);
  }
  std::string describe() const override { return text_; }

 private:
  Context& context_;
  LoadedKernel kernel_;
  const char* op_;
  std::string text_;
};

}  // namespace

std::unique_ptr<runtime::Call> kernel_call(Context& context, const PlainKernel& kernel, const char* op, std::string text) {
  return std::make_unique<KernelCall>(context, kernel, op, std::move(text));
}

std::size_t extent_bytes(DType dtype, const Layout& layout) {
  if (numel(layout.shape) == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < layout.shape.rank(); ++i) last += (layout.shape[i] - 1) * layout.strides[i];
  return static_cast<std::size_t>(last + 1) * size_of(dtype);
}

}  // namespace tegula::gpu
