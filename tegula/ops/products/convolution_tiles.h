#pragma once
// Convolution of channels-last images over two spatial axes as tile programs: a product whose terms are windows, which are read where they lie.

#include <optional>
#include <span>
#include <vector>

#include "tegula/graph/in_tiles.h"
#include "tegula/graph/tensor.h"
#include "tegula/ops/products/convolution_problem.h"
#include "tegula/runtime/call_description.h"

namespace tegula::ops {

/// Sums of a program instance: a block of pixels of some images, by channels; the pixels' number is a power of two, and so are its factors. For weights'
/// gradients:
/// channels of the gradient by those of the images, and `images`, `rows` and `columns` are terms.
struct ConvolutionTile {
  std::int64_t images = 1, rows = 8, columns = 16, channels = 128;
  std::int64_t terms = 64;  // of an iteration; of weights' gradients the images' channels
  std::int64_t splits = 1;  // of weights' gradients: parts of the pixels, each with a sum, which are added in their order
  int stages = 0;  // of the loop; 0: the generator decides
  std::optional<bool> specialize = {};  // the loop's warp_specialize
  bool operator==(const ConvolutionTile&) const = default;
};

/// Returns true if these programs do it: two spatial axes, f16 or bf16, one group, channels that are multiples of 8; for images' gradients a dilation of 1
/// along axes that have a stride.
bool describes_convolution_tiles(runtime::ConvolutionPass pass, const Window& window, std::int64_t groups, DType dtype, const Shape& x,
                                 const Shape& weight);
/// The tile for these sizes: as few pixels as possible beyond the images, tiles of 128 x 128 where there are enough for all multiprocessors, else smaller ones.
/// `instances`: how many keep a device busy.
ConvolutionTile choose_convolution_tile(runtime::ConvolutionPass pass, const Window& window, const Shape& x, const Shape& weight,
                                        const Shape& y, std::int64_t instances);

/// The op of one such program, over (N, rows, columns, C) and (O, rows, columns, C).
Ref<const Op> convolution_tiles_op(runtime::ConvolutionPass pass, const Window& window, const ConvolutionTile& tile,
                                   const runtime::Expression& epilogue);

/// The programs for a convolution whose images lie channels-last, and its weight, too; the weight's gradient may also lie in rows of taps. The chosen tile first.
std::vector<TileWay> convolution_ways(const runtime::Convolution& call, const Window& window, const InTiles::Operands& operands,
                                      std::int64_t instances);

/// The sum of the pass over (a, b), as the convolution's LibraryOp has it: Forward (x, w) -> y, BackwardData (y, w) -> x, BackwardWeight (x, y) -> w; shapes are
/// (N, C, spatial…) and (O, I, window…), `shape` is the result's. Sums are f32. In Forward `epilogue` makes the result of each sum; `read` are its vectors by
/// channel and tensors of the result's shape, in their order. In weights' gradients a block that goes beyond the images has terms of zeros times elements near
/// the images' ends: where these are infinite or NaN, a tap may be NaN that does not see them.
Tensor convolution_tiles(runtime::ConvolutionPass pass, const Window& window, const Tensor& a, const Tensor& b, const Shape& shape,
                         const ConvolutionTile& tile, const runtime::Expression& epilogue = {}, std::span<const Tensor> read = {});

}  // namespace tegula::ops
