#pragma once
// A kernel of the tile language run at once: its lambda is called for one program instance after the other, on real data, and each word runs when it is said. A
// debugger stops in it at the kernel's line, and every access to memory is checked.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tegula/ops/tile_kernel.h"
#include "tegula/tile/language/trace.h"

namespace tegula::tile {

/// Options of .check(), which runs a kernel on the host.
struct CheckOptions {
  std::optional<std::uint64_t> shuffle = {};  // instances in an order that this seed draws; else x fastest
};

namespace language {

/// Calls the kernel's lambda with a Machine.
using Runner = void (*)(Builder& builder, const TileArguments& arguments, Machine* machine);

/// True if kernels run at once here: TEGULA_CHECK=tile, outside of traces, which have no data yet.
bool runs_at_once();

/// The results. Throws Error with the kernel's line, the instance, the element of the tile and the tensor for an access outside of every tensor, a load of an element that
/// was never stored, and an element that two instances store, or that one stores and another one reads; with the tensor's element for one that no instance
/// stores; and for a failed device_assert.
std::vector<Tensor> run_at_once(const std::string& name, Runner run, const std::vector<Tensor>& inputs, const TileLaunch& launch,
                                const CheckOptions& options, const Line& where);

}  // namespace language
}  // namespace tegula::tile
