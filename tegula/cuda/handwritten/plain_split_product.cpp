#include "tegula/cuda/handwritten/plain_split_product.h"

#include <algorithm>
#include <charconv>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_cluster_product.h"
#include "tegula/cuda/handwritten/plain_source.h"
#include "tegula/cuda/handwritten/plain_split_product.cuh.h"
#include "tegula/cuda/handwritten/plain_tensor_product.h"
#include "tegula/simt/costs.h"

namespace tegula::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kChunk = 128;               // of the inner axis in shared memory at once

}  // namespace

std::string SplitChoice::text() const {
  const std::string tile = std::to_string(tile_m) + "x" + std::to_string(tile_n);
  const std::string share = parts > 1 || warps == 0 ? " parts " + std::to_string(parts) : "";
  return warps > 0 ? "tensor cores " + tile + " warps " + std::to_string(warps) + share : "own " + tile + share;
}

std::optional<SplitChoice> SplitChoice::from(const std::string& text) {
  for (const auto& [m, n] : {std::pair{16, 8}, {16, 16}, {32, 16}, {32, 32}}) {
    for (const int warps : {4, 8, 16}) {
      if (const SplitChoice choice{m, n, 1, warps}; choice.text() == text) return choice;
    }
  }
  if (const SplitChoice choice{64, 64, 8, 4}; choice.text() == text) return choice;
  for (const int m : {32, 64}) {
    for (const int parts : {1, 2, 4, 8}) {
      if (const SplitChoice choice{m, 32, parts}; choice.text() == text) return choice;
    }
  }
  return std::nullopt;
}

std::vector<SplitChoice> split_choices(const runtime::Matmul& d, const BlasProduct& p, const Card& card) {
  std::vector<SplitChoice> choices;
  if (d.dtype() != f32 || p.empty() || p.k == 0 || p.offsets.size() != 1 || p.operations() > costs().own_product) return choices;
  constexpr std::int64_t kLongest = std::int64_t{1} << 28;  // offsets within an operand are 32 bits wide
  for (const BlasMatrix* m : {&p.left, &p.right}) {
    if (m->leading * std::max(m->columns, m->rows) > kLongest) return choices;
  }
  if (d.arithmetic == runtime::Arithmetic::TF32 && has_tf32(card)) {
    choices = cluster_choices(p, card);
    for (const SplitChoice& choice : tensor_choices(p)) choices.push_back(choice);
    return choices;
  }
  // The first choice has as many parts as there is room for, the second half of that; where the tiles alone fill the card, larger tiles follow.
  SplitChoice choice;
  const std::int64_t blocks = 2 * card.multiprocessors;  // more parts than this keep no card busier
  while (card.architecture >= 90 && choice.parts < 8 && tiles_of(p, choice) * choice.parts * 2 <= blocks && p.k >= 64 * choice.parts)
    choice.parts *= 2;
  choices.push_back(choice);
  if (choice.parts > 1) choices.push_back({.parts = choice.parts / 2});
  else if (p.m > 32) choices.push_back({.tile_m = 64});
  return choices;
}

Price price_convolution(double operations, double elements) {
  const runtime::Costs& table = costs();
  return {seconds_at({operations, 4 * elements}, table.tf32_per_second, table.call_bytes_per_second),
          seconds_at({operations, 2 * elements}, table.halves_per_second, table.call_bytes_per_second)};
}

Price price_product(runtime::Matmul description, const Card& card) {
  description.arithmetic = runtime::Arithmetic::TF32;
  const BlasProduct p = blas_product(description);
  if (p.empty()) return {};
  const auto is_aligned = [](const BlasMatrix& m) {
    constexpr std::int64_t kPiece = 8;  // halves in 16 bytes
    return (m.columns <= 1 || m.leading % kPiece == 0) && m.batch_stride % kPiece == 0;
  };
  constexpr std::int64_t kFewRows = 16;  // fewer have kernels of their own in halves, too
  const bool own = !split_choices(description, p, card).empty();
  const bool one_by_one = own && !is_aligned(p.left) && !is_aligned(p.right) && !is_aligned(p.result);
  const double elements = static_cast<double>((p.m * p.k + p.k * p.n + p.m * p.n) * p.batch);
  auto [in_f32, in_halves] = price_convolution(p.operations(), elements);
  in_f32 += (own && std::min(p.m, p.n) >= kFewRows ? costs().own_call_seconds : costs().call_seconds).value;
  in_halves = costs().call_seconds + in_halves * (one_by_one ? costs().unaligned_factor.value : 1);
  return {in_f32, in_halves};
}

std::int64_t tiles_of(const BlasProduct& p, const SplitChoice& choice) {
  return divide_up(p.m, choice.tile_m) * divide_up(p.n, choice.tile_n) * p.batch;
}

std::string cluster_attribute(int blocks) { return blocks > 1 ? " __cluster_dims__(" + std::to_string(blocks) + ", 1, 1)" : ""; }

void define_operand(PlainSource& source, const std::string& name, const BlasMatrix& x, bool along_inner) {
  const std::int64_t contiguous = x.rows;
  source.define(name + "_LEADING", x.leading), source.define(name + "_BATCH", x.batch_stride);
  source.define(name + "_INNER", along_inner);
  source.define(name + "_WIDE", x.leading % 4 == 0 && x.batch_stride % 4 == 0 && contiguous % 4 == 0);
}

void add_product(PlainSource& source, const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice, const char* kernel,
                 const std::string& attributes) {
  source.define("M", p.m), source.define("N", p.n), source.define("K", p.k);
  source.define("TILE_M", choice.tile_m), source.define("TILE_N", choice.tile_n);
  source.define("TILES_M", divide_up(p.m, choice.tile_m)), source.define("TILES_N", divide_up(p.n, choice.tile_n));
  define_operand(source, "LEFT", p.left, p.left.transposed);
  define_operand(source, "RIGHT", p.right, !p.right.transposed);
  source.define("RESULT_LEADING", p.result.leading), source.define("RESULT_BATCH", p.result.batch_stride);
  const runtime::Sums sums = runtime::sums_of(d.epilogue);
  source.define("BIAS", sums.channel), source.define("BIAS_ALONG_M", p.swapped);
  activation_function(source, sums.rest);
  const std::vector<std::pair<std::string, std::string>> table{
      {"ATTRIBUTES", attributes}, {"BIAS", sums.channel ? ", const float* bias" : ""}, {"ADDED", sums.channel ? ", bias" : ""}};
  source.add(kStore, table);
  source.add(kernel, table);
}

PlainKernel split_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice) {
  if (choice.warps > 0) return choice.is_large() ? cluster_product_kernel(d, p, choice) : tensor_product_kernel(d, p, choice);
  PlainSource source(d.dtype(), {});
  // Within `parts` slices of the inner axis, in whole chunks of 32 so that both operands stay aligned.
  const std::int64_t slice = divide_up(divide_up(p.k, choice.parts), 32) * 32;
  const std::int64_t chunk = std::min<std::int64_t>(slice, choice.tile_m + choice.tile_n > 64 ? kChunk / 2 : kChunk);
  source.define("PARTS", choice.parts), source.define("SLICE", slice);
  // The groups' sums share the memory.
  const std::int64_t needed = divide_up(4 * choice.tile_m * choice.tile_n, choice.tile_m + choice.tile_n + 8);
  source.define("CHUNK", std::max(chunk, divide_up(needed, 32) * 32));
  add_product(source, d, p, choice, kSplitProduct, cluster_attribute(choice.parts));
  return {"split_product", source.text(), tiles_of(p, choice) * choice.parts, kThreads};
}

}  // namespace tegula::gpu
