// Finds the products that tensor cores can do, and the elements of their sums that each thread holds.

#include <algorithm>
#include <bit>

#include "tegula/simt/decide/parts.h"
#include "tegula/simt/decide/products.h"
#include "tegula/simt/layouts/linear.h"
#include "tegula/tile/passes/add_into_products.h"

namespace tegula::gpu {

using tile::Id;
using tile::Instruction;
using tile::Program;
using tile::Word;

namespace {

/// The dtype that all elements of the value are numbers of; nothing where that is not known.
std::optional<DType> stored_as(const Program& program, Id id) {
  const Instruction& self = program[id];
  switch (self.word) {
    case Word::Load: {
      const bool zero = self.operands.size() < 3 || tile::is_zero(program, self.operands[2]);
      return zero ? std::optional(program[self.operands[0]].type.dtype) : std::nullopt;
    }
    case Word::Narrow: return static_cast<DType>(self.attribute);
    case Word::Hint:
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose: return stored_as(program, self.operands[0]);
    case Word::Select: {
      const Id a = self.operands[1], b = self.operands[2];
      if (tile::is_zero(program, a)) return stored_as(program, b);
      const auto first = stored_as(program, a);
      return tile::is_zero(program, b) || (first && first == stored_as(program, b)) ? first : std::nullopt;
    }
    default: return std::nullopt;
  }
}

/// Returns true if f32 elements have been rounded to TF32, as language/products.cpp does it: the rounded numbers need no more digits.
bool is_tf32(const Program& program, Id id) {
  const Instruction* self = &program[id];
  while (self->word == Word::Transpose || self->word == Word::Hint) self = &program[self->operands[0]];
  if (self->word != Word::Select || program[self->operands[0]].word != Word::IsNan) return false;
  const Instruction& bits = program[self->operands[2]];
  if (bits.word != Word::Bitcast || program[bits.operands[0]].word != Word::And) return false;
  Id mask = program[bits.operands[0]].operands[1];
  while (program[mask].word == Word::Broadcast) mask = program[mask].operands[0];
  return program[mask].word == Word::Constant && program[mask].integer == -0x2000;
}

bool multiplies(DType dtype, int architecture) {
  return is_half(dtype) ? architecture >= 80 : is_float8(dtype) ? architecture >= 89 : dtype == DType::i8 || dtype == DType::u8;
}

}  // namespace

std::map<Id, DType> tensor_products(const Program& program, int architecture) {
  std::map<Id, DType> all;
  if (architecture < 80) return all;
  for_each_region(program, program.body, [&](const tile::Region& region) {
    for (const Id id : region.body) {
      const Instruction& self = program[id];
      if (self.word != Word::Dot || self.type.shape.rank() != 2) continue;
      auto left = stored_as(program, self.operands[0]), right = stored_as(program, self.operands[1]);
      const bool tf32 = is_tf32(program, self.operands[0]) && is_tf32(program, self.operands[1]);
      if (tf32) left = right = DType::f32;
      if (!left || left != right || !(tf32 || multiplies(*left, architecture))) continue;
      if (self.type.dtype != (is_float(*left) ? DType::f32 : DType::i32)) continue;
      const std::int64_t rows = self.type.shape[0], columns = self.type.shape[1], terms = program[self.operands[0]].type.shape[1];
      const bool fits = simt::is_power_of_two(rows) && simt::is_power_of_two(columns) && simt::is_power_of_two(terms) && rows >= 16 &&
                        columns >= 16 && terms * static_cast<std::int64_t>(size_of(*left)) >= kStepBytes;
      if (fits) all[id] = *left;
    }
  });
  return all;
}

std::int64_t imprecise_terms(const Instruction& dot) { return dot.attribute; }

std::optional<Shape> shape_of_products(const Program& program, int architecture) {
  std::optional<Shape> largest;
  for (const auto& [id, dtype] : tensor_products(program, architecture)) {
    const Shape& shape = program[id].type.shape;
    if (!largest || numel(shape) > numel(*largest)) largest = shape;
  }
  return largest;
}

std::vector<std::int64_t> widths_of_products(const Program& program, const Shape& sums, int architecture) {
  std::set<std::int64_t> widths;
  for (const Instruction& self : program.instructions)
    if ((self.word == Word::Reduce || self.word == Word::ArgReduce) && self.attribute == 0 &&
        program[self.operands[0]].type.shape.rank() == 2)
      return {};
  for (const auto& [id, dtype] : tensor_products(program, architecture)) {
    const Shape& shape = program[id].type.shape;
    if (shape[0] == sums[0] && shape[1] != sums[1]) widths.insert(shape[1]);
  }
  return {widths.begin(), widths.end()};
}

bool merges_axes(const Program& program) {
  return std::ranges::all_of(program.instructions, [&](const Instruction& self) {
    const auto is_deep = [](const Shape& shape) { return shape.rank() > 2; };
    const bool from_deep = std::ranges::any_of(self.operands, [&](Id id) { return is_deep(program[id].type.shape); });
    if (!from_deep && !is_deep(self.type.shape)) return true;
    switch (self.word) {
      case Word::Reshape: return in_two_axes(self.type.shape) == in_two_axes(program[self.operands[0]].type.shape);
      case Word::Constant:
      case Word::Broadcast:
      case Word::ExpandDims:
      case Word::Load:
      case Word::Store: return true;
      default: return tile::is_elementwise(self.word);
    }
  });
}

int warps_wanted(const Program& program, int architecture) {
  unsigned warps = 0;
  const std::map<Id, DType> products = tensor_products(program, architecture);
  for (const Instruction& self : program.instructions) {
    if (self.word != Word::For) continue;
    bool has = false;
    for_each_region(program, self.regions[0], [&](const tile::Region& inner) {
      has = has || std::ranges::any_of(inner.body, [&](Id id) { return products.contains(id); });
    });
    if (has) warps = std::max(warps, static_cast<unsigned>(self.attribute >> 24 & 255));
  }
  return static_cast<int>(std::min(std::bit_floor(warps), 16u));
}

ThreadGrid fragment_grid(const Program& program, const Shape& sums, std::vector<std::int64_t> widths, bool groups, int wanted,
                         const TileParts& parts) {
  constexpr std::int64_t kSumsOfWarp = 64 * 64, kSumsOfFewWarps = 32 * 32, kManySums = 128 * 128;
  const std::int64_t rows = sums[0] / parts.rows, columns = sums[1] / (parts.by_terms ? 1 : parts.columns), count = rows * columns,
                     narrowest = widths.empty() ? columns : std::min(columns, std::ranges::min(widths));
  const bool reduces = std::ranges::any_of(
      program.instructions, [](const Instruction& self) { return self.word == Word::Reduce || self.word == Word::ArgReduce; });
  const std::int64_t most =
      wanted > 0 ? wanted
                 : std::clamp<std::int64_t>(count / (count >= kManySums ? kSumsOfWarp : kSumsOfFewWarps), 1, count >= kManySums ? 8 : 4);
  std::int64_t row_warps = 1, column_warps = 1;
  while (row_warps * column_warps < most) {  // the longer side of a warp's part is cut
    const bool cut_rows = rows / row_warps >= 32, cut_columns = !reduces && narrowest / column_warps >= 32;
    if (cut_rows && (!cut_columns || rows / row_warps >= columns / column_warps)) row_warps *= 2;
    else if (cut_columns) column_warps *= 2;
    else break;
  }
  groups = groups && rows % 64 == 0 && narrowest >= 16 && std::max(columns, widths.empty() ? 0 : std::ranges::max(widths)) <= 256;
  if (groups) row_warps = 4 * std::clamp<std::int64_t>(wanted > 0 ? wanted / 4 : 2, 1, rows / 64), column_warps = 1;
  ThreadGrid grid;
  grid.rows = sums[0], grid.columns = sums[1];
  grid.row_blocks = parts.rows, grid.column_blocks = parts.columns, grid.parts_of_terms = parts.by_terms;
  grid.groups = groups;
  grid.vector = 2;
  grid.widths = std::move(widths);
  grid.lines_are_rows = std::ranges::any_of(program.instructions, [](const Instruction& self) {
    return (self.word == Word::Reduce || self.word == Word::ArgReduce) && self.attribute == 1;
  });
  grid.fragments = true;
  grid.merges_axes = merges_axes(program);
  grid.column_warps = static_cast<int>(column_warps);
  grid.row_threads = static_cast<int>(8 * row_warps), grid.column_threads = static_cast<int>(4 * column_warps);
  grid.row_steps = static_cast<int>(rows / grid.row_threads);
  grid.column_steps = static_cast<int>(columns / (2 * grid.column_threads)) / (parts.by_terms ? parts.columns : 1);
  return grid;
}

}  // namespace tegula::gpu
