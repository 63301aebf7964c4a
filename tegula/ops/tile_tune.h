#pragma once
// The choice of the constants that a kernel is launched with: Triton's autotune and heuristics.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/ops/tile_parameters.h"

namespace tegula::tile {

/// A launch, before it is one, for grids, heuristics and pruning.
class Launch {
 public:
  Launch(const language::Arguments& arguments, std::span<const language::ParameterFacts> facts) : arguments_(arguments), facts_(facts) {}
  /// The value of a Const, Named<Int> or Named<Bool>; of integer type. Throws Error for other names, and for a Const that is not decided yet.
  std::int64_t operator[](std::string_view name) const;
  /// The same of a Const of a float type, or a Named<Float>.
  double real(std::string_view name) const;
  /// The input tensors, in the order of the parameters.
  const Tensor& input(std::size_t i) const { return arguments_.inputs.at(i); }
  /// The results' shapes.
  const Shape& output(std::size_t k) const { return arguments_.launch.outputs.at(k).shape; }

 private:
  const language::Arguments& arguments_;
  std::span<const language::ParameterFacts> facts_;
};

/// Instances along up to three axes, and the line of the launch. A function of the launch where constants are tuned:
/// [](const tile::Launch& l) { return Dims{tile::cdiv(l["M"], l["BM"])}; }.
struct Grid {
  Grid(std::initializer_list<std::int64_t> sizes, Line where = Line::current()) : sizes(sizes), where(where) {}
  Grid(const Dims& sizes, Line where = Line::current()) : sizes(sizes), where(where) {}
  template <class F>
  requires std::is_invocable_r_v<Dims, const F&, const Launch&>
  Grid(F function, Line where = Line::current()) : of(std::move(function)),
                                                   where(where) {}
  Dims sizes;
  std::function<Dims(const Launch&)> of;
  Line where;
};

/// Constants of a kernel by their names, {{"BM", 128}, {"BN", 256}, {"BK", 64}}. num_warps and num_stages are Triton's hints, for the loops that say none
/// (RangeHints, tile/language/control.h): without them the code generators choose warps and stages themselves.
struct Config {
  std::vector<std::pair<std::string, double>> constants;
  int num_warps = 0, num_stages = 0;
};

struct TuneOptions {
  std::vector<std::string> key = {};  // parameters whose numbers, or shapes, decide beside all dtypes; none: all of them
  std::function<std::vector<Config>(const std::vector<Config>&, const Launch&)> prune = {};  // returns configurations worth a try
  double seconds = 5;  // then the fastest so far is taken
};

using Heuristic = std::function<double(const Launch&)>;

namespace language {

struct Choices {
  std::vector<Config> configs;
  TuneOptions options;
  std::vector<std::pair<std::string, Heuristic>> heuristics;
};
std::shared_ptr<const Choices> with_configs(const Choices* choices, std::vector<Config> configs, TuneOptions options);
std::shared_ptr<const Choices> with_heuristic(const Choices* choices, std::string constant, Heuristic value);

/// Decides the waiting constants, and the grid. The fastest of several configurations is looked up in the tuning file (runtime/tuning.h), under the device,
/// the kernel and its key; if it is not there, each one is run on the default device and the file remembers the fastest for this and all later processes. If `measures`
/// does not hold, with TEGULA_TUNE=0, and for a single one, the first is taken. In a trace, where tensors have no values yet, ones and zeros stand for floats and
/// integers. Results and Variables begin anew in each run: nothing that the program sees is changed. Configurations that throw an Error are left out.
/// Throws Error for a Const without a decision, for a name that no Const has, and, if no configuration runs, with the first one's reason.
void decide(Arguments& arguments, const Grid& grid, std::span<const ParameterFacts> facts, const Choices* choices, TileKernel kernel,
            bool measures);

}  // namespace language
}  // namespace tegula::tile
