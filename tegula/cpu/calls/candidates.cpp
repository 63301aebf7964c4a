// The forms in which the CPU runs calls best: layouts, dtypes and epilogues.

#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/ways.h"

namespace tegula::host {
namespace {

using runtime::Candidate;
using runtime::Convolution;
using runtime::Matmul;

std::vector<Candidate> ways(const Matmul& d) {
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  if (d.multiplies_codes() || sums.tensor || !(sums.rest.is_empty() || runtime::is_activation(sums.rest, d.dtype()))) return {};
  return matmul_candidates(d);
}

/// True if the call takes the epilogue: bias and relu always; an addend or limits in f32 where NaN may be lost (only_answers). oneDNN's kernel computes it on the way,
/// but for a relu that keeps NaN, which follows each piece of the result while that is in cache (OneDnnConvolution::run). In training an addend and the ops after it are
/// better left to the program that makes the gradient's mask.
bool fits_into(const Convolution& d) {
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  runtime::Limits limits;
  if (!runtime::are_limits(sums.rest, d.dtype(), limits)) return false;
  return !(sums.tensor || !limits.words.empty()) || (!d.keeps_nan && d.dtype() == f32);
}

std::vector<Candidate> ways(const Convolution& d) {
  if (!fits_into(d)) return {};
  if (d.weight.blocks.any) return with_blocks(d, &Convolution::weight);
  // A convolution of bf16 is one of f32 and the conversion of its operands and result. A training step in bf16 and in f32 on one thread: an autoencoder
  // of convolutions 12.3 and 9.8 ms, a text CNN 14.7 and 13.6 (Zen 5), a small ResNet 96 and 75 (a Xeon); an MLP 0.66 and 1.06, a ViT 73 and 106. In f16, which is here for trials, they are
  // the same as on a GPU.
  Convolution best = d;
  if (d.dtype() == bf16) best = d.in(f32);
  if (convolution_prefers_channels_last(d))
    best.input.layout = Layout::channels_last(d.input.layout.shape), best.output.layout = Layout::channels_last(d.output.layout.shape);
  if (best == d) return {{d}};
  return {{best}, {d}};
}

std::vector<Candidate> ways(const runtime::GroupedSum& d) { return std::vector<Candidate>(sums_terms(d) ? 1 : 0, {d}); }
std::vector<Candidate> ways(const std::monostate&) { return {}; }
std::vector<Candidate> ways(const runtime::HostTurn&) { return {}; }
template <class Description>
std::vector<Candidate> ways(const Description& d) {
  return {{d}};
}

}  // namespace

std::vector<Candidate> candidates(const runtime::CallDescription& description) {
  return std::visit([](const auto& d) { return ways(d); }, description);
}

}  // namespace tegula::host
