#pragma once
// Generated kernels on the CPU: by the machine (tegula/simt/machine), which executes their statements; or their text, by the emulator of the library
// (tegula/emulator/).

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tegula/cuda/handwritten/plain_kernels.h"
#include "tegula/runtime/device.h"
#include "tegula/simt/codegen.h"
#include "tegula/simt/machine/machine.h"
#include "tests/support/source_folder.h"

namespace tegula::gpu {

/// The pace of warps (tegula/emulator/threads.h); Changing: even in two launches of three, from the first thread on or from the last.
enum class Pace : std::uint8_t { Changing, Even, Uneven };

struct EmulationOptions {
  int architecture = 90;
  bool aligned = true;  // false: generate as if nothing were known about the arguments
  Pace pace = Pace::Changing;
  bool text = false;  // the text, compiled, instead of the statements
  std::function<std::string(std::string)> change = {};  // changes the text before it is compiled; implies `text`
  std::function<void(simt::Kernel&)> change_kernel = {};  // changes the statements
  /// The memory that a launch may reach; nothing: all memory.
  std::function<std::vector<std::span<const std::byte>>(std::span<const runtime::ArgumentSet>)> memory = {};
  bool instances_meet = false;  // simt::MachineOptions
  simt::Observed* observed = nullptr;  // gets the machine's findings; null: launch() throws Error if there is one

  bool is_text() const { return text || change; }
};

/// A kernel that is generated for the arguments of each launch, as on the GPU. A source is compiled once per process. launch() throws Error
/// when threads wait for each other for ever, and where the machine found something else that a kernel must not do. Not for several threads.
std::unique_ptr<runtime::Kernel> emulated_kernel(const tile::Program& program, const EmulationOptions& options = {});

/// Compiles what these launches of emulated kernels need, in one go.
void compile_together(std::span<const runtime::PlannedLaunch> launches);

/// The CPU with emulated kernels in place of its own; calls are the CPU's.
runtime::Device& emulated_device();

/// Runs a plain kernel over these arrays, in clusters of so many blocks; shared_bytes: what its source declares and blocks of a cluster
/// read of each other. Not for f16 and bf16, whose conversions are instructions of the GPU.
void emulate(const PlainKernel& kernel, std::span<void* const> pointers, int cluster = 1, std::size_t shared_bytes = 0);

/// The CPU with other kernels and an H200's tiles; calls and memory are the CPU's.
std::unique_ptr<runtime::Device> device_with(std::function<std::unique_ptr<runtime::Kernel>(const tile::Program&)> compile);

}  // namespace tegula::gpu
