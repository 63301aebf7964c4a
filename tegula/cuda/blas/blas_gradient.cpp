#include "tegula/cuda/blas/blas_gradient.h"

#include "tegula/core/error.h"
#include "tegula/cuda/blas/blas_call.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/driver/measure.h"
#include "tegula/cuda/driver/properties.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/library_kernels.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

/// Nothing where cuBLASLt has no such epilogue. Its sums of columns beside the derivative are left alone: with them it takes three times as
/// long as without (an H200, cuBLASLt 13.1).
std::optional<LtForm> gradient_form(const runtime::Matmul& d, const BlasProduct& p) {
  const bool fits = d.epilogue == runtime::gelu_tanh_gradient(d.dtype()) && d.dtype() != f64;
  if (!fits || p.empty() || p.k == 0 || p.batch != 1 || p.offsets.size() != 1) return std::nullopt;
  LtForm form = form_of(d, CUBLASLT_EPILOGUE_DGELU);
  form.aux_leading = p.result.leading;
  return form;
}

/// The time of the fastest algorithm; measured unless it is known.
std::optional<double> microseconds(Context& context, const LtForm& form, const BlasProduct& product, const runtime::Matmul& d) {
  const std::string &section = blas_lt(context).section, key = tuning_key(form, product);
  if (const auto text = tuning_file().find(section, key); text && *text == kNoAlgorithm) return std::nullopt;
  const auto known = [&] {
    const auto own = tuning_file().microseconds(context.own_section(), key);
    return own ? own : tuning_file().microseconds(section, key);
  };
  if (!known()) {
    try {
      make_matmul(context, d);
    } catch (const Error&) { return std::nullopt; }
  }
  return known();
}

}  // namespace

bool prefers_gradient(Context& context, const runtime::Matmul& d) {
  const BlasProduct p = blas_product(d);
  const auto form = gradient_form(d, p);
  if (!form || !blas_lt_if_there(context) || p.operations() < costs().measured_gradient || !is_measured(p) || is_recording(context))
    return false;
  runtime::Matmul plain = d;
  plain.epilogue = {};
  const auto with = microseconds(context, *form, p, d);
  const auto without = with ? microseconds(context, form_of(plain, CUBLASLT_EPILOGUE_DEFAULT), p, plain) : std::nullopt;
  if (!without) return false;
  // The kernel would read both and write one; but a sum that it may carry, such as a bias' gradient, must then read everything again.
  const double moved = 2 * static_cast<double>(extent_bytes(d.dtype(), d.c.layout));
  return *with <
         *without + 1e6 * costs().launch_seconds + 1e6 * moved / (costs().share_of_peak * find_properties(context).bytes_per_second);
}

std::unique_ptr<runtime::Call> make_gradient_matmul(Context& context, const runtime::Matmul& d) {
  const BlasProduct p = blas_product(d);
  const auto form = gradient_form(d, p);
  if (!form)
    throw Error({.op = "matmul", .got = "a derivative behind " + to_string(p), .expected = "a product that the device prefers so"});
  const std::size_t c_bytes = extent_bytes(d.dtype(), d.c.layout);
  return make_library_call(context, {.form = *form,
                                     .product = p,
                                     .bytes = {extent_bytes(d.dtype(), d.a.layout), extent_bytes(d.dtype(), d.b.layout), c_bytes, c_bytes},
                                     .addresses =
                                         [swapped = p.swapped](std::span<void* const> x) {
                                           return LtAddresses{
                                               .left = x[swapped ? 1 : 0], .right = x[swapped ? 0 : 1], .result = x[3], .aux = x[2]};
                                         },
                                     .text = std::string(name(d.dtype())) + " " + to_string(p) + " times a derivative"});
}

}  // namespace tegula::gpu
