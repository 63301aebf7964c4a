#pragma once
// The choice between a device's library and tile programs for a call.

#include <optional>

#include "tegula/compile/graph.h"
#include "tegula/graph/in_tiles.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

/// The tile program that computes the item's call (graph/in_tiles.h); nothing where the device's library does. A device without the call takes the first program.
/// Otherwise the tuning file decides (runtime/tuning.h), and where it does not know the call, the library computes it; with TEGULA_TUNE=all the library's call and
/// all programs are run on the device, and the file remembers the fastest for all later plans.
std::optional<TileWay> choose_way(const Item& item, const runtime::CallDescription& call, const InTiles::Operands& operands,
                                  const runtime::TilePreference& tiles, runtime::Device& device);

}  // namespace tegula::compile
