// Values that are computed element by element, and the words that look along an axis.

#include <algorithm>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/tile/sort_order.h"

namespace tegula::host {
namespace {

DType element_type(const tile::Type& type) { return type.pointer ? DType::i64 : type.dtype; }

/// Row-major, 0 for axes of one element.
Strides view_strides(const Shape& shape) {
  Strides strides = dense_strides(shape);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) strides[i] = 0;
  }
  return strides;
}

std::string tile_name(int tile) { return "t" + std::to_string(tile); }

}  // namespace

Source Compiler::source(Id id) {
  const std::size_t bytes = size_of(element_type(type(id)));
  if (form(id).kind == Kind::Uniform) return {address_of(slot_of(form(id).scalar)), -1, Dims::filled(type(id).shape.rank(), 0), bytes};
  const View view = in_memory(id);
  return {state_.tiles[static_cast<std::size_t>(view.tile)].slot, view.tile, view.strides, bytes};
}

/// The tile of a value, made at its first use where the value was not computed as one.
View Compiler::in_memory(Id id) {
  const auto i = static_cast<std::size_t>(id);
  if (state_.forms[i].kind == Kind::Dense) return state_.forms[i].view;
  if (state_.dense[i].kind == Kind::Dense) return state_.dense[i].view;
  const View view = materialise(form(id), type(id));
  state_.dense[i] = dense(view);
  // Boxes and indices are written outside of the loops they do not depend on: see materialise().
  state_.dense_log.emplace_back(state_.tiles[static_cast<std::size_t>(view.tile)].region, id);
  return view;
}

View Compiler::materialise(const Form& form, const tile::Type& type) {
  const DType dtype = element_type(type);
  const Shape shape = type.shape.empty() ? Shape{1} : type.shape;
  const int out = new_tile(dtype, shape);
  Tile& tile = state_.tiles.back();
  tile.region = current_region();
  if (form.kind == Kind::Uniform) {
    copy({address_of(slot_of(form.scalar)), -1, Dims::filled(shape.rank(), 0), size_of(dtype)}, shape, dtype, out);
    return {out, view_strides(shape)};
  }
  IndexStep step;
  std::vector<int> reads;
  int level = 0;
  step.rank = shape.rank();
  step.out = tile.slot;
  const auto slot = [&](const Scalar& scalar) {
    level = std::max(level, scalar.level);
    return slot_of(scalar);
  };
  for (int i = 0; i < step.rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    step.size[i] = shape[i];
    step.low[i] = form.low[k].set ? slot(form.low[k].value) : -1;
    step.high[i] = form.high[k].set ? slot(form.high[k].value) : -1;
    if (form.kind == Kind::Affine) step.stride[i] = slot(form.stride[k]);
  }
  if (form.kind == Kind::Affine) {
    step.base = slot(form.base);
    if (form.offset.tile >= 0) {
      reads.push_back(form.offset.tile);
      step.offset = state_.tiles[static_cast<std::size_t>(form.offset.tile)].slot;
      for (int i = 0; i < step.rank; ++i) step.offset_stride[i] = form.offset.strides[i] * 8;
      step.scale = form.scale;
    }
  }
  constexpr std::int64_t kLargestKept = 16 << 10;  // bytes of scratch that stay taken for a whole launch
  int region = reads.empty() ? level / 2 : current_region();
  if (region == 0 && tile.bytes() > kLargestKept) region = 1;
  tile.pinned = region == 0;
  tile.region = region;
  emit(2 * region + 1, form.kind == Kind::Box ? write_box : write_indices, step, std::move(reads), {out},
       tile_name(out) + (form.kind == Kind::Box ? " = box" : " = indices") + to_string(shape));
  return {out, view_strides(shape)};
}

void Compiler::copy(const Source& from, const Shape& shape, DType dtype, int tile) {
  Form pointer = uniform({false, 0, from.slot, body_level()});
  BlockStep step = block(pointer, {}, shape);
  for (int i = 0; i < shape.rank(); ++i) step.stride[i] = slot_of(known(from.strides[i] * static_cast<std::int64_t>(from.bytes)));
  step.rows = step.fill_rows = &load_rows(dtype);
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (int i = shape.rank() - 1; i >= 0; --i) step.tile_stride[i] = bytes, bytes *= shape[i];
  step.tile = state_.tiles[static_cast<std::size_t>(tile)].slot;
  step.home = state_.tiles[static_cast<std::size_t>(tile)].home;
  std::vector<int> reads;
  if (from.tile >= 0) reads.push_back(from.tile);
  emit(body_level(), load_block, step, std::move(reads), {tile},
       tile_name(tile) + " = copy " + (from.tile >= 0 ? tile_name(from.tile) : "scalar") + to_string(shape));
}

