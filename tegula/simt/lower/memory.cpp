// Loads, stores, and what else reaches memory.

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/simt/lower/lowering.h"
#include "tegula/tile/access_hints.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

namespace {

constexpr std::int64_t kLastingBytes = 16384;  // of what every row meets: where it is more, the L1 holds little of it beside the rows

Expression least_of(const std::vector<Expression>& limits) {
  Expression least = limits[0];
  for (std::size_t i = 1; i < limits.size(); ++i) least = simt::call("smaller", std::move(least), limits[i]);
  return least;
}

}  // namespace

/// Marks that the next statements touch memory there (passes/place_barriers.h).
void Lowering::touch(Id pointer, bool writes, bool next) {
  add(simt::Touch{.root = a_.root_of(pointer),
                  .pointer = pointer,
                  .writes = writes,
                  .shared_place = held_by_many(spread(pointer)),
                  .steady = reads_unwritten(pointer),
                  .next = next});
}

/// Returns true if every instance reads the same there, and none writes it: not even under another name, as a result in its operand's place does
/// where one instance is all there is.
bool Lowering::is_read_only(Id pointer) const {
  const Form form = a_.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !form.base.is(0)) return false;
  if (a_.program().early && !reads_unwritten(pointer)) return false;  // such loads may be moved across the wait for the launch ahead
  const Id root = a_.root_of(pointer);
  const auto& all = a_.program().instructions;
  return root >= 0 && std::none_of(all.begin(), all.end(), [&](const tile::Instruction& self) {
           if (self.word != Word::Store && self.word != Word::Atomic) return false;
           const Id written = self.operands[0], other = a_.root_of(written);
           return other == root || other < 0 || (a_.affine(written).base.is(0) && !a_.type(written).shape.empty());
         });
}

Expression Lowering::source(Id pointer, Expression text) const {
  if (!is_read_only(pointer)) return text;
  const bool lasting = grid_.columns * static_cast<std::int64_t>(size_of(a_.type(pointer).dtype)) >= kLastingBytes;
  return simt::call(lasting ? "steady<true>" : "steady", std::move(text));
}

Lowering::Access Lowering::access_of(const VectorAccess& vectors, Id pointer, Spread own) {
  const Shape& shape = a_.type(pointer).shape;
  Access access{.pointer = place_in(pointer, own), .wide = vectors.wide, .on = {}, .limits = {}, .whole = vectors.whole};
  for (const Condition& one : vectors.on) access.on.emplace_back(condition(one, own, shape));
  for (const Term& limit : vectors.limits) access.limits.push_back(limit_of(limit) - "col");
  if (!grid_.columns_fit() && !grid_.staged) access.limits.push_back(Expression(grid_.columns) - "col");
  if (own == Spread::Full && !grid_.rows_fit()) access.on.emplace_back(Expression("row") < grid_.rows);
  return access;
}

std::optional<Lowering::Access> Lowering::wide_access(Id pointer, Id mask, Spread own) {
  const auto vectors = vector_access(pointer, mask, own);
  return vectors ? std::optional(access_of(*vectors, pointer, own)) : std::nullopt;
}

Expression Lowering::inside(const Access& access, int count) const {
  When on = simt::all_of(access.on);
  Expression limit = access.limits.empty() ? Expression(count) : least_of(access.limits);
  return on ? simt::choose(*std::move(on), std::move(limit), 0) : limit;
}

/// Loops over the vectors of a tile of places. If the places are computed, the first one of a vector is looked at.
void Lowering::vectors(Id pointer, Spread own, const std::vector<Id>& values, const Body& body) {
  loops(own, a_.type(pointer).shape, Step::Vectors, values, [&] {
    if (!a_.counts_by_hint(pointer)) return body();
    add(simt::Loop{.name = "k", .end = 1, .unroll = 0, .body = block_of(body)});
  });
}

