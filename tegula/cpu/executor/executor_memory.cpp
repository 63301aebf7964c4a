// Load, Store, and atomic additions whose old values nobody takes.

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

constexpr std::int64_t kWorthFetching = 512;  // bytes of a load that are fetched ahead

/// Scalars are moved as tiles of one element.
Shape block_shape(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

Strides byte_strides(const Shape& shape, std::size_t bytes) {
  Strides strides = dense_strides(shape);
  for (auto& stride : strides) stride *= static_cast<std::int64_t>(bytes);
  return strides;
}

}  // namespace

BlockStep Compiler::block(const Form& pointer, const Form& box, const Shape& shape) {
  const Form affine = *as_affine(pointer);
  BlockStep step;
  step.rank = shape.rank();
  step.base = slot_of(affine.base);
  for (int i = 0; i < step.rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    step.stride[i] = slot_of(affine.stride[k]);
    step.size[i] = slot_of(known(shape[i]));
    step.low[i] = box.low[k].set ? slot_of(box.low[k].value) : -1;
    step.high[i] = box.high[k].set ? slot_of(box.high[k].value) : -1;
  }
  return step;
}

GatherStep Compiler::gather(const Form& pointer, const Form& box, const Shape& shape, const std::optional<Source>& mask,
                            std::vector<int>& reads) {
  const BlockStep plain = block(pointer, box, shape);
  GatherStep step;
  step.rank = plain.rank;
  step.base = plain.base;
  step.offset = address_of(slot_of(known(0)));
  step.scale = pointer.scale;
  if (pointer.offset.tile >= 0) {
    step.offset = state_.tiles[static_cast<std::size_t>(pointer.offset.tile)].slot;
    reads.push_back(pointer.offset.tile);
  }
  if (mask) {
    step.mask = mask->slot;
    if (mask->tile >= 0) reads.push_back(mask->tile);
  }
  for (int i = 0; i < step.rank; ++i) {
    step.stride[i] = plain.stride[i], step.low[i] = plain.low[i], step.high[i] = plain.high[i];
    step.size[i] = shape[i];
    if (pointer.offset.tile >= 0) step.offset_stride[i] = pointer.offset.strides[i] * 8;
    if (mask) step.mask_stride[i] = mask->strides[i];
  }
  return step;
}

/// Operand `index` as a box or as a tile of booleans; false when there is no mask.
bool Compiler::mask_bounds(const Instruction& self, std::size_t index, const Shape& shape, Form& box, std::optional<Source>& mask) {
  if (self.operands.size() <= index) return false;
  const Id id = self.operands[index];
  if (form(id).kind == Kind::Uniform) {
    if (form(id).scalar.known && form(id).scalar.value != 0) return false;
    box.high[0] = {true, multiply(form(id).scalar, known(shape[0]))};
  } else if (form(id).kind == Kind::Box) {
    box = form(id);
  } else {
    mask = source(id);
  }
  return true;
}

