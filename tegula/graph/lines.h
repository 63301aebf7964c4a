#pragma once
// Reads of a tensor at places that an index names, as elementwise work: they join the groups of their readers (compile/passes/fold/fold_lines.cpp).

#include "tegula/graph/op.h"
#include "tegula/runtime/call_description.h"

namespace tegula {

/// Inputs: one line of a tensor, repeated along `axis`, and the index (integers; from the end where negative), repeated along all others. An element is the same one
/// of the line that the index names: whoever lowers it adds the way to that line (`place` times the tensor's stride) to where it reads input 0.
class LineOp final : public ElementwiseOp {
 public:
  LineOp() = default;
  /// `length`: of the tensor along its axis, at least 1.
  LineOp(int axis, std::int64_t length) : axis_(axis), length_(length) {}
  /// The op, if it is one.
  static const LineOp* of(const Op& op);

  std::string_view name() const override { return "line"; }
  std::string_view check_name() const override { return "gather"; }
  bool has_check() const override { return true; }
  std::string check_message(std::int64_t id, std::int64_t value) const override;
  void attributes(Attributes& a) override;
  int axis() const { return axis_; }
  /// The number of the line (i64), in [0, length) whatever the index says; checks the index.
  tile::Value place(tile::Builder& builder, const tile::Value& index) const;
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType dtype) const override;
  double reference(std::span<const double> x) const override { return x[0]; }

 private:
  int axis_ = 0;
  std::int64_t length_ = 1;
};

/// A grouped sum whose terms are computed while they are added (runtime::GroupedSum::terms): what compile/passes/fold/fold_terms.cpp makes of a sum and
/// the elementwise items that it reads. Inputs: those of the call.
class TermSumOp final : public LibraryOp {
 public:
  TermSumOp() = default;
  explicit TermSumOp(runtime::GroupedSum form);
  std::string_view name() const override { return "term_sum"; }
  Numerics numerics() const override { return Numerics::Full; }
  std::string_view check_name() const override { return "gather"; }
  bool has_check() const override { return true; }
  /// `id`: the matrix whose index was out of range.
  std::string check_message(std::int64_t id, std::int64_t value) const override;
  void attributes(Attributes& a) override;
  runtime::CallDescription describe(const Setting&) const override { return form_; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  double operations(std::span<const Shape> inputs, const Shape&) const override;
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override;

 private:
  runtime::GroupedSum form_;
  std::vector<std::int64_t> lengths_;  // of the matrices
};

}  // namespace tegula
