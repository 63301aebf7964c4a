#pragma once
// The operation of a node. An op knows the result of its shape rule only through the node; the passes learn everything else from its role.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/ref.h"
#include "tegula/core/shape.h"
#include "tegula/graph/attributes.h"

namespace tegula::tile {
class Value;
class Builder;
enum class Reduction : std::uint8_t;
enum class Word : std::uint8_t;
}  // namespace tegula::tile
namespace tegula::runtime {
class Call;
class Device;
struct CallDescription;
}  // namespace tegula::runtime

namespace tegula {

class Node;
class Tensor;
class Composed;
class Embeds;
class InTiles;
class Joins;
struct SlicePlace;

/// The compiler's view of a node. Each role but the first has a subclass of Op.
enum class Role : std::uint8_t {
  Leaf,         // a value from outside: data, an argument of a trace, a Variable
  Scalar,       // a number known when the graph is built; travels in the parameter block, so its value never costs a compile
  Index,        // Σ coordinate * stride + offset of each element, i64: iota, positions of random numbers
  Elementwise,  // one output element from the input elements at the same place
  View,         // its input under another layout
  Barrier,      // its first input, once the others are computed
  Stop,         // its input, to which no gradient passes
  Same,         // its first inputs, with a gradient of its own to the others
  Reduce,       // along axes
  Library,      // matmul, convolution, pooling: a call of the device
  Kernel,       // its own tile programs
  Part,         // one result of an op that has several
};

/// True if the result, if there is one, is the first input: the same memory, in the layout that shown() gives.
constexpr bool shows_input(Role role) { return role == Role::View || role == Role::Barrier || role == Role::Stop || role == Role::Same; }

/// The op's requirement on the precision of its values (the precision pass reads it; no list names ops).
enum class Numerics : std::uint8_t {
  TensorCore,  // sums of products: operands and result may be half, the sums are f32
  Either,      // half or f32, as its neighbours: moves elements, or rounds no more than storing the result does
  Full,        // sums over many elements, needs more range or more digits than a half has, or a dtype that the user named
};

/// One result of an op with several.
struct Result {
  Shape shape;
  DType dtype;
  bool operator==(const Result&) const = default;
};

/// The inputs and results of a node.
struct Signature {
  std::vector<Result> inputs, results;
  std::size_t several = 0;  // for a part of a node with several results: the number of those results
};

/// The derivatives that the zeros of a cotangent absorb when they multiply them (autodiff/absorb.h).
enum class Zeros : std::uint8_t {
  Plain,        // nothing: 0 * inf is NaN
  AbsorbPoles,  // derivatives that are infinite or NaN at finite arguments
  AbsorbAll,    // whatever it is
};

class Op : public Shared {
 public:
  /// Stable, and for results of one dtype of this class alone: prints, errors and files know the op by it.
  virtual std::string_view name() const = 0;
  virtual Role role() const = 0;
  /// The name under which a table of ops knows the class (op_table.h): name(), but for ops that the user names.
  virtual std::string_view class_name() const { return name(); }
  /// Everything beside the class that distinguishes two ops over equal inputs with equal results: axes, windows, …
  virtual void attributes(Attributes&) {}
  /// The same for those who read: nothing is assigned.
  void visit(Attributes& reader) const { const_cast<Op*>(this)->attributes(reader); }
  virtual Numerics numerics() const { return Numerics::Full; }
  /// True if the op only moves, converts or compares elements and computes nothing with them: it then takes 8-bit floats, too.
  virtual bool takes_float8() const {
    return shows_input(role()) || role() == Role::Leaf || role() == Role::Scalar || role() == Role::Part;
  }

  /// The text after "got" in the error of a check that this op emitted (tile::Builder::check with this id) and that failed on `value`.
  virtual std::string check_message(std::int64_t id, std::int64_t value) const;
  virtual std::string check_advice() const;
  /// The public function whose argument the check looks at.
  virtual std::string_view check_name() const { return name(); }

  /// Gradients of the inputs given that of the output, as more graph. `wanted[i]` says which are needed; others may stay empty,
  /// as do those that are zero whatever the values. The default, no list at all, ends the path.
  virtual std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const;
  /// The same of an op with several results, given those of each: an undefined one is zero. Results of y: graph::part(y, k).
  virtual std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const;
  /// For an op that chooses among its inputs, as `where` does: which derivatives the zeros absorb that its gradient gives to unchosen elements.
  virtual Zeros gradient_zeros() const { return Zeros::Plain; }
};

class ElementwiseOp : public Op {
 public:
  Role role() const final { return Role::Elementwise; }
  Numerics numerics() const override { return Numerics::Either; }
  /// The formula over tile values, each of its node's compute type; `dtype` is the node's. Inputs of rank 0 arrive as scalars.
  virtual tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType dtype) const = 0;
  /// The formula over f64: the reference of the tests.
  virtual double reference(std::span<const double> x) const = 0;
  /// For an op of two inputs that is one word of the tile language, of its inputs in their order: that word. Passes know sums and products by it.
  virtual std::optional<tile::Word> word() const { return std::nullopt; }
  /// Emits Assert: a program with it runs before state is changed.
  virtual bool has_check() const { return false; }
};

