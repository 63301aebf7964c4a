#include "tegula/cuda/driver/candidates.h"

#include <algorithm>

#include "tegula/cuda/blas/blas.h"
#include "tegula/cuda/blas/blas_gradient.h"
#include "tegula/cuda/fourier/fourier.h"
#include "tegula/cuda/handwritten/library.h"
#include "tegula/cuda/handwritten/plain_split_product.h"
#include "tegula/cuda/solver/solver.h"
#include "tegula/simt/decide/layout.h"

namespace tegula::gpu {
namespace {

using runtime::Candidate;
using runtime::Convolution;
using runtime::Matmul;

constexpr int kFirstWithE4m3 = 89;  // architecture

/// True if cuBLASLt has what is made of the sums, or computes it in little more time than the product (a derivative).
bool takes_epilogue(Context& context, const Matmul& d) {
  if (d.epilogue == runtime::gelu_tanh_gradient(d.dtype())) return prefers_gradient(context, d);
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  return !sums.tensor && (sums.rest.is_empty() || fuses_activation(sums.rest, d.dtype()));
}

/// Products of bf16 where no tensor core knows it: their operands are widened first.
Price on(const Card& card, DType dtype, Price price) {
  if (dtype == bf16 && !has_tf32(card)) price.in_halves = 2 * price.in_f32;
  return price;
}

std::vector<Candidate> ways(Context& context, const Matmul& d) {
  if (d.multiplies_codes()) {
    const bool has = context.card.architecture >= kFirstWithE4m3 && blas_lt_if_there(context);
    return std::vector<Candidate>(has ? 1 : 0, {d});
  }
  if (!takes_epilogue(context, d)) {
    Matmul plain = d;
    plain.epilogue = {};
    return {{plain}};
  }
  const bool small = programs_are_faster(d);
  if (!is_half(d.dtype())) return {{d, {}, small}};
  const Price price = on(context.card, d.dtype(), price_product(d.in(f32), context.card));
  return {{d, price.in_halves, small}, {d.in(f32), price.in_f32, small}};
}

std::vector<Candidate> ways(Context& context, const Convolution& d) {
  Convolution best = d;
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  const bool relu = d.dtype() != f64 && sums.rest == runtime::relu(d.dtype());
  if ((sums.tensor && !is_half(d.dtype())) || !(relu || sums.rest.is_empty())) best.epilogue = {};
  Convolution as_it_lies = best;
  if (d.dtype() != f64)
    best.input.layout = Layout::channels_last(d.input.layout.shape), best.weight.layout = Layout::channels_last(d.weight.layout.shape),
    best.output.layout = Layout::channels_last(d.output.layout.shape);
  std::vector<Candidate> out{{best}};
  if (best != as_it_lies) out.push_back({as_it_lies});
  if (!is_half(d.dtype())) return out;
  // Groups are not priced: as TF32, cuDNN takes 99 us for the step of a layer that takes 63 us in bf16 (64 channels in 8 groups, H200).
  if (d.groups > 1) return out;
  const auto elements = static_cast<double>(numel(d.input.layout.shape) + numel(d.weight.layout.shape) + numel(d.output.layout.shape));
  const Price price = on(context.card, d.dtype(), price_convolution(runtime::work_of(d).operations, elements));
  for (Candidate& way : out) way.seconds = price.in_halves;
  out.push_back({best.in(f32), price.in_f32});
  return out;
}

std::vector<Candidate> ways(Context& context, const runtime::Attention& d) {
  return std::vector<Candidate>(attends(context, d) ? 1 : 0, {d});
}
std::vector<Candidate> ways(Context&, const std::monostate&) { return {}; }
std::vector<Candidate> ways(Context&, const runtime::Packing&) { return {}; }
std::vector<Candidate> ways(Context&, const runtime::GroupedSum&) { return {}; }  // tile programs add
std::vector<Candidate> ways(Context& context, const runtime::MatrixRoutine& d) {
  return std::vector<Candidate>(solves(context, d) ? 1 : 0, {d});
}
std::vector<Candidate> ways(Context& context, const runtime::Fourier& d) {
  return std::vector<Candidate>(transforms(context, d) ? 1 : 0, {d});
}
template <class Description>
std::vector<Candidate> ways(Context&, const Description& d) {
  return {{d}};
}

}  // namespace

std::vector<Candidate> candidates(Context& context, const runtime::CallDescription& description) {
  context.enter();
  return std::visit([&context](const auto& d) { return ways(context, d); }, description);
}

}  // namespace tegula::gpu