void Lowering::load(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1,
           other = self.operands.size() > 2 ? self.operands[2] : -1;
  const bool direct = decided_.staging.direct.contains(id);
  touch(pointer, false, !direct);
  origin(id);
  if (decided_.products.copied.contains(id)) return copy_tile(id);
  const Spread own = spread(id);
  if (tile::AccessHints::of(self).is_volatile) return load_volatile(id);
  if (direct) return;  // its pass reads it
  if (decided_.staging.staged.contains(id)) return stage(id);
  const Shape& shape = self.type.shape;
  const auto access = other < 0 || spread(other) == Spread::Uniform ? wide_access(pointer, mask, own) : std::nullopt;
  const auto substitute = [&] { return other >= 0 ? element(other, own) : simt::zero(self.type.dtype); };
  if (access) {
    if (const auto held = decided_.held_as.find(id); held != decided_.held_as.end()) {
      simt::Sizes vectors = sizes(own, shape);
      vectors.pop_back();
      declare(variable(id), held->second, vectors);
    } else {
      declare(id);
    }
    return vectors(pointer, own, {}, [&] {
      simt::LoadWide load{.wide = access->wide, .count = grid_.vector, .pointer = with_eviction(id, access->pointer)};
      load.target = simt::held(variable(id), vector_place(own));
      if (!access->limits.empty() || !access->on.empty())
        load.limited = {.limit = inside(*access, grid_.vector), .substitute = substitute(), .whole = access->whole};
      else load.pointer = source(pointer, std::move(load.pointer));
      add(std::move(load));
    });
  }
  if (own != Spread::Uniform) declare(id);
  loops(own, shape, Step::Elements, [&] {
    When on = simt::all_of(mask >= 0 ? When(box_element(a_.box(mask), own, shape)) : When(), inside(own, shape));
    Expression value = simt::load(with_eviction(id, simt::group(place_in(pointer, own))));
    if (on) value = simt::choose(*std::move(on), std::move(value), substitute());
    if (own == Spread::Uniform) let(simt::computed(self.type.dtype), variable(id), std::move(value));
    else assign(held(id, own), std::move(value));
  });
}

/// Returns the pointer with the lines' policy in the L2, if the access names one.
Expression Lowering::with_eviction(Id access, Expression pointer) const {
  switch (tile::AccessHints::of(at(access)).eviction_policy) {
    case tile::Eviction::First: return simt::call("passing", std::move(pointer));
    case tile::Eviction::Last: return simt::call("lasting", std::move(pointer));
    default: return pointer;
  }
}

/// Each element by itself, from memory; of a scalar what the first thread reads holds for all.
void Lowering::load_volatile(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0];
  const Spread own = spread(id);
  declare(id);
  loops(own, self.type.shape, Step::Elements, [&] {
    const When on = simt::all_of(self.operands.size() > 1 ? When(box_element(a_.box(self.operands[1]), own, self.type.shape)) : When(),
                                 inside(own, self.type.shape));
    Expression value = simt::call("widen", simt::call("alone", place_in(pointer, own)));
    if (on)
      value = simt::choose(*on, std::move(value), self.operands.size() > 2 ? element(self.operands[2], own) : simt::zero(self.type.dtype));
    assign(held(id, own), std::move(value));
  });
  if (own == Spread::Uniform) agree(variable(id), self.type.dtype);
}

void Lowering::store(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], value = a_.resolve(self.operands[1]), mask = self.operands.size() > 2 ? self.operands[2] : -1;
  touch(pointer, true);
  origin(id);
  // Computed places may coincide: the last element stays.
  const Form form = a_.affine(pointer);
  const Shape& shape = a_.type(pointer).shape;
  bool may_coincide = form.rest >= 0 && spread(pointer) != Spread::Uniform;
  for (int i = 0; i < shape.rank(); ++i) may_coincide = may_coincide || (shape[i] != 1 && form.stride[static_cast<std::size_t>(i)].is(0));
  if (may_coincide) return write_in_order(id);
  const Spread own = spread(pointer);
  const DType dtype = tile::compute_type(a_.type(pointer).dtype);
  if (grid_.fragments && store_pieces(id, value, mask)) return;
  if (const auto access = wide_access(pointer, mask, own)) {
    const bool in_place = spread(value) == own && has_registers(value);
    return vectors(pointer, own, {value}, [&] {
      simt::StoreWide store{.wide = access->wide, .count = grid_.vector, .pointer = with_eviction(id, access->pointer)};
      store.source = simt::held(variable(value), vector_place(own));
      if (!in_place) {
        store.source = "x";
        declare("x", simt::computed(dtype), {grid_.vector});
        each_of_vector([&] { assign(simt::element("x", "k"), element(value, own)); });
      }
      std::vector<When> conditions = access->on;
      conditions.push_back(acts(own));
      if (access->limits.empty()) store.rows = own == Spread::Full && grid_.row_steps > 1;
      else store.limited = {.limit = least_of(access->limits), .whole = access->whole};
      add({std::move(store), simt::all_of(std::move(conditions))});
    });
  }
  loops(own, shape, Step::Elements, [&] {
    When on = simt::all_of(mask >= 0 ? When(box_element(a_.box(mask), own, shape)) : When(), inside(own, shape), acts(own));
    add({simt::StoreOne{.computed = dtype, .value = element(value, own), .pointer = with_eviction(id, place_in(pointer, own))},
         std::move(on)});
  });
}