/// Result `index` of its input, which is of an op with several results. The part is the value: its input never has one, and only parts read that.
class PartOp final : public Op {
 public:
  explicit PartOp(int index) : index_(index) {}
  std::string_view name() const override { return "part"; }
  Role role() const override { return Role::Part; }
  void attributes(Attributes& a) override {
    a("index", index_);
    if (const Signature* node = a.made_for()) a.require(index_ >= 0 && static_cast<std::size_t>(index_) < node->several, "index");
  }
  int index() const { return index_; }

 private:
  int index_;
};

/// The elements of its one input under another layout.
class ViewOp : public Op {
 public:
  Role role() const final { return Role::View; }
  Numerics numerics() const final { return Numerics::Either; }
  /// The layout of the result over the same buffer, or nothing when this layout would need a copy first (a dense one never does).
  virtual std::optional<Layout> apply(const Layout& input) const = 0;
};

/// Its first input, available once the other inputs have been computed: keeps values that the backward pass computes again from being computed early, and chunks
/// and collectives in order.
class BarrierOp final : public Op {
 public:
  std::string_view name() const override { return "barrier"; }
  Role role() const override { return Role::Barrier; }
  Numerics numerics() const override { return Numerics::Either; }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;
};

/// Its one input, to which no gradient passes: stop_gradient, the value of a Variable. A node with a value lets its input go.
class StopOp final : public Op {
 public:
  explicit StopOp(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  Role role() const override { return Role::Stop; }
  Numerics numerics() const override { return Numerics::Either; }

 private:
  std::string_view name_;
};

/// Its first inputs, as many as it has results, with a gradient of its own: the other inputs are the tensors from which those were computed. A custom function, a
/// checkpoint; the compiler removes it.
class SameOp : public Op {
 public:
  Role role() const final { return Role::Same; }
  Numerics numerics() const final { return Numerics::Either; }
};

/// The layout of such an op's result if the first input lies so; nothing for a view that would need a copy.
std::optional<Layout> shown(const Op& op, const Layout& input);

class ReduceOp : public Op {
 public:
  Role role() const final { return Role::Reduce; }
  virtual tile::Reduction kind() const = 0;
  /// Sorted, at least one; the output drops them.
  virtual const Dims& axes() const = 0;
};

/// The exchange of a call with other processes, beside its results. Nodes with an effect run in program order: outside of traces once, where they
/// are made; inside a trace whenever it runs.
enum class Effect : std::uint8_t {
  None,
  Ordered,  // in a trace if its result is read
  Always,  // in a trace also if nothing reads it: another process waits for it
};

/// A call of the device, described once layouts are known.
class LibraryOp : public Op {
 public:
  Role role() const final { return Role::Library; }
  Numerics numerics() const override { return Numerics::TensorCore; }
  virtual Effect effect() const { return Effect::None; }
  /// True if a late reader of the result should compute it again, instead of memory being held until then (passes/exchanges.h).
  virtual bool makes_anew() const { return false; }
  /// The layouts, dtype and unread results of a call.
  struct Setting {
    std::span<const Layout> inputs;
    std::span<const Layout> results;  // for unread results: the layout they would have
    DType dtype = DType::f32;  // dtype of the first result
    std::uint8_t unwanted = 0;  // unread results, a bit each: no buffer comes for them
  };
  /// The call as data, without an epilogue: which one a device computes with it is asked with Device::takes. Nothing of an op that prepares its own.
  virtual runtime::CallDescription describe(const Setting& setting) const;
  /// The call of an op without a description: an exchange, or work of the host.
  virtual std::unique_ptr<runtime::Call> prepare(runtime::Device& device, const Setting& setting) const;
  /// True if the call reports failures (runtime::RunOptions::failure): it then runs before state is changed.
  virtual bool has_check() const { return false; }
  /// True if the call takes input `index` in this layout; otherwise the compiler makes a dense copy.
  virtual bool accepts(const runtime::Device& device, int index, const Layout& layout) const = 0;
  /// The dtype that input `index` must have in a call with this result; an index is i64.
  virtual DType input_dtype(int /*index*/, DType result) const { return result; }
  /// The same in other ops, without scalars among them, if the device runs those faster because they fuse with the ops around them;
  /// otherwise empty.
  virtual std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const;
  /// The op itself, if it is also written in other ops (graph/regions/composed.h); otherwise null.
  virtual const Composed* composed() const { return nullptr; }
  /// The op itself, if tile programs compute its calls, too (graph/in_tiles.h); otherwise null.
  virtual const InTiles* in_tiles() const { return nullptr; }
  /// Numbers of results for takes_slice: operand k is k, result k is kResult - k.
  static constexpr int kResult = -1;
  /// True if the call reads this operand, or writes this result, inside the larger tensor it is a slice of, as fast as it would use a tensor
  /// of its own and without the copy.
  virtual bool takes_slice(const runtime::Device& /*device*/, int /*which*/, const SlicePlace& /*slice*/) const { return false; }
  /// For an exchange: true if the compiler may reorder it among others like it. All ranks of its group must have the same graph, so that all choose the same order.
  virtual bool takes_turns() const { return false; }
  /// (…, M, K) · (…, K, N): the compiler may multiply other forms of the operands.
  virtual bool multiplies_matrices() const { return false; }
  virtual int bias_axis() const { return -1; }  // the axis of the channels of a result with an epilogue; -1: its call has none
  /// The axis of input 1 along which bias_axis() of the result runs, if a factor along it may as well be multiplied into input 1; or -1.
  virtual int weight_axis() const { return -1; }
  /// True if the result may use the memory of input 0 when nothing reads that input after the call.
  virtual bool may_be_in_place() const { return false; }
  /// A mask over inputs, bit 31 the output: inputs that lie so now, and the output, that are activations which should lie channels-last on this device.
  virtual std::uint32_t channels_last(runtime::Device&, std::span<const Layout>, const Shape&, DType) const { return 0; }
  /// Floating-point operations, for the thread count and the reports.
  virtual double operations(std::span<const Shape> inputs, const Shape& output) const = 0;
  /// The naive f64 loops: inputs dense row-major, output to be filled.
  virtual void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                         const Shape& shape) const = 0;
  /// The same of an op with several results: all of them.
  virtual void references(std::span<const std::span<const double>> x, std::span<const Shape> shapes,
                          std::span<const std::span<double>> ys) const;
};

