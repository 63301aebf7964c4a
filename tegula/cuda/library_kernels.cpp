#include "tegula/cuda/library_kernels.h"

#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/nvrtc.h"

namespace tegula::gpu {
namespace {

struct Modules {
  std::mutex mutex;
  std::map<std::pair<int, std::string>, CUfunction> functions;  // by (device, source)
};

Modules& modules() {
  static auto* instance = new Modules;
  return *instance;
}

CUfunction load(const Context& context, const PlainKernel& kernel) {
  Modules& m = modules();
  const std::scoped_lock lock(m.mutex);
  CUfunction& function = m.functions[{context.index, kernel.source}];
  if (function) return function;
  const std::vector<char> binary = compile_cubin(kernel.source, context.architecture);
  context.enter();
  CUmodule module = nullptr;  // lives as long as the process
  check(cuModuleLoadData(&module, binary.data()), kernel.name);
  CUfunction found = nullptr;
  check(cuModuleGetFunction(&found, module, kernel.name.c_str()), kernel.name);
  return function = found;
}

}  // namespace

LoadedKernel::LoadedKernel(Context& context, const PlainKernel& kernel)
    : context_(&context),
      threads_(static_cast<unsigned>(kernel.threads)),
      shared_(static_cast<unsigned>(kernel.shared)) {
  if (kernel.blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error({.op = kernel.name, .got = std::to_string(kernel.blocks) + " blocks", .expected = "less than 2^31"});
  }
  blocks_ = static_cast<unsigned>(kernel.blocks);
  if (blocks_ == 0) return;
  function_ = load(context, kernel);
  constexpr unsigned kWithoutAsking = 48 << 10;
  if (shared_ > kWithoutAsking)
    check(cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_)), kernel.name);
}

void LoadedKernel::launch(std::initializer_list<void*> pointers) const {
  if (blocks_ == 0) return;
  std::array<void*, 8> values{}, addresses{};
  std::size_t count = 0;
  for (void* pointer : pointers) {
    values[count] = pointer;
    addresses[count] = &values[count];
    ++count;
  }
  check(cuLaunchKernel(function_, blocks_, 1, 1, threads_, 1, 1, shared_, context_->stream, addresses.data(), nullptr), "launch");
}

std::size_t extent_bytes(DType dtype, const Layout& layout) {
  if (numel(layout.shape) == 0) return 0;
  std::int64_t last = 0;
  for (int i = 0; i < layout.shape.rank(); ++i) last += (layout.shape[i] - 1) * layout.strides[i];
  return static_cast<std::size_t>(last + 1) * size_of(dtype);
}

}  // namespace tegula::gpu
