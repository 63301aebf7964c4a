#include "tegula/runtime/device.h"

#include <limits>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/attention.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/costs.h"
#include "tegula/cpu/executor/executor.h"
#include "tegula/cpu/fourier/fourier.h"
#include "tegula/cpu/linalg/routine.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/properties.h"

namespace tegula::host {
namespace {

void require_instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  throw Error({.op = "cpu", .got = "a processor without AVX2 and FMA", .expected = "x86-64-v3 or newer (Intel from 2013, AMD from 2017)"});
#endif
}

class HostMemory final : public runtime::DeviceMemory {
 public:
  Ref<Buffer> allocate(std::size_t bytes, const runtime::Purpose& purpose) override {
    Ref<Buffer> buffer = try_allocate_host(bytes);
    if (!buffer) throw runtime::OutOfMemory(no_host_memory(bytes, purpose.what, purpose.where));
    return buffer;
  }
};

class BytecodeCompiler final : public runtime::ProgramCompiler {
 public:
  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override { return compile_program(program); }
};

class CpuDevice final : public runtime::Device {
 public:
  /// The tiles were measured by bench/executor: a handful of this size share the first-level cache.
  CpuDevice()
      : Device({.name = "cpu",
                .traits = {.layouts = {.weights_in_blocks = true}},
                .tiles = {.elements = 2048, .longest_row = 32768},
                .costs = host::costs()}) {
    require_instruction_set();
  }

  runtime::DeviceMemory& pool() override { return memory_; }
  runtime::DeviceQueues& queues() override { return queues_; }
  runtime::ProgramCompiler& compiler() override { return compiler_; }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& description) const override {
    return host::candidates(description);
  }
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription& description) override {
    return std::visit([this, &description](const auto& d) { return made(d, description); }, description);
  }

  int max_threads() const override { return num_threads(); }
  runtime::DeviceProperties properties() override {
    static const runtime::DeviceProperties properties = find_properties(num_threads());
    return properties;
  }

 private:
  using Asked = runtime::CallDescription;
  using Made = std::unique_ptr<runtime::Call>;
  Made made(const runtime::Matmul& d, const Asked& asked) const {
    const runtime::Sums sums = runtime::sums_of(d.epilogue);
    const bool reads_more = sums.tensor || !sums.rest.reads().empty();
    return d.multiplies_codes() || reads_more ? made(std::monostate(), asked) : make_matmul(d);
  }
  Made made(const runtime::Convolution& d, const Asked&) const { return make_convolution(d); }
  Made made(const runtime::Pooling& d, const Asked&) const { return make_pooling(d); }
  Made made(const runtime::Attention& d, const Asked&) const { return make_attention(d); }
  Made made(const runtime::ScatterSum& d, const Asked&) const { return make_scatter_sum(d); }
  Made made(const runtime::Packing& d, const Asked&) const { return make_packing(d); }
  Made made(const runtime::CudaKernel& d, const Asked&) const { return make_cuda_kernel(d); }
  Made made(const runtime::MatrixRoutine& d, const Asked&) const { return make_matrix_routine(d); }
  Made made(const runtime::Fourier& d, const Asked&) const { return make_fourier(d); }
  Made made(const runtime::GroupedSum& d, const Asked&) const { return make_grouped_sum(d); }
  template <class None>
  Made made(const None&, const Asked& asked) const {
    runtime::throw_no_call(*this, asked);
  }

  HostMemory memory_;
  runtime::ImmediateQueues queues_{*this};
  BytecodeCompiler compiler_;
};

}  // namespace
}  // namespace tegula::host

namespace tegula::runtime {

Device& cpu() {
  static tegula::host::CpuDevice device;
  return device;
}

}  // namespace tegula::runtime