View Compiler::contiguous(const View& view, const Shape& shape, DType dtype) {
  const Strides wanted = view_strides(shape);
  if (view.strides == wanted) return view;
  const int out = new_tile(dtype, shape);
  state_.tiles.back().region = current_region();
  copy({state_.tiles[static_cast<std::size_t>(view.tile)].slot, view.tile, view.strides, size_of(dtype)}, shape, dtype, out);
  return {out, wanted};
}

View Compiler::contiguous(Id id) {
  const Shape shape = type(id).shape.empty() ? Shape{1} : type(id).shape;
  View view = in_memory(id);
  if (type(id).shape.empty()) view.strides = {0};
  return contiguous(view, shape, element_type(type(id)));
}

/// One elementwise step. Axes along which no operand changes are left out and become broadcast axes of the result.
View Compiler::map(int word, DType from, DType to, const Shape& shape, std::vector<Source> sources, const std::vector<DType>& dtypes,
                   std::int64_t attribute, const std::string& text) {
  const MapTable* table = find_map(word, from, word == static_cast<int>(Word::Narrow) ? static_cast<DType>(attribute) : to);
  if (table == nullptr) return {};
  Shape reduced = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::all_of(sources.begin(), sources.end(), [&](const Source& s) { return s.strides[i] == 0; })) reduced[i] = 1;
  }

  // Axes that run through for every operand are joined; two are left at most: rows and columns.
  struct Loop {
    std::int64_t size;
    std::vector<std::int64_t> strides;
  };
  const auto loops_of = [&] {
    std::vector<Loop> loops;
    for (int i = reduced.rank() - 1; i >= 0; --i) {
      if (reduced[i] == 1) continue;
      Loop loop{reduced[i], {}};
      for (const Source& s : sources) loop.strides.push_back(s.strides[i]);
      const auto continues = [&] {
        for (std::size_t k = 0; k < sources.size(); ++k) {
          if (loop.strides[k] != loops.back().strides[k] * loops.back().size) return false;
        }
        return true;
      };
      if (!loops.empty() && continues()) loops.back().size *= loop.size;
      else loops.push_back(std::move(loop));
    }
    return loops;  // innermost first
  };
  const auto copy_source = [&](std::size_t k) {
    const int tile = new_tile(dtypes[k], reduced);
    state_.tiles.back().region = current_region();
    copy(sources[k], reduced, dtypes[k], tile);
    sources[k] = {state_.tiles[static_cast<std::size_t>(tile)].slot, tile, view_strides(reduced), sources[k].bytes};
  };
  std::vector<Loop> loops = loops_of();
  const Strides wanted = view_strides(reduced);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const bool odd = !loops.empty() && loops[0].strides[k] != 0 && loops[0].strides[k] != 1;
    if (odd || (loops.size() > 2 && sources[k].tile >= 0 && !(sources[k].strides == wanted))) copy_source(k);
  }
  loops = loops_of();
  if (loops.size() > 2) {
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!(sources[k].strides == wanted)) copy_source(k);
    }
    loops = loops_of();
  }

  const int out = new_tile(to, reduced);
  state_.tiles.back().region = current_region();
  MapStep step;
  const std::int64_t columns = loops.empty() ? 1 : loops[0].size, rows = loops.size() < 2 ? 1 : loops[1].size;
  step.rows = slot_of(known(rows)), step.columns = slot_of(known(columns));
  step.out = state_.tiles[static_cast<std::size_t>(out)].slot;
  step.out_row = static_cast<std::int32_t>(columns * static_cast<std::int64_t>(size_of(to)));
  step.attribute = static_cast<std::int32_t>(attribute);
  unsigned pattern = 0;
  std::vector<int> reads;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    step.in[k] = sources[k].slot;
    step.advances[k] = loops.empty() ? 1 : static_cast<std::int32_t>(loops[0].strides[k]);
    step.row[k] = loops.size() < 2 ? 0 : static_cast<std::int32_t>(loops[1].strides[k] * static_cast<std::int64_t>(sources[k].bytes));
    pattern |= static_cast<unsigned>(step.advances[k]) << k;
    if (sources[k].tile >= 0) reads.push_back(sources[k].tile);
  }
  std::string line = tile_name(out) + " = " + text;
  for (const Source& s : sources) line += s.tile >= 0 ? " " + tile_name(s.tile) : " scalar";
  emit(body_level(), table->run[pattern], step, std::move(reads), {out}, line + " " + std::to_string(rows) + "x" + std::to_string(columns))
      .kind = Item::Kind::Map;
  return {out, wanted};
}

