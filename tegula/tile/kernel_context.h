#pragma once
// The context of an op with tile programs of its own while it is lowered (KernelOp::lower).

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tegula/core/ref.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/preference.h"

namespace tegula {

class Op;

/// One argument of a launch that the executable fills in: a buffer of the op, or a number.
struct KernelArgument {
  enum class Kind : std::uint8_t { Input, Output, Scratch, Integer, Real, Constant } kind;
  int index = 0;             // Input, Output, Scratch; Constant: an input that is a number of the run
  std::int64_t integer = 0;  // Integer
  double real = 0;           // Real
  static KernelArgument input(int index) { return {Kind::Input, index}; }
  static KernelArgument output(int index = 0) { return {Kind::Output, index}; }
  static KernelArgument scratch(int index) { return {Kind::Scratch, index}; }
  static KernelArgument constant(int index) { return {Kind::Constant, index}; }
  static KernelArgument number(std::int64_t value) { return {Kind::Integer, 0, value}; }
  static KernelArgument number(double value) { return {Kind::Real, 0, 0, value}; }
};

/// Optional base of a KernelOp whose result is its input inside a box of zeros: the sum of several such results over boxes
/// that are disjoint along an axis is a join of their inputs.
class Embeds {
 public:
  virtual ~Embeds() = default;
  /// The begin of the box; nothing if the result is not of this form (gaps between the elements, another value around them).
  virtual std::optional<Dims> embedded_at() const = 0;
  /// The join: its inputs begin at `begins` along the axis, in order, and between them is zero.
  virtual Ref<const Op> joined(int axis, std::vector<std::int64_t> begins) const = 0;
};

/// Optional base of a KernelOp whose result is its inputs side by side along an axis, each over the whole of all other axes. The compiler
/// lets their producers store them there if it can; `lower` is for the others.
class Joins {
 public:
  virtual ~Joins() = default;
  virtual int joined_axis() const = 0;
  /// The begin of each input, in order; between them is zero. Empty: one follows the other.
  virtual const std::vector<std::int64_t>& joined_at() const = 0;
  /// The same join of inputs that follow each other.
  virtual Ref<const Op> without_gaps() const = 0;
};

/// Outputs are dense and row-major, and so are inputs where the op does not accept others. Launches run in the order in which they were added.
class KernelContext {
 public:
  struct Operand {
    Shape shape;
    DType dtype;
    Strides strides;  // in elements, from where the argument points
  };
  /// `wanted`: which of the outputs somebody reads; the others have no buffers.
  KernelContext(std::vector<Operand> inputs, std::vector<Operand> outputs, std::vector<bool> wanted, const tile::TilePreference& tiles)
      : inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        wanted_(std::move(wanted)),
        tiles_(tiles) {}

  /// The element of an input at these places (i64, row-major), where the input lies nowhere. Adds parameters and the arguments for them.
  using Element = std::function<tile::Value(tile::Builder& builder, std::vector<KernelArgument>& arguments, tile::Value places)>;
  void set_computed(int input, Element element) { computed_input_ = input, computed_ = std::move(element); }
  /// Empty where the input lies in memory.
  const Element& computed(int input) const { return input == computed_input_ ? computed_ : none_; }

  int input_count() const { return static_cast<int>(inputs_.size()); }
  const Operand& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const Operand& output(int k = 0) const { return outputs_[static_cast<std::size_t>(k)]; }
  bool wanted(int k) const { return wanted_[static_cast<std::size_t>(k)]; }
  /// A good number of elements for a tile on this device.
  std::int64_t tile_elements() const { return tiles_.elements; }
  /// About how many instances keep the device busy: as many as it has. Not what is free of it.
  std::int64_t instances() const { return tiles_.instances; }
  std::int64_t longest_sort() const { return tiles_.longest_sort > 0 ? tiles_.longest_sort : std::numeric_limits<std::int64_t>::max(); }
  /// The same as tile_elements where `total` elements are independent of each other.
  std::int64_t tile_elements_for(std::int64_t total) const { return tiles_.elements_for(total); }
  /// The ladder of sizes for tiles; empty for exact tiles.
  const tile::Ladder& ladder() const { return tiles_.ladder; }
  /// Remembers an extent that tiles follow: they stay exact where it is the same at all sizes.
  void follow(std::int64_t extent) { extents_.push_back(extent); }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  /// Extents that follow a size, as far as that is known.
  void set_changing(std::vector<std::int64_t> extents) {
    changing_ = std::move(extents);
    tiles_.ladder.changing = changing_;
  }

  /// A buffer of this launch sequence; the number is for KernelArgument::scratch.
  int scratch(std::int64_t bytes) {
    scratch_bytes_.push_back(bytes);
    return static_cast<int>(scratch_bytes_.size()) - 1;
  }
  /// One launch; arguments in the order of the program's parameters. A grid with a zero does nothing. `operations` (floating-point, of the
  /// whole launch) decides how many threads it gets; 0: a few for each element of the output.
  void launch(tile::Program program, std::vector<KernelArgument> arguments, std::array<std::int64_t, 3> grid, double operations = 0) {
    program.many_sizes = tiles_.ladder.on;
    launches_.push_back({std::move(program), std::move(arguments), grid, operations, beside_});
    beside_ = false;
  }
  /// The next launch neither reads nor overwrites what the one before it writes: where their programs are equal they may be one.
  void beside() { beside_ = true; }

  struct Launch {
    tile::Program program;
    std::vector<KernelArgument> arguments;
    std::array<std::int64_t, 3> grid;
    double operations;
    bool beside;  // the one before it
  };
  std::vector<Launch>& launches() { return launches_; }
  const std::vector<std::int64_t>& scratch_bytes() const { return scratch_bytes_; }

 private:
  std::vector<Operand> inputs_;
  int computed_input_ = -1;
  Element computed_, none_;
  std::vector<Operand> outputs_;
  std::vector<bool> wanted_;
  tile::TilePreference tiles_;
  std::vector<std::int64_t> scratch_bytes_, extents_, changing_;
  std::vector<Launch> launches_;
  bool beside_ = false;
};

}  // namespace tegula
