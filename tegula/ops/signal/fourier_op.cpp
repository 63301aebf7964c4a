#include "tegula/ops/signal/fourier_op.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/host_call.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::ops {
namespace {

using runtime::Fourier;
using runtime::Spectrum;

/// The shapes of the numbers on both sides, without the axes in front.
Shape side(Spectrum spectrum, const Dims& sizes, bool result) {
  Shape out = sizes;
  const bool real = result ? spectrum == Spectrum::ToReal : spectrum == Spectrum::FromReal;
  if (real) return out;
  if (spectrum != Spectrum::Complex) out[out.rank() - 1] = sizes.back() / 2 + 1;
  out.push_back(2);
  return out;
}

Tensor inverse_of_leading(const Tensor& x, const Dims& sizes, const Line& where);

class FourierOp final : public LibraryOp, public ByHost {
 public:
  FourierOp(Spectrum spectrum, bool inverse, const Dims& sizes) : spectrum_(spectrum), inverse_(inverse), sizes_(sizes) {}
  std::string_view name() const override { return "fourier"; }
  Numerics numerics() const override { return Numerics::Full; }
  void attributes(Attributes& a) override {
    a.choice("spectrum", spectrum_, {"complex", "from_real", "to_real"});
    a("inverse", inverse_), a("sizes", sizes_);
    const Signature* const node = a.made_for();
    if (!node) return;
    a.require(sizes_.rank() >= 1 && std::ranges::all_of(sizes_, [](std::int64_t size) { return size > 0; }), "sizes");
    const Shape from = side(spectrum_, sizes_, false), &x = node->inputs[0].shape;
    a.require(x.rank() >= from.rank() && std::equal(from.begin(), from.end(), x.end() - from.rank()), "sizes");
    const DType dtype = node->inputs[0].dtype;
    a.require((dtype == f32 || dtype == f64) && node->results[0] == Result{result_shape(x), dtype}, "sizes");
  }
  Shape result_shape(const Shape& x) const {
    Shape out;
    const int front = x.rank() - side(spectrum_, sizes_, false).rank();
    for (int i = 0; i < front; ++i) out.push_back(x[i]);
    for (const std::int64_t size : side(spectrum_, sizes_, true)) out.push_back(size);
    return out;
  }
  Fourier form(const Shape& x, DType dtype) const {
    const int front = x.rank() - side(spectrum_, sizes_, false).rank();
    return {.spectrum = spectrum_, .dtype = dtype, .inverse = inverse_, .batch = numel(x, 0, front), .sizes = sizes_};
  }
  runtime::CallDescription describe(const Setting& setting) const override { return form(setting.inputs[0].shape, setting.dtype); }
  std::unique_ptr<runtime::Call> by_host(runtime::Device& device, const Setting& setting) const override {
    const std::size_t element = size_of(setting.dtype);
    return host_call(device, describe(setting), {element * static_cast<std::size_t>(numel(setting.inputs[0].shape))},
                     {element * static_cast<std::size_t>(numel(setting.results[0].shape))});
  }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  double operations(std::span<const Shape> inputs, const Shape&) const override {
    return runtime::work_of(form(inputs[0], f32)).operations;
  }

  /// The adjoint: the transform with the other sign. The spectrum of real numbers is half of the whole, whose numbers with a mirror image stand for both.
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    const Line& where = y.origin().where;
    if (spectrum_ == Spectrum::Complex) return {transformed(dy, spectrum_, !inverse_, sizes_, where)};
    const std::int64_t n = sizes_.back(), half = n / 2 + 1;
    const Tensor k = graph::index({{half, 1}, {1, 0}, 0}, where);
    const Tensor alone = (k == 0) || (k == (n % 2 == 0 ? n / 2 : -1));
    if (spectrum_ == Spectrum::FromReal) {
      const Tensor weighed = dy * tegula::where(alone, 1.0, 0.5);
      return {transformed(inverse_of_leading(weighed, sizes_, where), Spectrum::ToReal, true, {n}, where)};
    }
    return {transformed(dy, Spectrum::FromReal, false, sizes_, where) * tegula::where(alone, 1.0, 2.0)};
  }

  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape&) const override {
    const auto call = runtime::cpu().make(form(shapes[0], f64));
    const Ref<Buffer> scratch = runtime::cpu().allocate(call->scratch_bytes());
    const std::vector<void*> buffers{const_cast<double*>(x[0].data()), y.data()};
    call->run(buffers, {.scratch = scratch->data()});
  }

 private:
  Spectrum spectrum_;
  bool inverse_;
  Dims sizes_;
};

/// The complex transform of all of these axes but the last, of x (…, sizes with the last one halved, 2). Libraries that turn several axes into real
/// numbers at once ask for spectra of real numbers, which gradients are not.
Tensor inverse_of_leading(const Tensor& x, const Dims& sizes, const Line& where) {
  if (sizes.rank() == 1) return x;
  Dims leading, order, back;
  const int front = x.rank() - sizes.rank() - 1, last = x.rank() - 2;
  for (int i = 0; i + 1 < sizes.rank(); ++i) leading.push_back(sizes[i]);
  for (int i = 0; i < front; ++i) order.push_back(i), back.push_back(i);
  order.push_back(last);
  for (int i = front; i < last; ++i) order.push_back(i), back.push_back(i + 1);
  order.push_back(x.rank() - 1), back.push_back(front), back.push_back(x.rank() - 1);
  return permute(transformed(permute(x, order), Spectrum::Complex, true, leading, where), back);
}

}  // namespace

Tensor transformed(const Tensor& x, Spectrum spectrum, bool inverse, const Dims& sizes, const Line& where) {
  const Ref<const FourierOp> op = make<FourierOp>(spectrum, inverse, sizes);
  return make_node(Ref<const Op>(op), {x}, op->result_shape(x.shape()), x.dtype(), where);
}

}  // namespace tegula::ops

namespace tegula {

void add_fourier_ops(OpTable& table) { table.add_class<ops::FourierOp>("fourier", 1, runtime::Spectrum::Complex, false, Dims()); }

}  // namespace tegula