Form Compiler::load(const Instruction& self) {
  const DType stored = type(self.operands[0]).dtype;
  const DType compute = self.type.dtype;
  const Shape shape = block_shape(self.type.shape);
  const Form pointer = *as_affine(form(self.operands[0]));
  Form box;
  std::optional<Source> mask;
  const bool masked = mask_bounds(self, 1, shape, box, mask);
  std::vector<int> reads, writes;

  // The destination of the elements.
  const bool scalar = self.type.shape.empty();
  Scalar result;
  int out = -1, slot = 0, home = 0;
  if (scalar) {
    result = fresh_scalar(body_level());
    slot = home = address_of(result.slot);
  } else {
    out = new_tile(compute, shape);
    state_.tiles.back().region = current_region();
    slot = state_.tiles.back().slot, home = state_.tiles.back().home;
    writes.push_back(out);
  }
  // The value of masked-off elements: one scalar, or a tile written before the load.
  int fill = masked ? slot_of(known(0)) : -1;
  bool prefilled = false;
  if (masked && self.operands.size() > 2) {
    if (form(self.operands[2]).kind == Kind::Uniform) {
      fill = slot_of(form(self.operands[2]).scalar);
    } else {
      copy(source(self.operands[2]), shape, compute, out);
      fill = -1;
      prefilled = true;
    }
  }
  const std::string text = (scalar ? "s" + std::to_string(result.slot) : "t" + std::to_string(out)) + " = load " +
                           std::string(tegula::name(stored)) + to_string(self.type.shape);
  if (pointer.offset.tile >= 0 || mask) {
    GatherStep step = gather(pointer, box, shape, mask, reads);
    step.rows = &load_rows(stored), step.fill_rows = &load_rows(compute);
    step.tile = home;
    step.fill = fill;
    const Strides strides = byte_strides(shape, size_of(compute));
    for (int i = 0; i < shape.rank(); ++i) step.tile_stride[i] = strides[i];
    Item& item = emit(body_level(), load_gather, step, std::move(reads), std::move(writes), text + " gathered");
    item.kind = Item::Kind::Gather;
    item.scalar = result.slot;
  } else {
    BlockStep step = block(pointer, box, shape);
    step.rows = &load_rows(stored), step.fill_rows = &load_rows(compute);
    step.tile = slot, step.home = home;
    step.fill = fill;
    step.in_place = options_.in_place && !scalar && stored == compute && !prefilled;
    if (!scalar && numel(shape) * static_cast<std::int64_t>(size_of(stored)) >= kWorthFetching) {
      step.last = new_slot();
      code_.load_bytes += numel(shape) * static_cast<std::int64_t>(size_of(stored)) * (current_region() > 1 ? 16 : 1);
    }
    const Strides strides = byte_strides(shape, size_of(compute));
    for (int i = 0; i < shape.rank(); ++i) step.tile_stride[i] = strides[i];
    Item& item = emit(body_level(), load_block, step, {}, std::move(writes), text + (masked ? " masked" : ""));
    item.kind = Item::Kind::Load;
    item.scalar = result.slot;
    item.root = pointer.root;
  }
  if (!scalar) {
    View view{out, dense_strides(shape)};
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) view.strides[i] = 0;
    }
    return dense(view);
  }
  return extended(result, compute);
}

/// A store, or an atomic addition without a result.
void Compiler::store(const Instruction& self) {
  const DType stored = type(self.operands[0]).dtype;
  const Shape shape = block_shape(type(self.operands[0]).shape);
  const Form pointer = *as_affine(form(self.operands[0]));
  Form box;
  std::optional<Source> mask;
  mask_bounds(self, 2, shape, box, mask);
  Source value = source(self.operands[1]);
  if (value.strides.rank() != shape.rank()) value.strides = Dims::filled(shape.rank(), 0);
  std::vector<int> reads;
  if (value.tile >= 0) reads.push_back(value.tile);
  const std::string text = std::string(tile::name(self.word)) + " " + (value.tile >= 0 ? "t" + std::to_string(value.tile) : "scalar") +
                           " " + std::string(tegula::name(stored)) + to_string(shape);
  const auto bytes = static_cast<std::int64_t>(size_of(tile::compute_type(stored)));
  const bool adds = self.word == Word::Atomic;
  if (adds || pointer.offset.tile >= 0 || mask) {
    GatherStep step = gather(pointer, box, shape, mask, reads);
    step.rows = &store_rows(stored);
    step.tile = value.slot;
    for (int i = 0; i < shape.rank(); ++i) step.tile_stride[i] = value.strides[i] * bytes;
    emit(body_level(), adds ? add_scatter : store_scatter, step, std::move(reads), {}, text + " scattered").kind = Item::Kind::Scatter;
    return;
  }
  BlockStep step = block(pointer, box, shape);
  step.rows = &store_rows(stored);
  step.tile = value.slot;
  if (value.tile >= 0) {
    const Tile& tile = state_.tiles[static_cast<std::size_t>(value.tile)];
    step.home = tile.home;
    Strides whole = dense_strides(shape);
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 1) whole[i] = 0;
    }
    step.in_place =
        options_.in_place && stored == tile::compute_type(stored) && value.strides == whole && numel(tile.shape) == numel(shape);
  }
  for (int i = 0; i < shape.rank(); ++i) step.tile_stride[i] = value.strides[i] * bytes;
  // The number of rows that are stored, for limit_rows().
  int limit = -1;
  if (box.high[0].set && !box.low[0].set && box.high[0].value.level <= 2 && value.tile >= 0) {
    const Scalar rows = scalar_word(Word::Max, scalar_word(Word::Min, box.high[0].value, known(shape[0])), known(0));
    limit = slot_of(rows);
  }
  Item& item = emit(body_level(), store_block, step, std::move(reads), {}, text);
  item.limit = limit;
  item.kind = Item::Kind::Store;
  item.root = pointer.root;
}

}  // namespace tegula::host
