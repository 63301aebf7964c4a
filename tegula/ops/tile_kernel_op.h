#pragma once
// The node of a tile_kernel. A kernel is identified by the program that its function builds, and its name: two functions that build the same are one kernel, and a
// file that has the program needs no function.

#include <memory>
#include <mutex>

#include "tegula/ops/tile_kernel.h"
#include "tegula/tile/passes/check_places.h"

namespace tegula {

/// A kernel as a program: parameters are inputs, outputs, numbers.
struct TileProgram {
  tile::Program program;
  std::vector<tile::Builder::Sentence> sentences;  // of its checks
  std::vector<std::uint64_t> structure;  // tile::structure
};

/// Reals are kept as numbers, behind the others.
TileLaunch with_reals_as_numbers(TileLaunch launch);

/// The parameters of a kernel: inputs, outputs, numbers, reals, strides.
struct TileParameters {
  TileParameters(tile::Builder& builder, const std::vector<Result>& inputs, const TileLaunch& launch);
  std::vector<tile::Value> inputs, outputs, numbers, reals, strides;
};

class TileKernelOp final : public KernelOp {
 public:
  TileKernelOp(std::string name, TileKernel kernel, std::vector<Result> inputs, TileLaunch launch, const Line& where);
  /// The op for an existing program.
  TileKernelOp(std::string name, std::shared_ptr<const TileProgram> program, std::vector<Result> inputs, TileLaunch launch,
               const Line& where);
  /// The op, if it is one.
  static const TileKernelOp* of(const Op& op) { return op.role() == Role::Kernel ? dynamic_cast<const TileKernelOp*>(&op) : nullptr; }

  std::string_view name() const override { return name_; }
  bool takes_float8() const override { return true; }
  std::string_view class_name() const override { return "tile_kernel"; }
  /// The name and the program are none of them: files have those beside the op.
  void attributes(Attributes& a) override;
  bool has_check() const override { return built().has_check; }
  int overwrites(int result = 0) const override;
  bool accepts(int index, const Layout& layout) const override;
  void lower(KernelContext& context) const override;
  std::string check_message(std::int64_t id, std::int64_t value) const override;
  /// Throws Error if a gradient by an input of floats is wanted: a kernel's gradient is a kernel given to it, behind another op.
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override;
  const TileLaunch& launch() const { return launch_; }
  /// The program that the function builds; throws the function's errors.
  const TileProgram& program() const;
  const std::shared_ptr<const TileProgram>& shared_program() const;

 private:
  /// The built program. Its parameters: inputs, outputs, numbers, and with checks a flag for each element of each output without a fill.
  struct Built {
    tile::Program program;
    std::vector<tile::PlaceCheck> places;
    bool has_check = false;
    std::vector<bool> used;  // per parameter
  };

  bool is_marked(const TileOutput& output) const { return checked_ && !output.fill && output.begins_as < 0; }
  Result tensor_of(std::size_t i) const;
  std::string tensor(std::size_t i) const;
  std::string instance_text(std::int64_t instance) const;
  const Built& built() const;
  Built build() const;
  std::shared_ptr<const TileProgram> write_down() const;
  void check_places(Built& built) const;
  void refuse_unfilled(const tile::Program& program) const;

  std::string name_;
  TileKernel kernel_ = nullptr;
  std::vector<Result> inputs_;
  TileLaunch launch_;  // numbers: with the bits of the reals behind them
  bool checked_;  // TEGULA_CHECK=tile
  Line where_;
  mutable std::once_flag once_written_, once_built_;
  mutable std::shared_ptr<const TileProgram> written_;
  mutable std::unique_ptr<const Built> built_;
};

}  // namespace tegula
