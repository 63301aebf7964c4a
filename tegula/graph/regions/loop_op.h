#pragma once
// A loop as one node: a body that runs a fixed number of times (users call ops/loop.h).

#include <algorithm>

#include "tegula/graph/regions/region.h"

namespace tegula {

/// Inputs: one per parameter of the body. Results: one per result of the body; of the first (as many as there are carried values) the last
/// value, of the others all values, stacked along a new axis 0 by the step's number. An unread stack is therefore never made: gradients ask the
/// existing loop for the stacks they need (Region::close, open).
class LoopOp : public LibraryOp {
 public:
  enum class Input : std::uint8_t {
    Carry,  // the first value of a carried value; these come first
    Slice,  // a stack: each step gets one slice along axis 0
    Same,  // in all steps
    Number,  // the same in all steps, and written in the program, so that its dtype may hold less of it
  };
  struct Form {
    Ref<const Region> body;
    std::vector<Input> inputs;
    std::int64_t length = 0;  // at least 1
    bool reverse = false;  // from the last step to the first
  };
  explicit LoopOp(Form form) : form_(std::move(form)) {}
  const Form& form() const { return form_; }
  const Region& body() const { return *form_.body; }
  Input input(std::size_t i) const { return form_.inputs[i]; }
  std::size_t carries() const { return static_cast<std::size_t>(std::ranges::count(form_.inputs, Input::Carry)); }
  bool has_check() const override { return body().has_check(); }
  /// The loop's results in the ops of all of its steps, one after another: where the device has no loops. Loops within it, too.
  virtual std::vector<Tensor> written_out(std::span<const Tensor> inputs) const = 0;

  /// The op, if it is one.
  static const LoopOp* of(const Op& op);

  std::string_view name() const override { return "scan"; }
  Numerics numerics() const override { return Numerics::Full; }
  Effect effect() const override;  // Ordered when its body has one
  void attributes(Attributes& a) override;
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  DType input_dtype(int index, DType result) const override;
  double operations(std::span<const Shape> inputs, const Shape& output) const override;
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override;

 private:
  /// True if the operands and results of the node agree with the body and its inputs.
  bool fits(const Signature& node) const;

  Form form_;
};

}  // namespace tegula
