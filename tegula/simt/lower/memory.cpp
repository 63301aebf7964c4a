// Loads, stores, and what else reaches memory.

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/simt/lower/lowering.h"

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

/// What follows touches memory there (passes/place_barriers.h).
void Lowering::touch(Id pointer, bool writes, bool next) {
  add(simt::Touch{.root = a_.root_of(pointer),
                  .pointer = pointer,
                  .writes = writes,
                  .shared_place = held_by_many(spread(pointer)),
                  .steady = reads_unwritten(pointer),
                  .next = next});
}

/// Whether every instance reads the same there, and none writes it: not even under another name, as a result in its operand's place does
/// where one instance is all there is.
bool Lowering::is_read_only(Id pointer) const {
  const Form form = a_.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !form.base.is(0)) return false;
  if (a_.program().early && !reads_unwritten(pointer)) return false;  // such loads may be moved across the wait for the launch ahead
  const Id root = a_.root_of(pointer);
  const auto& all = a_.program().instructions;
  return root >= 0 && std::none_of(all.begin(), all.end(), [&](const tile::Instruction& self) {
           if (self.word != Word::Store && self.word != Word::AtomicAdd) return false;
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

void Lowering::load(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1,
           other = self.operands.size() > 2 ? self.operands[2] : -1;
  const bool direct = decided_.staging.direct.contains(id);
  touch(pointer, false, !direct);
  origin(id);
  const Spread own = spread(id);
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
    return loops(own, shape, Step::Vectors, [&] {
      simt::LoadWide load{.wide = access->wide, .count = grid_.vector, .pointer = access->pointer};
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
    Expression value = simt::load(simt::group(place_in(pointer, own)));
    if (on) value = simt::choose(*std::move(on), std::move(value), substitute());
    if (own == Spread::Uniform) let(simt::computed(self.type.dtype), variable(id), std::move(value));
    else assign(held(id, own), std::move(value));
  });
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
  if (const auto access = wide_access(pointer, mask, own)) {
    const bool in_place = spread(value) == own && has_registers(value);
    return loops(own, shape, Step::Vectors, {value}, [&] {
      simt::StoreWide store{.wide = access->wide, .count = grid_.vector, .pointer = access->pointer};
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
    add({simt::StoreOne{.computed = dtype, .value = element(value, own), .pointer = place_in(pointer, own)}, std::move(on)});
  });
}

/// Through shared memory: every thread goes over all elements in order and takes those whose place belongs to it.
void Lowering::write_in_order(Id id) {
  constexpr std::int64_t kChunk = 2048;
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0], value = self.operands[1], mask = self.operands.size() > 2 ? self.operands[2] : -1;
  const Spread own = spread(pointer);
  const tile::Type& type = a_.type(pointer);
  const std::int64_t count = numel(type.shape), chunk = std::min(count, kChunk);
  use_shared(static_cast<std::size_t>(chunk) * 16);
  simt::For chunks{.type = simt::computed(DType::i32), .name = "first", .begin = 0, .end = count, .step = chunk, .body = {}, .program = {}};
  chunks.body = block_of([&] {
    let_shared("places", simt::type_of(type));
    let_shared("values", simt::computed(tile::compute_type(type.dtype)), static_cast<std::size_t>(chunk * 8));
    add(simt::Barrier{.frees_ring = false});
    loops(own, type.shape, Step::Elements, [&] {
      let(simt::computed(DType::i32), "i", linear(own, type.shape) - "first");
      within(simt::all_of(simt::binary("i", ">=", 0), Expression("i") < chunk, inside(own, type.shape), acts(own)), [&] {
        Expression target = place_in(pointer, own);
        if (mask >= 0) target = simt::choose(box_element(a_.box(mask), own, type.shape), std::move(target), "nullptr");
        assign(simt::element("places", "i"), std::move(target));
        assign(simt::element("values", "i"), element(value, own));
      });
    });
    add(simt::Barrier{.frees_ring = false});
    const Expression left = Expression(count) - "first";
    add(simt::WriteInOrder{.adds = self.word == Word::AtomicAdd,
                           .count = chunk == count ? Expression(count) : simt::call("smaller", chunk, left),
                           .owners = in_turn() ? Expression("owners") : Expression(grid_.threads()),
                           .owner = in_turn() ? "owner" : "threadIdx.x"});
  });
  add(std::move(chunks));
}

/// Integer sums do not depend on their order; but where blocks go over all instances each of them adds to the places that belong to it.
void Lowering::atomic_add(Id id) {
  const tile::Instruction& self = at(id);
  const Id pointer = self.operands[0];
  touch(pointer, true);
  origin(id);
  const tile::Type& type = a_.type(pointer);
  if (in_turn() || !is_integer(type.dtype) || size_of(type.dtype) < 4) return write_in_order(id);
  const Spread own = spread(pointer);
  loops(own, type.shape, Step::Elements, [&] {
    When on = simt::all_of({self.operands.size() > 2 ? When(box_element(a_.box(self.operands[2]), own, type.shape)) : When(),
                            inside(own, type.shape), acts(own)});
    add({simt::AtomicAdd{.dtype = type.dtype, .pointer = place_in(pointer, own), .value = element(self.operands[1], own)}, std::move(on)});
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
