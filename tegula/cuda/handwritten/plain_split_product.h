#pragma once
// Small products in f32 as one kernel of our own: where a product is over before a large tile has begun, its time is that of starting it,
// and a second kernel that adds up the parts of a split sum doubles it. The inner axis is split over the blocks of a cluster, which add
// their parts through each other's shared memory.

#include <optional>
#include <string>
#include <vector>

#include "tegula/cuda/blas/blas_layout.h"
#include "tegula/cuda/handwritten/plain_kernels.h"
#include "tegula/simt/card.h"

namespace tegula::gpu {

class PlainSource;

/// The cut of a product; `parts` blocks share one tile of the result.
struct SplitChoice {
  int tile_m = 32, tile_n = 32;
  int parts = 1;
  int warps = 0;  // of a block, on tensor cores (plain_tensor_product.h, plain_cluster_product.h); 0: without them
  bool is_large() const { return tile_m * tile_n > 1024; }  // of plain_cluster_product.h
  std::string text() const;
  static std::optional<SplitChoice> from(const std::string& text);
  bool operator==(const SplitChoice&) const = default;
};

/// The cuts that are worth trying; none where the product is not small, not f32, or (parts > 1) the card has no clusters.
std::vector<SplitChoice> split_choices(const runtime::Matmul& d, const BlasProduct& p, const Card& card);

/// The seconds of a call in f32 (as TF32) and in halves, casts not counted: small products are slower in halves.
struct Price {
  double in_f32 = 0, in_halves = 0;
};
/// The price of a product of f32 that lies so. A product that is cut so begins sooner in f32 than a call of cuBLASLt's in halves. Where neither operand nor the
/// result has rows that would begin at multiples of 16 bytes as halves, cuBLASLt reads these one by one.
Price price_product(runtime::Matmul description, const Card& card);
/// The price of a convolution by its operations and by how many elements it reads and gives.
Price price_convolution(double operations, double elements);

/// Defines NAME_LEADING, NAME_BATCH, NAME_INNER (the inner axis is contiguous) and NAME_WIDE (neighbours can be read four at a time).
void define_operand(PlainSource& source, const std::string& name, const BlasMatrix& x, bool along_inner);

/// The number of tiles that the result is cut into, those of a batch together.
std::int64_t tiles_of(const BlasProduct& p, const SplitChoice& choice);
/// The attribute of a kernel whose clusters have this number of blocks.
std::string cluster_attribute(int blocks);

/// Adds the text of a kernel that multiplies so, behind what such kernels share: sizes (M, TILE_M, TILES_M …), both operands, and
/// store_result, which stores what finished(m, n, sum) makes of a sum: with the bias, under the activation. In the kernel's text @BIAS@ is the
/// parameter for the bias, where there is one, and @ADDED@ that argument.
void add_product(PlainSource& source, const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice, const char* kernel,
                 const std::string& attributes = "");

/// (left, right[, bias], result) with left and right as in BlasProduct. Without tensor cores sums are IEEE f32; their order is fixed by the
/// choice. Addresses are multiples of 16 bytes.
PlainKernel split_product_kernel(const runtime::Matmul& d, const BlasProduct& p, const SplitChoice& choice);

}  // namespace tegula::gpu
