#include "tegula/cuda/handwritten/plain_tensor_product.h"

#include <algorithm>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_source.h"
#include "tegula/cuda/handwritten/plain_tensor_product.cuh.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kStep = 16;  // of the inner axis: two products
constexpr std::int64_t kBusy = 96;  // blocks that leave no large part of a card idle

}  // namespace

std::vector<SplitChoice> tensor_choices(const BlasProduct& p) {
  // From the largest tiles that leave enough blocks on.
  std::vector<SplitChoice> choices;
  for (const auto& [m, n] : {std::pair{32, 32}, {32, 16}, {16, 16}, {16, 8}}) {
    const std::int64_t blocks = divide_up(p.m, m) * divide_up(p.n, n) * p.batch, steps = divide_up(p.k, kStep);
    if (blocks < kBusy && m * n > 128) continue;
    const int warps = steps >= 32 && m * n <= 512 ? 16 : steps > 4 ? 8 : 4;
    choices.push_back({m, n, 1, warps});
    if (choices.size() == 2) break;
  }
  return choices;
}

PlainKernel tensor_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice) {
  PlainSource source(d.dtype(), {});
  const std::int64_t rounds = divide_up(divide_up(p.k, kStep), choice.warps);
  const std::int64_t tiles_m = divide_up(p.m, choice.tile_m), tiles_n = divide_up(p.n, choice.tile_n);
  constexpr std::int64_t kRegisters = 96;  // for what is under way
  source.define("WARPS", choice.warps), source.define("ROUNDS", rounds);
  // Rounds are shared out as evenly as registers allow.
  const std::int64_t most = std::clamp<std::int64_t>(kRegisters / ((choice.tile_m + choice.tile_n) / 2), 1, rounds);
  source.define("TOGETHER", divide_up(rounds, divide_up(rounds, most)));
  source.add(tensor_core_product());
  add_product(source, d, p, choice, kTensorProduct);
  return {"tensor_product", source.text(), tiles_m * tiles_n * p.batch, choice.warps * 32};
}

}  // namespace tegula::gpu
