#pragma once
// A tile kernel of one's own as a node of the graph: Triton's model, on every device. Not in tegula.h: it brings the tile language's words with it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/divide.h"
#include "tegula/core/line.h"
#include "tegula/core/number.h"
#include "tegula/graph/op.h"
#include "tegula/graph/tensor.h"
#include "tegula/ops/elementwise/formula_value.h"
#include "tegula/tile/builder.h"

namespace tegula {

/// The values passed to a kernel while its program is built.
struct TileArguments {
  std::span<const tile::Value> inputs,
      outputs;  // pointers to the first elements of tensors that lie dense and row-major: views that do not are copied, but for TileLaunch::strided
  std::span<const tile::Value> numbers;  // i64 scalars, known when it runs: sizes
  std::span<const tile::Value> reals;  // f32 scalars, known when it runs
  std::span<const std::int64_t> constants;  // known now: sizes of tiles, powers of two
  std::span<const tile::Value> strides;  // of the inputs in TileLaunch::strided, one per axis, i64: elements from one to the next
};
/// Builds the program that each instance of the grid runs, word by word (tile/builder.h, and formula::exp and its like). The kernel is called when a plan is
/// made, once for all instances. A function, or a lambda without captures: it depends on its arguments alone.
using TileKernel = void (*)(tile::Builder& b, const TileArguments& a);

/// A result of a kernel.
struct TileOutput {
  Shape shape;
  DType dtype;
  std::optional<Number> fill = {};  // value of each element before the first instance runs; none: undefined
  // The result may begin as a copy of the input of this number, of the same shape and dtype. If the kernel does not read that input by its own pointer, and
  // nothing else needs it after the kernel, the result takes over its memory.
  int begins_as = -1;
};

struct TileLaunch {
  Dims grid;  // instances along up to three axes: b.program_id(axis)
  std::vector<TileOutput> outputs;  // at least one: {{{n}, f32}}, or {{{n}, f32, 0}} where instances add to it
  std::vector<std::int64_t> numbers = {};  // other ones make another plan, but no other compiled kernel
  std::vector<std::int64_t> constants = {};
  std::vector<double> reals = {};  // other ones make another plan, but no other compiled kernel
  double operations = 0;  // floating-point, of all instances, for the number of threads; 0: a few for each element of the outputs
  std::vector<int> strided = {};  // inputs that may lie in any way: views are not copied, the kernel is given their strides
};

/// The results of `kernel` over the inputs. Each element of a result without a fill must be stored by some instance; two instances must not store the
/// same one, or read one that another stores, but they may add to the same one (b.atomic_add), for which the result needs a fill. If
/// b.check(condition, value, "what should hold") finds a false condition, an Error says so. To be differentiated it is put into custom_function
/// (graph/autodiff/grad.h) with its gradient.
///
///     const auto vector_add = [](tile::Builder& b, const TileArguments& a) {
///       const auto i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]), within = i < a.numbers[0];
///       b.store(a.outputs[0] + i, b.load(a.inputs[0] + i, within) + b.load(a.inputs[1] + i, within), within);
///     };
///     Tensor z = tile_kernel("vector_add", vector_add, {x, y},
///                            {.grid = {divide_up(n, 1024)}, .outputs = {{{n}, f32}}, .numbers = {n}, .constants = {1024}})[0];
///
/// Addresses are not checked, except with TEGULA_CHECK=tile in the environment: then a load, store or atomic word outside of its tensor, and an
/// element of a result that is never stored, are Errors with the element, the tensor, the instance and the kernel's line. The check is some times slower.
///
/// Throws Error for no kernel, no outputs, a grid of more than three axes or with negative ones. Building the kernel throws Error for a wrong
/// word, with the line of this call, and for an atomic word on a result without a fill, with its own line.
std::vector<Tensor> tile_kernel(std::string name, TileKernel kernel, const std::vector<Tensor>& inputs, TileLaunch launch,
                                Line where = Line::current());

}  // namespace tegula
