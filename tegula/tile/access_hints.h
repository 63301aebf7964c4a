#pragma once
// What an access says beside its places: packed into the attribute of Loads and Stores.

#include <cstdint>
#include <string>

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// Where an access lets lines stay: Triton's `cache_modifier`. Of loads .ca, .cg, .cv, of stores .wb, .cg, .cs, .wt. A GPU's generator takes them as a wish.
/// Bulk, of stores: the copy engine takes the tile from shared memory (TMA, on sm_90), where it is a box of a tensor and a product's result; Wb: threads store it.
enum class Cache : std::uint8_t { Default, Ca, Cg, Cv, Wb, Cs, Wt, Bulk };
/// Which lines the L2 lets go first: Triton's `eviction_policy`.
enum class Eviction : std::uint8_t { Normal, First, Last };

struct AccessHints {
  Cache cache_modifier = Cache::Default;
  Eviction eviction_policy = Eviction::Normal;
  /// Reads memory each time, as another instance may write there meanwhile.
  bool is_volatile = false;

  static constexpr std::int64_t kPacked = 64;  // attributes are below
  std::int64_t packed() const {
    return static_cast<std::int64_t>(cache_modifier) | static_cast<std::int64_t>(eviction_policy) << 3 | (is_volatile ? 32 : 0);
  }
  static AccessHints of(const Instruction& self) {
    return {static_cast<Cache>(self.attribute & 7), static_cast<Eviction>(self.attribute >> 3 & 3), (self.attribute & 32) != 0};
  }
  bool operator==(const AccessHints&) const = default;
};
/// "cg evict_first volatile"; nothing for no hints.
std::string to_string(const AccessHints& hints);

}  // namespace tegula::tile
