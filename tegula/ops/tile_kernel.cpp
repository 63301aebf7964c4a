#include "tegula/ops/tile_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "tile_kernel";

/// The function itself, for keys: two kernels are the same if their functions are.
enum class Identity : std::uint64_t {};

class TileKernelOp final : public KernelOp {
 public:
  TileKernelOp(std::string name, TileKernel kernel, TileLaunch launch, const std::source_location& where)
      : name_(std::move(name)),
        kernel_(kernel),
        launch_(std::move(launch)),
        where_(where) {}
  std::string_view name() const override { return name_; }
  void attributes(Attributes& a) const override {
    a.told_by_name(static_cast<Identity>(reinterpret_cast<std::uintptr_t>(kernel_)));
    a("grid", launch_.grid);
    a("numbers", launch_.numbers);
    a("constants", launch_.constants);
    a("operations", Number(launch_.operations));
  }
  void lower(KernelContext& context) const override {
    ops::KernelLaunch launch(context, name_);
    launch.builder().set_location(where_);
    std::vector<tile::Value> inputs, outputs, numbers;
    for (int i = 0; i < context.input_count(); ++i) inputs.push_back(launch.input(i));
    for (std::size_t k = 0; k < launch_.outputs.size(); ++k) {
      const auto& [shape, dtype] = launch_.outputs[k];
      const int number = static_cast<int>(k);
      outputs.push_back(context.wanted(number)
                            ? launch.output(number)
                            : launch.scratch(context.scratch(numel(shape) * static_cast<std::int64_t>(size_of(dtype))), dtype, true));
    }
    for (const std::int64_t number : launch_.numbers) numbers.push_back(launch.number(number));
    kernel_(launch.builder(), {inputs, outputs, numbers, launch_.constants});
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::copy(launch_.grid.begin(), launch_.grid.end(), grid.begin());
    launch.launch(grid, launch_.operations);
  }

 private:
  std::string name_;
  TileKernel kernel_;
  TileLaunch launch_;
  std::source_location where_;
};

}  // namespace

std::vector<Tensor> tile_kernel(std::string name, TileKernel kernel, const std::vector<Tensor>& inputs, TileLaunch launch,
                                std::source_location where) {
  const In frame(kName, where);
  if (!kernel || name.empty()) ops::refuse(kName, kernel ? "no name" : "no kernel", "a function and its name", where);
  if (launch.outputs.empty()) ops::refuse(kName, "no outputs", "shape and dtype of at least one result", where);
  if (launch.grid.rank() > 3 || std::any_of(launch.grid.begin(), launch.grid.end(), [](std::int64_t size) { return size < 0; }))
    ops::refuse(kName, "the grid " + to_string(launch.grid), "up to three sizes of at least 0", where);
  for (const Tensor& input : inputs) input.shape(where);
  const std::vector<Result> outputs = launch.outputs;
  auto op = make<const TileKernelOp>(std::move(name), kernel, std::move(launch), where);
  if (outputs.size() == 1) return {make_node(std::move(op), inputs, outputs[0].shape, outputs[0].dtype, where)};
  return make_nodes(std::move(op), inputs, outputs, where);
}

}  // namespace tegula
