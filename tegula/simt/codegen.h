#pragma once
// Tile programs as CUDA C++.
//
// A program instance is run by one thread block, or by a cluster of blocks when its rows are very long. Every tile of a program is
// spread over the threads' registers by one layout per shape (see layout.h); loads and stores are as wide as what is known about the
// arguments allows; reductions go through warp shuffles, then shared memory, then the cluster's distributed shared memory.
//
// The arguments of a kernel (the launcher in kernel.cpp relies on this):
//   one argument set:  extern "C" __global__ void NAME(const Arguments a, long long g0, long long g1, long long g2, Failure* failure)
//     behind `a`, for each of Generated::maps: const __grid_constant__ TensorMap mapN
//   many sets:         extern "C" __global__ void NAME(const Set* sets, int count, Failure* failure)
//   guarded:           … Failure* failure, const Failure* guards, int guard_count)
// with 8 bytes for each parameter of the program, in order (runtime::Argument: pointers, long long for integers and booleans, double
// for floats):
//   struct Arguments { … };   struct Set { long long first_instance; long long grid[3]; Arguments a; };
//   struct Failure { long long id; long long value; Failure* report; };
// The grid of blocks is one-dimensional: instances of all sets one after another, times the blocks of a cluster. A failed Assert stores
// (id, value) where failure->id is still -1.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/simt/tensor_map.h"

namespace tegula::simt {
struct Kernel;
}

namespace tegula::gpu {

/// The fact of an integer argument that it is at least 0 and below 2^31.
constexpr std::uint8_t kShort = 8;

/// The facts about the arguments that the code relies on; it is generated once for each value of this.
struct Specialisation {
  /// Per parameter. Pointers: 2^fact divides the address, in bytes, at most 2^4. Integers: 2^fact divides the value, at most 2^4 (0 counts as
  /// 2^4), and kShort or not. Floats and booleans: 0.
  std::vector<std::uint8_t> facts;
  bool many_sets = false;
  bool guarded = false;  // does nothing when one of LaunchOptions::guards has failed
  bool one_axis = false;  // grids are (n, 1, 1)
  bool maps = false;  // the launch can make maps of tensors (simt/tensor_map.h); never of many sets
  bool operator==(const Specialisation&) const = default;
  auto operator<=>(const Specialisation&) const = default;
};
/// The facts that hold for the arguments of all `sets`.
Specialisation specialise(const tile::Program& program, std::span<const runtime::ArgumentSet> sets);

struct Generated {
  std::string name;  // of the __global__ function; carries a hash of the source without comments, so that units can be joined
  std::string source;  // without the prelude
  int threads = 128;  // per block
  int cluster = 1;  // blocks that run one instance
  std::size_t shared_bytes = 0;  // dynamic shared memory
  bool stays = false;  // blocks take several instances each: a grid of as many as the card holds at a time is enough
  bool early = false;  // waits for the launch ahead by itself
  std::vector<simt::TensorMap> maps;
};

/// `architecture`: 90 for sm_90. Throws Error when the program uses what cannot be done on it.
Generated generate(const tile::Program& program, const Specialisation& specialisation, int architecture);

/// The kernel as data (simt/kernel/kernel.h).
simt::Kernel make_kernel(const tile::Program& program, const Specialisation& specialisation, int architecture);
/// The decisions made before the kernel is written, as lines for people.
std::string decisions_of(const tile::Program& program, const Specialisation& specialisation, int architecture);

/// The text without the lines that are comments: what is compiled. They name lines of the user's program, which say nothing about the kernel.
std::string without_comments(const std::string& source);

/// The text that generated sources stand on; no toolkit header is included.
std::string prelude();
/// The kernels behind those parts of the prelude that they use: NVRTC reads the whole in some 17 ms, each part in 2 to 6.
std::string with_prelude(std::string_view kernels);
/// The kernels of such a unit; nothing of another text.
std::string_view behind_prelude(std::string_view unit);

}  // namespace tegula::gpu
