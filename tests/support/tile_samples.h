#pragma once
// Tile programs that stand for every way in which the generator writes a kernel, each with arguments to run it on.

#include <string>
#include <vector>

#include "tegula/simt/codegen.h"
#include "tests/support/executor_support.h"

namespace tegula::gpu {

inline double wave(std::size_t i) { return static_cast<double>(i * 37 % 101) / 16.0 - 3; }
/// Whole numbers: the powers of two of them add up exactly, in any order.
inline double whole(std::size_t i) { return static_cast<double>(i * 37 % 7) - 3; }

struct Shape2 {
  std::int64_t rows, columns;
};

/// Softmax, to base 2, of rows at a distance of `pitch` elements; a tile holds `rows`.
tile::Program softmax(Shape2 tile, DType dtype);
/// The same for tiles of a few rows, and the place of a column of each row beside them.
tile::Program weighted_rows(Shape2 tile, DType dtype);
/// Sums of columns, rows in chunks: every thread adds its own share, the threads meet once.
tile::Program column_sums(std::int64_t rows, std::int64_t columns);
/// A row times its softmax to base 2 and a weight, and the row's sum of squares: three passes and a load that one of them needs.
tile::Program weighted_softmax(std::int64_t columns, DType dtype);
/// The work of a norm's gradients: walks over rows; two sums along each row go into its results, and two sums of each column are kept.
tile::Program walked_rows(std::int64_t rows, std::int64_t columns, DType dtype);

constexpr std::int64_t kProductRows = 24, kProductColumns = 40;
/// y[c] = Σ x[r] * w[r, c] + b[c], as a product of one row, an instance for each `kProductColumns` columns.
tile::Program product_of_a_row(DType dtype, bool unwritten);

struct Tile3 {
  std::int64_t m, n, k;
};
/// c = a · b of (M, K) and (K, N), a tile of c an instance. Pointers that are `carried` move along k from turn to turn, as in Triton's kernels.
tile::Program tiled_product(Tile3 tile, DType stored, bool carried);

/// A program and a launch of it; several grids are several argument sets.
struct Sample {
  std::string name;
  tile::Program program;
  std::vector<host::TestArgument> arguments;
  host::RunOptions run = {};
  bool guarded = false;
};
std::vector<Sample> samples();
/// The samples of tile_word_samples.cpp, which are among them.
std::vector<Sample> word_samples();

}  // namespace tegula::gpu
