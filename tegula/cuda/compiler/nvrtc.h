#pragma once
// CUDA C++ to machine code, by NVIDIA's run-time compiler. The compiler is opened when it is first needed; no header of the toolkit is.

#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tegula::gpu {

/// The rule for a * b + c. Generated kernels write fmaf where they want it, so a value is the same in all of them.
enum class Products : std::uint8_t { Rounded, Contracted };

/// The cubin of a unit for sm_<architecture>. Kept on disk under a hash of source, options, architecture and compiler version, in
/// cache_folder(); a file that is damaged is compiled again, a folder that cannot be written is done without. Throws Error with the compiler's log. May be called from several threads.
std::vector<char> compile_cubin(const std::string& source, int architecture, Products products = Products::Rounded);

/// The same on a thread of its own, for which a process waits before it ends.
std::shared_future<std::vector<char>> compile_cubin_later(std::string source, int architecture, Products products = Products::Rounded);

/// The same of generated kernels, behind the parts of the prelude that they use. `keys` stands for them: code_key of each, a line each. Their text is
/// asked for, on the other thread, where their code is not on disk.
std::shared_future<std::vector<char>> compile_kernels_later(std::string keys, std::function<std::string()> text, int architecture);

/// The same unit as PTX; not kept.
std::string compile_ptx(const std::string& source, int architecture);

/// The assembler's report on one kernel.
struct Figures {
  int registers = 0;  // per thread
  std::size_t stack_bytes = 0;  // per thread
  std::size_t spill_stores = 0, spill_loads = 0;  // bytes of a thread
  std::size_t shared_bytes = 0;  // static; a launch's dynamic memory comes on top
};
/// The figures by kernel name.
std::map<std::string, Figures> figures(const std::string& source, int architecture);

/// True if an earlier process compiled kernels on this machine, which are then kept on disk.
bool anything_compiled();
/// Opens NVRTC and has it compile something, which it does faster from then on; starts the processes that help it (nvrtc_process.h).
void warm_up_compiler();

/// NVRTC's version, without opening it where it is known; "" where there is none.
std::string compiler_version();

/// True if NVRTC can be opened; otherwise `why` says what is missing.
bool nvrtc_available(std::string* why = nullptr);

/// The counts of this process.
struct CompileCounters {
  int compiled = 0, from_disk = 0;
};
CompileCounters compile_counters();

}  // namespace tegula::gpu