class KernelContext;

/// An op with tile programs of its own. `lower` asks the context for buffers' layouts and adds launches.
class KernelOp : public Op {
 public:
  Role role() const final { return Role::Kernel; }
  virtual void lower(KernelContext& context) const = 0;
  /// True if its programs check their operands (tile::Builder::check). Lowering refuses an op that checks without saying so.
  virtual bool has_check() const { return false; }
  /// The input whose storage a result takes over: lower writes only the changed elements. -1: none. The compiler copies
  /// the input first if something else still needs it.
  virtual int overwrites(int /*result*/ = 0) const { return -1; }
  /// An input whose elements it asks for by their index (KernelContext::computed), so that they need not lie in memory; -1: none.
  virtual int input_read_by_index() const { return -1; }
  /// For an op whose input 1 is input_read_by_index() and names lines of input 0, checked (result[…, k, …] = input 0[…, index[k], …]): the axis of k; -1 for all others.
  virtual int line_axis() const { return -1; }
  /// For an op whose result is input 0, overwritten in place by input 1 in a slice along one axis: that axis; -1 for all others. Input 2 (one i64) is
  /// where the slice begins; a slice that would not fit is not written. The producer of input 1 may store it directly in the result.
  virtual int inserted_slice_axis() const { return -1; }
  /// The op itself, if its result is its inputs concatenated, or its input padded with zeros (tile/kernel_context.h); otherwise null.
  virtual const Joins* join() const { return nullptr; }
  virtual const Embeds* embedding() const { return nullptr; }
  /// True if its inputs may be scalars of the run, which need not lie in memory (KernelArgument::constant).
  virtual bool takes_numbers() const { return false; }
  /// True if input `index` may have this layout (KernelContext::Operand::strides); otherwise the compiler makes a dense copy. Never asked of an input that is overwritten.
  virtual bool accepts(int /*index*/, const Layout& layout) const { return layout.is_dense(); }
  virtual void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                         const Shape& shape) const;
  /// The same of an op with several results: all of them.
  virtual void references(std::span<const std::span<const double>> x, std::span<const Shape> shapes,
                          std::span<const std::span<double>> ys) const;
};

}  // namespace tegula
