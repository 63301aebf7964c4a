#pragma once
// The op of a routine of linear algebra. Internal to ops/.

#include <vector>

#include "tegula/graph/by_host.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/matrix_routine.h"

namespace tegula::ops {

/// Inputs and results as runtime/matrix_routine.h says, with any axes in front: a matrix by columns is a tensor (…, columns, rows), its transpose.
/// `transposed` of an LU: a and lu by rows; `full` of Cholesky: zeros above the diagonal. If a device does not take these, the op is spelled out in the other
/// form.
class MatrixOp final : public LibraryOp, public ByHost {
 public:
  using Form = runtime::MatrixRoutine;
  explicit MatrixOp(const Form& form) : form_(form) {}
  static std::string_view name_of(runtime::Routine routine);

  std::string_view name() const override { return name_of(form_.routine); }
  Numerics numerics() const override { return Numerics::Full; }
  void attributes(Attributes& a) override;
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override;
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override;
  runtime::CallDescription describe(const Setting& setting) const override;
  std::unique_ptr<runtime::Call> by_host(runtime::Device& device, const Setting& setting) const override;
  std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape& shape) const override;
  bool accepts(const runtime::Device&, int index, const Layout& layout) const override;
  double operations(std::span<const Shape> inputs, const Shape& output) const override;
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override;
  void references(std::span<const std::span<const double>> x, std::span<const Shape> shapes,
                  std::span<const std::span<double>> ys) const override;
  const Form& form() const { return form_; }

 private:
  Form of_shapes(std::span<const Shape> inputs) const;
  Form form_;  // extents, batch and dtype are the node's
};

/// The results of a routine over tensors of f32 or f64.
std::vector<Tensor> matrix_routine(const runtime::MatrixRoutine& form, std::initializer_list<Tensor> inputs, const Line& where);

}  // namespace tegula::ops