/// Halves that lie as tensor cores leave them, in pieces of 16 bytes: of four vectors of two columns that a thread holds, four threads beside each other
/// exchange three each, so that each has eight columns. Else a row's sector would be written in two halves (H200: products of 768 terms, whose results are
/// most of their memory, ran at 0.34 of cuBLAS). False where they do not lie so.
bool Lowering::store_pieces(Id store, Id value, Id mask) {
  constexpr int kColumns = 8;
  const Id pointer = at(store).operands[0];
  const Shape& shape = a_.type(pointer).shape;
  while ((at(value).word == Word::Narrow || at(value).word == Word::Reshape) && renames(value)) value = a_.resolve(at(value).operands[0]);
  const auto vectors = vector_access(pointer, mask, Spread::Full);
  if (spread(pointer) != Spread::Full || spread(value) != Spread::Full || !has_registers(value) || !is_half(a_.type(pointer).dtype) ||
      !vectors || a_.contiguous(pointer) < kColumns || grid_.column_steps_of(shape) % 4 != 0)
    return false;
  if (store_by_boxes(store, value) || store_by_rows(*vectors, pointer, value)) return true;
  const simt::Type number = simt::computed(DType::f32), boolean = simt::computed(DType::boolean), whole = simt::computed(DType::i32);
  const auto bit = [](int mask_of) { return simt::binary(simt::group(simt::binary("q", "&", mask_of)), "!=", 0); };
  /// Returns the one of four numbers whose place is the thread's in its row of four, exclusive or `by`. All are read: for ?: within ?: the compiler would
  /// choose a place to read, and keep the tile in local memory for it (NVRTC 13.0 with --split-compile), where wgmma waits for each of its sums.
  const auto own_of = [](int by, auto&& at) {
    const auto two = [&](int first) { return simt::call("chosen", "odd", at((first + 1) ^ by), at(first ^ by)); };
    return simt::call("chosen", "high", two(2), two(0));
  };
  within({}, [&] {
    let(whole, "q", simt::group(simt::binary(simt::thread_index(), "&", 3)));
    let(boolean, "odd", bit(1));
    let(boolean, "high", bit(2));
    row_loop([&] {
      add(simt::Loop{.name = "c",
                     .end = grid_.column_steps_of(shape) / 4,
                     .unroll = 0,
                     .body = block_of([&] {
                       declare("given", number, {kColumns});
                       declare("x", number, {kColumns});
                       for (int by = 0; by < 4; ++by) {
                         for (int k = 0; k < 2; ++k) {
                           const Expression target = simt::element("given", 2 * by + k);
                           Expression sent =
                               own_of(by, [&](int vector) { return simt::element(variable(value), "r", Expression("c") * 4 + vector, k); });
                           if (by == 0) assign(target, std::move(sent));
                           else add(simt::Shuffle{.target = target, .source = std::move(sent), .distance = by});
                         }
                       }
                       for (int from = 0; from < 4; ++from)
                         for (int k = 0; k < 2; ++k)
                           assign(simt::element("x", 2 * from + k),
                                  own_of(from, [&](int by) { return simt::element("given", 2 * by + k); }));
                       const Expression block = simt::group(Expression("c") * 4 + "q");
                       let(whole, "col", simt::group(block * grid_.column_warps + simt::group(Expression("tc") / 4)) * kColumns);
                       store_piece(*vectors, pointer);
                     })});
    });
  });
  return true;
}

/// The eight elements in `x`, from (row, col) on.
void Lowering::store_piece(const VectorAccess& vectors, Id pointer) {
  constexpr int kColumns = 8;
  const Access access = access_of(vectors, pointer, Spread::Full);
  simt::StoreWide store{.wide = kColumns, .count = kColumns, .pointer = access.pointer, .source = "x"};
  const bool fits = std::ranges::all_of(vectors.limits, [](const Term& limit) { return limit.twos >= 3; });
  if (!access.limits.empty()) store.limited = {.limit = least_of(access.limits), .whole = fits};
  add({std::move(store), simt::all_of(access.on)});
}

