#pragma once
// The SIMD functions behind the steps. Each is looked up once, when a program is compiled, for the best instruction set of the machine.

#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/cpu/executor/executor_bytecode.h"
#include "tegula/tile/ir.h"

namespace tegula::host {

/// Elementwise words that the IR does not have: made by the compiler from two words that follow each other.
enum class Fused : int {
  MultiplyAdd = 256,  // a * b + c, rounded twice
  MultiplySubtract,   // a * b - c
  SubtractProduct,    // c - a * b
  SelectLess,         // a < b ? c : d
  SelectLessEqual,
  SelectEqual,
  SelectNotEqual,
};

/// The word that compares and selects; Gt and Ge have their two first operands exchanged.
constexpr Fused select_by(tile::Word comparison) {
  using tile::Word;
  if (comparison == Word::Lt || comparison == Word::Gt) return Fused::SelectLess;
  if (comparison == Word::Le || comparison == Word::Ge) return Fused::SelectLessEqual;
  return comparison == Word::Eq ? Fused::SelectEqual : Fused::SelectNotEqual;
}

/// The step functions of an elementwise word, by pattern: bit i is set when operand i advances along the row (its step says so in
/// `advances`) and clear when it has one value per row.
struct MapTable {
  Run run[16];
};

/// MapSteps for `word` (a tile::Word or a Fused) on operands of dtype `from`; nullptr when there is none.
const MapTable* find_map(int word, DType from, DType to);

// The parts of find_map, one per source file.
const MapTable* find_float_arithmetic(int word, DType dtype);
const MapTable* find_integer_arithmetic(int word, DType dtype);
const MapTable* find_transcendental(int word, DType dtype);
const MapTable* find_scalar_math(int word, DType dtype);  // through the C library, one element at a time
const MapTable* find_conversion(int word, DType from, DType to);

/// Rows moved between memory (stored dtype) and tiles (compute dtype), in one direction.
struct MoveRows {
  std::int64_t memory_bytes = 0, tile_bytes = 0;  // per element
  bool to_memory = false;
  bool converts = false;                          // the two dtypes differ
  /// count elements, both sides dense.
  void (*dense)(void* to, const void* from, std::int64_t count) = nullptr;
  /// The same past the caches (to memory only).
  void (*streaming)(void* to, const void* from, std::int64_t count) = nullptr;
  /// Any strides, in bytes.
  void (*strided)(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride, std::int64_t count) = nullptr;
  /// count copies of one converted element.
  void (*repeat)(void* to, const void* from, std::int64_t count) = nullptr;
  /// to[r][c] = from[c][r], where neighbours in r are dense in memory and neighbours in c are dense in the tile. For to_memory
  /// the same with the sides exchanged: memory_stride is between neighbours in c, tile_stride between neighbours in r.
  void (*transposed)(void* tile, std::int64_t tile_stride, void* memory, std::int64_t memory_stride, std::int64_t rows,
                     std::int64_t columns) = nullptr;
  /// Element i of the tile and the memory at offset[i]·scale + i·memory_stride; strides in bytes. An element whose mask is given and 0 is skipped.
  void (*indexed)(std::byte* tile, std::int64_t tile_stride, std::byte* memory, std::int64_t memory_stride, const std::byte* offset,
                  std::int64_t offset_stride, std::int64_t scale, const std::byte* mask, std::int64_t mask_stride,
                  std::int64_t count) = nullptr;
  /// The same, adding to memory (atomic additions).
  decltype(indexed) accumulate = nullptr;
};
const MoveRows& load_rows(DType stored);
const MoveRows& store_rows(DType stored);

/// Step functions of an AcrossStep / DotStep / RandomStep.
Run find_reduce(tile::Reduction kind, DType dtype);
Run find_scan(tile::Reduction kind, DType dtype);
Run find_arg_reduce(tile::Reduction kind, DType dtype);
Run find_sort(DType dtype);
Run find_argsort(DType dtype);
Run find_dot(DType dtype);
Run find_random();

}  // namespace tegula::host