/// An elementwise word on scalars.
Form Compiler::uniform_word(const Instruction& self) {
  std::vector<Scalar> x;
  bool integers = !is_float(self.type.dtype);
  int level = 0;
  for (const Id id : self.operands) {
    x.push_back(form(id).scalar);
    integers = integers && !is_float(type(id).dtype);
    level = std::max(level, x.back().level);
  }
  const DType from = type(self.operands.back()).dtype, to = self.type.dtype;
  const std::string text(tile::name(self.word));
  if (self.word == Word::Select) {
    if (x[0].known) return uniform(x[x[0].value ? 1 : 2]);
    return uniform(scalar_step(find_scalar(self.word, to), x[0], x[1], x[2], text.c_str()));
  }
  if (integers && self.word == Word::Cast) {
    if (to == DType::boolean) return uniform(scalar_word(Word::Ne, x[0], known(0)));
    return from == DType::boolean ? uniform(x[0]) : extended(x[0], to);
  }
  if (const Run run = integers ? find_scalar(self.word, from) : nullptr; run != nullptr) {
    if (from == DType::i64) return uniform(scalar_word(self.word, x[0], x.size() > 1 ? x[1] : known(0)));
    return uniform(scalar_step(run, x[0], x.size() > 1 ? x[1] : known(0), known(0), text.c_str()));
  }

  // The vector word, on one element.
  const MapTable* table = find_map(static_cast<int>(self.word), self.word == Word::Select ? to : from,
                                   self.word == Word::Narrow ? static_cast<DType>(self.attribute) : to);
  if (table == nullptr) refuse(self);
  MapStep step;
  const Scalar result = fresh_scalar(level);
  step.rows = step.columns = slot_of(known(1));
  step.out = address_of(result.slot);
  std::string line = "s" + std::to_string(result.slot) + " = " + text;
  for (std::size_t k = 0; k < x.size(); ++k) {
    step.in[k] = address_of(slot_of(x[k]));
    step.advances[k] = 1;
    line += " s" + std::to_string(slot_of(x[k]));
  }
  emit(level, table->run[(1u << x.size()) - 1], step, {}, {}, line).scalar = result.slot;
  return extended(result, to);
}

/// One value per row compared with the number of the column: one element of the row is true at most, and no indices are needed.
std::optional<Form> Compiler::marks(const Instruction& self) {
  const Shape& shape = self.type.shape;
  if (self.word != Word::Eq || shape.rank() != 2 || type(self.operands[0]).dtype != DType::i64 || type(self.operands[0]).pointer)
    return std::nullopt;
  Id value = self.operands[0], index = self.operands[1];
  if (form(index).kind != Kind::Affine) std::swap(value, index);
  const Form &v = form(value), &i = form(index);
  if (i.kind != Kind::Affine || i.offset.tile >= 0 || !is_zero(i.stride[0]) || !i.stride[1].known || i.stride[1].value != 1)
    return std::nullopt;
  if (v.kind != Kind::Dense || v.view.strides.rank() != 2 || v.view.strides[1] != 0) return std::nullopt;
  const Source in = source(value);
  const int out = new_tile(DType::boolean, shape);
  state_.tiles.back().region = current_region();
  MarkStep step;
  step.base = slot_of(i.base), step.in = in.slot, step.out = state_.tiles.back().slot;
  step.rows = shape[0], step.columns = shape[1];
  step.in_row = in.strides[0] * static_cast<std::int64_t>(in.bytes);
  emit(body_level(), mark_equal, step, {in.tile}, {out}, tile_name(out) + " = mark " + tile_name(in.tile) + " " + to_string(shape));
  return dense({out, view_strides(shape)});
}

