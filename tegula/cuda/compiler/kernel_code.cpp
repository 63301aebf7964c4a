#include "tegula/runtime/kernel_code.h"

#include <algorithm>
#include <utility>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/runtime/cuda_text.h"
#include "tegula/simt/codegen.h"

namespace tegula::runtime {
namespace {

/// The limits of a multiprocessor, from the CUDA guide's table of compute capabilities.
struct Limits {
  int threads = 2048, blocks = 32, registers = 65536;
  std::size_t shared = 228 * 1024, of_system = 1024;  // bytes, of each block
};

Limits limits_of(int architecture) {
  if (architecture < 80) return {.threads = 1024, .blocks = 16, .shared = 64 * 1024, .of_system = 0};
  Limits limits;
  if (architecture == 80 || architecture == 87) limits.shared = 164 * 1024;
  if (architecture == 86 || architecture == 89 || architecture >= 120) {
    limits.threads = 1536, limits.shared = 100 * 1024;
    limits.blocks = architecture == 86 ? 16 : 24;
  }
  return limits;
}

/// Registers are given to warps by 256, shared memory to blocks by 128 bytes, and from sm_80 on 1 KiB of it is the system's.
void set_occupancy(GpuKernelCode& code, int architecture) {
  const Limits limits = limits_of(architecture);
  const int warps = (code.threads + 31) / 32, of_warp = std::max(1, (code.registers * 32 + 255) / 256 * 256);
  const std::size_t shared = (code.static_shared + code.dynamic_shared + 127) / 128 * 128 + limits.of_system;
  code.resident_blocks = std::min({limits.blocks, limits.threads / (32 * warps), limits.registers / (of_warp * warps),
                                   static_cast<int>(limits.shared / std::max<std::size_t>(shared, 1))});
  code.occupancy = static_cast<double>(code.resident_blocks * 32 * warps) / limits.threads;
}

void compile(GpuKernelCode& code, const std::string& unit, int architecture, gpu::Products products) {
  code.cubin = gpu::compile_cubin(unit, architecture, products);
  code.ptx = gpu::compile_ptx(unit, architecture);
  const auto all = gpu::figures(unit, architecture);
  if (const auto found = all.find(code.entry); found != all.end()) {
    const gpu::Figures& figures = found->second;
    code.registers = figures.registers, code.stack_bytes = figures.stack_bytes, code.static_shared = figures.shared_bytes;
    code.spill_stores = figures.spill_stores, code.spill_loads = figures.spill_loads;
  }
  set_occupancy(code, architecture);
}

}  // namespace

GpuKernelCode code_for_gpu(const tile::Program& program, const GpuTarget& target) {
  constexpr std::uint8_t kSixteenBytes = 4;
  gpu::Specialisation specialisation{.facts = {}};
  for (const tile::Parameter& parameter : program.parameters)
    specialisation.facts.push_back(parameter.pointer && target.aligned ? kSixteenBytes : std::uint8_t{0});
  const gpu::Generated generated = gpu::generate(program, specialisation, target.architecture);
  GpuKernelCode code{.entry = generated.name,
                     .decisions = gpu::decisions_of(program, specialisation, target.architecture),
                     .text = generated.source,
                     .ptx = {},
                     .cubin = {},
                     .threads = generated.threads,
                     .cluster = generated.cluster,
                     .dynamic_shared = generated.shared_bytes};
  compile(code, gpu::with_prelude(generated.source), target.architecture, gpu::Products::Rounded);
  return code;
}

GpuKernelCode code_for_gpu(const CudaKernel& kernel, const GpuTarget& target) {
  const NvrtcText unit = text_for_nvrtc({kernel.text, kernel.file}, kernel.name, {});
  GpuKernelCode code{.entry = unit.entry, .decisions = {}, .text = kernel.text, .ptx = {}, .cubin = {}};
  for (const std::int64_t size : kernel.block) code.threads *= static_cast<int>(size);
  code.dynamic_shared = static_cast<std::size_t>(kernel.shared);
  compile(code, unit.text, target.architecture, gpu::Products::Contracted);
  return code;
}

}  // namespace tegula::runtime