/// Through shared memory: every thread goes over all elements in order and takes those whose place belongs to it.
void Lowering::write_in_order(Id id) {
  constexpr std::int64_t kChunk = 2048;
  const tile::Instruction& self = at(id);
  const std::size_t masks = mask_place(self);
  const Id pointer = self.operands[0], value = self.operands[1], mask = self.operands.size() > masks ? self.operands[masks] : -1;
  const std::optional<tile::AtomicKind> changes = self.word == Word::Atomic ? std::optional(tile::Atomic::of(self).kind) : std::nullopt;
  const bool keeps_old = changes && !a_.users(id).empty(), compares = changes == tile::AtomicKind::CompareAndSwap;
  const Spread own = spread(pointer);
  const tile::Type& type = a_.type(pointer);
  const std::int64_t count = numel(type.shape), chunk = std::min(count, kChunk);
  use_shared(static_cast<std::size_t>(chunk) * (compares ? 24 : 16));
  if (keeps_old) declare(id);
  simt::For chunks{.type = simt::computed(DType::i32), .name = "first", .begin = 0, .end = count, .step = chunk, .body = {}, .program = {}};
  chunks.body = block_of([&] {
    let_shared("places", simt::type_of(type));
    let_shared("values", simt::computed(tile::compute_type(type.dtype)), static_cast<std::size_t>(chunk * 8));
    if (compares) let_shared("compared", simt::computed(tile::compute_type(type.dtype)), static_cast<std::size_t>(chunk * 16));
    add(simt::Barrier{.frees_ring = false});
    loops(own, type.shape, Step::Elements, [&] {
      let(simt::computed(DType::i32), "i", linear(own, type.shape) - "first");
      within(simt::all_of(simt::binary("i", ">=", 0), Expression("i") < chunk, inside(own, type.shape), acts(own)), [&] {
        Expression target = place_in(pointer, own);
        if (mask >= 0) target = simt::choose(box_element(a_.box(mask), own, type.shape), std::move(target), "nullptr");
        assign(simt::element("places", "i"), std::move(target));
        assign(simt::element("values", "i"), element(value, own));
        if (compares) assign(simt::element("compared", "i"), element(self.operands[2], own));
      });
    });
    add(simt::Barrier{.frees_ring = false});
    const Expression left = Expression(count) - "first";
    add(simt::WriteInOrder{.changes = changes,
                           .keeps_old = keeps_old,
                           .count = chunk == count ? Expression(count) : simt::call("smaller", chunk, left),
                           .owners = in_turn() ? Expression("owners") : Expression(grid_.threads()),
                           .owner = in_turn() ? "owner" : "threadIdx.x"});
    if (!keeps_old) return;
    add(simt::Barrier{.frees_ring = false});
    const auto take_old = [&] {
      let(simt::computed(DType::i32), "i", linear(own, type.shape) - "first");
      Expression old = simt::element("values", "i");
      if (mask >= 0) old = simt::choose(box_element(a_.box(mask), own, type.shape), std::move(old), simt::zero(self.type.dtype));
      assign(held(id, own), std::move(old), simt::all_of(simt::binary("i", ">=", 0), Expression("i") < chunk, inside(own, type.shape)));
    };
    within({}, [&] { loops(own, type.shape, Step::Elements, take_old); });
  });
  add(std::move(chunks));
}

/// Adds an atomic word. The hardware's words come in any order; all others come in order. Earlier effects of the instance are seen before, if that is asked for
/// and somebody can tell.
void Lowering::atomic(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0];
  const tile::Atomic what = tile::Atomic::of(self);
  touch(pointer, true);
  origin(id);
  if (decided_.order_is_seen && what.releases()) add(simt::Barrier{}), add(simt::Fence{what.scope});
  if (is_free(a_.type(pointer).dtype)) change_freely(id, what);
  else write_in_order(id);
  if (decided_.order_is_seen && what.acquires()) add(simt::Fence{what.scope}), add(simt::Barrier{});
}

/// Blocks that go over all instances in turn each do what belongs to them.
bool Lowering::is_free(DType dtype) const { return tile::is_changed_freely(dtype) && decided_.walkers <= 1; }

