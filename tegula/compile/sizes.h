#pragma once
// Decides which plans of a function use exact sizes, and which the ladder of sizes (tile/ladder.h).

#include <map>
#include <span>
#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/tile/ladder.h"

namespace tegula::runtime {
class Device;
}

namespace tegula::compile {

/// The sizes that a function was called with. If kernels take long to be made, the first plans are exact (a training has one
/// size, or two with the last batch of an epoch); those behind them that differ in sizes alone are on the ladder, all but what has had one extent
/// in every exact plan (widths of layers, classes). A size that was exact once stays so, also when its plan is made again.
class SizeHistory {
 public:
  /// The history of the signatures that share number, ranks and dtypes of arguments.
  struct Seen {
    std::size_t most = 0;  // exact plans
    std::vector<Words> exact;  // their signatures
    std::vector<std::int64_t> same;  // ascending: the extents of tiles in all of them
    std::vector<Shape> shapes;  // of the nodes of the first trace
    std::vector<std::uint32_t> varies;  // of those of the last one: axes that differ from it

    /// For the plan of this signature and these nodes; refers to this until the next call.
    tile::Ladder ladder(const Words& signature, std::span<const Node* const> nodes, runtime::Device& device);
    /// Records that the signature's plan was made, with tiles that depend on these extents.
    void made(const Words& signature, std::span<const std::int64_t> extents);
  };
  /// `setting`: further words that distinguish signatures. `most`: exact plans.
  Seen& of(std::span<const Tensor> arguments, std::span<const std::uint64_t> setting, std::size_t most);

 private:
  std::map<Words, Seen> seen_;
};

/// TEGULA_SIZES=ladder: every plan is on the ladder, on every device; TEGULA_SIZES=exact: none. For tests and measurements.
tile::Ladder forced_ladder();

}  // namespace tegula::compile
