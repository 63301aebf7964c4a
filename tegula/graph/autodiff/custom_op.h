#pragma once
// The node of a custom_function.

#include "tegula/graph/autodiff/grad.h"

namespace tegula {

class CustomOp final : public SameOp {
 public:
  CustomOp(std::string name, NamedOptions options, Vjp vjp) : name_(std::move(name)), options_(std::move(options)), vjp_(std::move(vjp)) {}
  /// The op, if it is one.
  static const CustomOp* of(const Op& op) { return op.role() == Role::Same ? dynamic_cast<const CustomOp*>(&op) : nullptr; }

  std::string_view name() const override { return name_; }
  std::string_view class_name() const override { return "custom_function"; }
  /// The name and the gradient are none of them: files have those beside the op.
  void attributes(Attributes& a) override { a.options("options", options_); }
  const NamedOptions& options() const { return options_; }
  const Vjp& vjp() const { return vjp_; }

  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;

 private:
  std::string name_;
  NamedOptions options_;
  Vjp vjp_;
};

}  // namespace tegula