void Lowering::change_freely(Id id, const tile::Atomic& what) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0];
  const tile::Type& type = a_.type(pointer);
  const Spread own = spread(pointer);
  const std::size_t masks = mask_place(self);
  const When mask = self.operands.size() > masks ? When(box_element(a_.box(self.operands[masks]), own, type.shape)) : When();
  const bool taken = !a_.users(id).empty(), by_many = taken && held_by_many(own);  // then one of them asks, for all
  const auto change = [&](const When& target) {
    loops(own, type.shape, Step::Elements, [&] {
      const When on = simt::all_of({mask, inside(own, type.shape), acts(own)});
      simt::Atomic atomic{.kind = what.kind,
                          .scope = what.scope,
                          .dtype = type.dtype,
                          .pointer = place_in(pointer, own),
                          .value = element(self.operands[1], own),
                          .compared = {},
                          .target = target};
      if (what.kind == tile::AtomicKind::CompareAndSwap) atomic.compared = element(self.operands[2], own);
      if (taken && !by_many) assign(*target, simt::zero(type.dtype));
      add({std::move(atomic), on});
    });
  };
  if (!taken) return change({});
  declare(id);
  if (!by_many) return change(held(id, own));
  use_shared(static_cast<std::size_t>(numel(type.shape)) * size_of(type.dtype));
  within({}, [&] {
    let_shared("olds", simt::computed(type.dtype));
    const Expression old = simt::element("olds", linear(own, type.shape));
    barrier();
    change(old);
    barrier();
    loops(own, type.shape, Step::Elements,
          [&] { assign(held(id, own), mask ? simt::choose(*mask, old, simt::zero(type.dtype)) : old, inside(own, type.shape)); });
  });
}

void Lowering::check(Id id) {
  const tile::Instruction& self = at(id);
  origin(id);
  const Id wider = numel(a_.type(self.operands[0]).shape) >= numel(a_.type(self.operands[1]).shape) ? self.operands[0] : self.operands[1];
  const Spread own = spread(wider);
  const Shape& shape = a_.type(wider).shape;
  loops(own, shape, Step::Elements, [&] {
    When on = simt::all_of(inside(own, shape), acts(own), simt::unary("!", element(self.operands[0], own)));
    add({simt::Report{.id = self.attribute, .value = element(self.operands[1], own)}, std::move(on)});
  });
}

void Lowering::show(Id id) {
  constexpr std::int64_t kMost = tile::kMostPrinted;
  const tile::Instruction& self = at(id);
  const Id value = self.operands[0];
  origin(id);
  const tile::Type& type = a_.type(value);
  const Spread own = spread(value);
  loops(own, type.shape, Step::Elements, {value}, [&] {
    When on = simt::all_of(inside(own, type.shape), acts(own), numel(type.shape) > kMost ? When(linear(own, type.shape) < kMost) : When());
    if (in_turn()) on = simt::all_of(on, When(simt::binary("blockIdx.x", "==", 0)));  // each block goes over all instances
    const Expression shown = type.pointer ? simt::reinterpret(simt::computed(DType::i64), element(value, own)) : element(value, own);
    add({simt::Show{.word = static_cast<std::int32_t>(self.attribute),
                    .dtype = type.pointer ? DType::i64 : type.dtype,
                    .value = shown,
                    .index = linear(own, type.shape)},
         std::move(on)});
  });
}

/// Four words come from one counter.
void Lowering::random_words(Id id) {
  const tile::Instruction& self = at(id);
  const Spread own = spread(id);
  const Id seed = self.operands[0], index = self.operands[1];
  origin(id);
  declare(id);
  const auto fours = [&] {
    loops(own, self.type.shape, Step::Vectors, [&] {
      const Expression target = simt::held(variable(id), vector_place(own)), first = element(index, own);
      for (int k = 0; k < grid_.vector; k += 4)
        add(simt::Philox{.seed = element(seed, own), .counter = k > 0 ? first + k : first, .target = target + k});
    });
  };
  if (a_.counts_up(index) >= 4) return fours();
  simt::Branch branch{.when = simt::binary(simt::group(simt::binary(expression_of(a_.affine(index).base), "&", 3)), "==", 0),
                      .then = block_of(fours)};
  branch.otherwise = block_of([&] { loops(own, self.type.shape, Step::Elements, [&] { assign(held(id, own), word(id, own)); }); });
  add(std::move(branch));
}

}  // namespace tegula::gpu
