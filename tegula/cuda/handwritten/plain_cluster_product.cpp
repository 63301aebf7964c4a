#include "tegula/cuda/handwritten/plain_cluster_product.h"

#include <algorithm>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_cluster_product.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kStep = 32;              // of the inner axis: what is waited for at once
constexpr std::int64_t kShared = 108 << 10;  // bytes that a block takes at most, so that two fit on a multiprocessor
constexpr std::int64_t kWarpTile = 32;          // lines and columns of the tile that a warp holds

}  // namespace

std::vector<SplitChoice> cluster_choices(const BlasProduct& p, const Card& card) {
  // All blocks of the launch should be on the card at once, two on a multiprocessor; clusters leave some of these places empty.
  const std::int64_t blocks = 2 * card.multiprocessors * 9 / 11;
  const SplitChoice choice{64, 64, 8, 4};
  const std::int64_t tiles = tiles_of(p, choice);
  if (card.architecture < 90 || tiles < 4 || tiles * choice.parts > blocks || p.k < 64 * choice.parts) return {};
  return {choice};
}

PlainKernel cluster_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice) {
  PlainSource source(d.dtype(), {});
  const std::int64_t slice = divide_up(divide_up(p.k, choice.parts), 8) * 8, steps = divide_up(slice, kStep);
  const auto floats = [](std::int64_t lines, bool along_inner) { return along_inner ? lines * (kStep + 4) : kStep * (lines + 8); };
  const std::int64_t slot = floats(choice.tile_m, p.left.transposed) + floats(choice.tile_n, !p.right.transposed);
  const std::int64_t slots = std::min<std::int64_t>(steps, kShared / 4 / slot);
  const std::int64_t groups = choice.warps * kWarpTile * kWarpTile / (choice.tile_m * choice.tile_n);
  source.define("PARTS", choice.parts), source.define("SLICE", slice);
  // Steps are written out where that makes every address a constant; elsewhere it would only take the compiler longer.
  source.define("STEP", kStep), source.define("STEPS", steps), source.define("UNROLL", slots == steps ? steps : 1);
  source.define("SLOT", slot), source.define("SLOTS", slots), source.define("AHEAD", slots == steps ? steps : slots - 1);
  source.define("GROUPS", groups), source.define("THREADS", choice.warps * 32);
  source.define("RESULT_WIDE", p.result.leading % 4 == 0 && p.result.batch_stride % 4 == 0 && p.m % 4 == 0);
  source.add(tensor_core_product());
  add_product(source, d, p, choice, kClusterProduct, cluster_attribute(choice.parts));
  const std::int64_t shared = 4 * std::max(slots * slot, groups * choice.tile_m * choice.tile_n);
  return {"cluster_product", source.text(), tiles_of(p, choice) * choice.parts, choice.warps * 32, static_cast<std::size_t>(shared)};
}

}  // namespace tegula::gpu