Form Compiler::elementwise(Id id) {
  const Instruction& self = program_[id];
  if (self.type.pointer) return move_pointer(self);
  const auto all_uniform = [&](const Instruction& x) {
    return std::all_of(x.operands.begin(), x.operands.end(), [&](Id operand) { return form(operand).kind == Kind::Uniform; });
  };
  const auto& users = users_[static_cast<std::size_t>(id)];
  if (users.size() == 1 && users[0] >= 0 && fused_[static_cast<std::size_t>(users[0])] == id) {
    if (!all_uniform(self)) {
      Form deferred;
      deferred.kind = Kind::Deferred;
      return deferred;
    }
    fused_[static_cast<std::size_t>(users[0])] = -1;
  }
  if (all_uniform(self)) return uniform_word(self);
  if (auto form = affine_word(self)) return *form;
  if (auto form = compare_box(self)) return *form;
  if (auto form = boolean_box(self)) return *form;
  if (fused_[static_cast<std::size_t>(id)] < 0) {
    if (auto form = marks(self)) return *form;
  }

  int word = static_cast<int>(self.word);
  std::vector<Id> operands = self.operands;
  std::string text(tile::name(self.word));
  if (const Id inner = fused_[static_cast<std::size_t>(id)]; inner >= 0) {
    const auto& first = program_[inner].operands;
    if (self.word == Word::Select) {
      const Word compare = program_[inner].word;
      const bool turned = compare == Word::Gt || compare == Word::Ge;
      operands = {first[turned ? 1 : 0], first[turned ? 0 : 1], self.operands[1], self.operands[2]};
      word = static_cast<int>(select_by(compare));
      text += "_" + std::string(tile::name(compare));
    } else {
      const bool second = self.operands[1] == inner;
      operands = {first[0], first[1], self.operands[second ? 0 : 1]};
      word = static_cast<int>(self.word == Word::Add ? Fused::MultiplyAdd : second ? Fused::SubtractProduct : Fused::MultiplySubtract);
      text += "_mul";
    }
  }
  std::vector<Source> sources;
  std::vector<DType> dtypes;
  for (const Id operand : operands) {
    sources.push_back(source(operand));
    if (type(operand).shape.empty()) sources.back().strides = Dims::filled(self.type.shape.rank(), 0);
    dtypes.push_back(type(operand).dtype);
  }
  const View view = map(word, dtypes.back(), self.type.dtype, self.type.shape, std::move(sources), dtypes, self.attribute, text);
  if (view.tile < 0) refuse(self);
  return dense(view);
}

Form Compiler::across(const Instruction& self) {
  const Shape& shape = type(self.operands[0]).shape;
  const DType dtype = type(self.operands[0]).dtype;
  const View in = contiguous(self.operands[0]);
  const int axis = static_cast<int>(self.attribute);
  AcrossStep step;
  std::int64_t outer = 1;
  step.inner = 1;
  step.length = shape[axis];
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) step.inner *= shape[i];
  step.outer = slot_of(known(outer));
  const tile::SortOrder order = tile::SortOrder::of(self);
  step.descending = static_cast<std::int32_t>(order.descending);
  step.ordered = static_cast<std::int32_t>(order.ordered);
  std::vector<int> writes;
  if (self.word == Word::Sort || self.word == Word::ArgSort) {
    const int scratch = new_tile(DType::i64, {4 * step.length});
    state_.tiles.back().region = current_region();
    step.scratch = state_.tiles.back().slot;
    writes.push_back(scratch);
  }
  const int out = new_tile(self.type.dtype, self.type.shape);
  state_.tiles.back().region = current_region();
  writes.push_back(out);
  step.in = state_.tiles[static_cast<std::size_t>(in.tile)].slot;
  step.out = state_.tiles[static_cast<std::size_t>(out)].slot;
  const Run run = self.word == Word::Reduce      ? find_reduce(self.kind, dtype)
                  : self.word == Word::Scan      ? find_scan(self.kind, dtype)
                  : self.word == Word::ArgReduce ? find_arg_reduce(self.kind, dtype)
                  : self.word == Word::Sort      ? find_sort(dtype)
                                                 : find_argsort(dtype);
  if (run == nullptr) refuse(self);
  Item& item = emit(body_level(), run, step, {in.tile}, std::move(writes),
                    tile_name(out) + " = " + std::string(tile::name(self.word)) + " " + tile_name(in.tile) + " " + std::to_string(outer) +
                        "x" + std::to_string(step.length) + "x" + std::to_string(step.inner));
  item.kind = Item::Kind::Across;
  item.continues = self.word == Word::Reduce;
  return dense({out, view_strides(self.type.shape)});
}

}  // namespace tegula::host
