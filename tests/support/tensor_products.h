#pragma once
// Products of tiles as tensor cores do them: programs of all the ways in which operands come, for tests.

#include <string>

#include "tests/support/tile_samples.h"

namespace tegula::gpu {

/// The way of an operand to its product.
enum class From : std::uint8_t {
  Rows,        // (M, K) or (K, N) as it lies in memory
  Columns,     // the same tile of what lies in memory the other way round: by its pointers
  Transposed,  // of what lies the other way round: transposed as a tile
  Computed,    // computed, and rounded to the dtype
};
struct TensorProduct {
  Tile3 tile{32, 32, 32};
  DType stored = bf16, out = f32;
  From a = From::Rows, b = From::Rows;
  bool doubled = false;  // an epilogue: 2 x + the column's number
  bool added = false;    // the sums are added behind each product, as Triton's tutorial has it
  int stages = 0;        // num_stages of the loop
  bool boxes = true;     // false: masks have a condition more, so that threads copy what the copy engine could bring
  int imprecise = 0;     // max_num_imprecise_acc
  bool roles = false;    // warp_specialize of the loop
  int warps = 0;         // num_warps of the loop
  bool bulk = false;     // results are stored by the copy engine
  int blocks = 0;        // num_ctas of the loop
};

inline std::string name_of(const TensorProduct& p) {
  const char* const ways[] = {"rows", "columns", "transposed", "computed"};
  return std::to_string(p.tile.m) + "x" + std::to_string(p.tile.n) + "x" + std::to_string(p.tile.k) + "_" + std::string(name(p.stored)) +
         "_" + std::string(name(p.out)) + "_" + ways[static_cast<std::size_t>(p.a)] + "_" + ways[static_cast<std::size_t>(p.b)] +
         (p.doubled ? "_doubled" : "") + (p.added ? "_added" : "") + (p.stages > 0 ? "_stages" + std::to_string(p.stages) : "") +
         (p.boxes ? "" : "_copied") + (p.imprecise > 0 ? "_by" + std::to_string(p.imprecise) : "") + (p.roles ? "_roles" : "") +
         (p.warps > 0 ? "_warps" + std::to_string(p.warps) : "") + (p.bulk ? "_bulk" : "") +
         (p.blocks > 0 ? "_blocks" + std::to_string(p.blocks) : "");
}

inline tile::Program program_of(const TensorProduct& p) {
  using namespace tile;
  Builder b("product");
  const DType sums = is_float(p.stored) ? f32 : i32;
  const Value pa = b.pointer("in0", p.stored, false), pb = b.pointer("in1", p.stored, false), pc = b.pointer("out2", p.out, true);
  const Value M = b.scalar("n0", i64), N = b.scalar("n1", i64), K = b.scalar("n2", i64);
  const auto count = [&](std::int64_t number) { return b.constant(number, i64); };
  const Value m = b.program_id(0) * count(p.tile.m) + b.arange(0, p.tile.m), n = b.program_id(1) * count(p.tile.n) + b.arange(0, p.tile.n);
  // The tile (x, y) of a matrix of so many columns.
  const auto tile_of = [&](Value pointer, From from, Value x, Value in_x, Value y, Value in_y, Value rows, Value columns) {
    if (from == From::Transposed) return transpose(b.load(pointer + (col(y) * rows + tile::row(x)), col(in_y) && tile::row(in_x)));
    if (from == From::Columns) return b.load(pointer + (tile::row(y) * rows + col(x)), col(in_x) && tile::row(in_y));
    const Value loaded = b.load(pointer + (col(x) * columns + tile::row(y)), col(in_x) && tile::row(in_y));
    return from == From::Computed ? narrow(loaded + loaded, p.stored) : loaded;
  };
  const Value sum = b.for_(
      count(0), K, count(p.tile.k), {b.full({p.tile.m, p.tile.n}, 0, sums)},
      [&](Value at, std::span<const Value> now) -> std::vector<Value> {
        const Value k = at + b.arange(0, p.tile.k), in_k = p.boxes ? k < K : k < K && broadcast(K > count(0), k.shape());
        const Value left = tile_of(pa, p.a, m, m < M, k, in_k, M, K), right = tile_of(pb, p.b, k, in_k, n, n < N, K, N);
        if (p.added) return {now[0] + dot(left, right, b.full({p.tile.m, p.tile.n}, 0, sums))};
        return {b.emit(Word::Dot, now[0].type(), {left.id(), right.id(), now[0].id()}, p.imprecise)};
      },
      p.stages |
          (p.roles           ? 20 << 16
           : p.stored == f32 ? 16 << 16
                             : 0) |
          p.warps << 24 | static_cast<std::int64_t>(p.blocks) << 32)[0];  // as language/control.cpp has it
  const Value result = p.doubled ? sum * 2 + broadcast(tile::row(cast(n, sums)), sum.shape()) : sum;
  const AccessHints how{.cache_modifier = p.bulk ? Cache::Bulk : Cache::Wb};
  b.store(how, pc + (col(m) * N + tile::row(n)), result, col(m < M) && tile::row(n < N));
  return b.finish();
}

/// Operands are whole numbers, whose sums are exact in any order.
inline Sample sample_of(const TensorProduct& p, std::int64_t M, std::int64_t N, std::int64_t K) {
  using host::TestArgument;
  const auto blocks = [](std::int64_t n, std::int64_t each) { return (n + each - 1) / each; };
  const bool natural = p.stored == u8;
  const auto number = [natural](std::size_t i) { return whole(i) + (natural ? 3 : 0); };
  return {name_of(p),
          program_of(p),
          {TestArgument::filled(p.stored, static_cast<std::size_t>(M * K), number),
           TestArgument::filled(p.stored, static_cast<std::size_t>(K * N), [&](std::size_t i) { return number(i * 3 + 1); }),
           TestArgument::empty(p.out, static_cast<std::size_t>(M * N)), TestArgument::scalar(static_cast<double>(M)),
           TestArgument::scalar(static_cast<double>(N)), TestArgument::scalar(static_cast<double>(K))},
          {.grids = {{blocks(M, p.tile.m), blocks(N, p.tile.n), 1}}}};
}

}  // namespace tegula::gpu
