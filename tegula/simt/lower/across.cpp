// Reductions: what different threads hold comes together.

#include <algorithm>
#include <utility>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Combine;
using simt::Expression;
using simt::Operation;
using tile::Word;

namespace {

std::size_t bytes_of(const tile::Type& type) { return type.pointer ? 8 : size_of(type.dtype); }

}  // namespace

void Lowering::accumulate(const std::vector<std::pair<Id, Expression>>& reductions) {
  const Id first = at(reductions.front().first).operands[0];
  const Spread own = spread(first);
  const Shape& shape = a_.type(first).shape;
  std::vector<Id> taken;
  for (const auto& [id, sum] : reductions) taken.push_back(at(id).operands[0]);
  if (std::all_of(reductions.begin(), reductions.end(),
                  [&](const auto& reduction) { return compares_halves(*this, decided_, reduction.first); })) {
    return loops(own, shape, Step::Vectors, taken, [&] {
      for (const auto& [id, sum] : reductions) {
        const Operation op{at(id).kind, DType::f32};
        assign(sum, simt::fold(op, sum, simt::fold_vector(op, packed_vector(sources_of(at(id).operands[0])[0]))));
      }
    });
  }
  loops(own, shape, Step::Elements, taken, [&] {
    for (const auto& [id, sum] : reductions) {
      std::optional<Expression> product = sum_of_products(id, sum, own);
      Expression value = product ? *std::move(product) : simt::fold(operation_of(id), sum, element(at(id).operands[0], own));
      assign(sum, std::move(value), inside(own, shape));
    }
  });
}

/// A product that is computed where it is added: rounded once, with the sum.
std::optional<Expression> Lowering::sum_of_products(Id reduce, const Expression& sum, Spread own) {
  const Id value = a_.resolve(at(reduce).operands[0]);
  const DType dtype = a_.type(value).dtype;
  if (at(reduce).kind != tile::Reduction::Sum || at(value).word != Word::Mul || !is_float(dtype) || !is_recipe(value)) return {};
  const std::vector<Id>& factors = at(value).operands;
  return simt::call(dtype == DType::f32 ? "fmaf" : "fma", element(factors[0], own), element(factors[1], own), sum);
}

Expression Lowering::first_across(Name name, Spread own) const {
  if (own == Spread::Row) return name;
  return simt::unary("&", own == Spread::Uniform ? Expression(name) : simt::element(name, 0, 0));
}

void Lowering::combine_across(const Operation& op, Name name, bool columns, bool rows, Spread own, std::size_t bytes,
                              std::size_t idle_bytes) {
  combine(op, first_across(name, own), held_across(own), own, columns, rows, bytes, idle_bytes);
}

/// Brings columns of registers together for the first row of threads, in memory that is idle. False where that does not have the room.
bool Lowering::combine_rows_for_first(const Operation& op, const std::vector<Name>& names, Spread own, std::size_t bytes,
                                      std::size_t idle_bytes) {
  const int of_warp = std::max(1, 32 / grid_.column_threads), lines = grid_.row_threads / of_warp;
  const auto held = static_cast<std::size_t>(held_across(own));
  if (lines <= 1 || names.size() * held * static_cast<std::size_t>(lines * grid_.column_threads) * bytes > idle_bytes) return false;
  Combine combine{.how = Combine::How::RowsForFirst,
                  .operation = op,
                  .row_threads = grid_.row_threads,
                  .column_threads = grid_.column_threads,
                  .held = static_cast<std::int64_t>(held),
                  .registers = {},
                  .place = Combine::Place::Ring,
                  .counter = {}};
  for (const Name name : names) combine.registers.push_back(first_across(name, own));
  add(std::move(combine));
  barrier();  // before the next loop fetches into it
  return true;
}

void Lowering::combine(const Operation& op, Expression first, std::int64_t held, Spread own, bool columns, bool rows, std::size_t bytes,
                       std::size_t idle_bytes) {
  Combine combine{.operation = op,
                  .row_threads = grid_.row_threads,
                  .column_threads = grid_.column_threads,
                  .cluster = grid_.cluster,
                  .held = held,
                  .registers = {std::move(first)},
                  .counter = {}};
  if (columns && grid_.columns_across() > 1) combine_columns(combine, bytes);
  if (rows && grid_.row_threads > 1) combine_rows(std::move(combine), own, bytes, idle_bytes);
}

void Lowering::combine_columns(Combine combine, std::size_t bytes) {
  const std::size_t warps = grid_.column_threads > 32 ? static_cast<std::size_t>(grid_.column_threads / 32) : 0,
                    blocks = grid_.cluster > 1 ? static_cast<std::size_t>(grid_.cluster) : 0;
  combine.again = repeats_ > 0 || in_turn();
  const bool counted = blocks > 0 && !combine.again && bytes >= 4 && grid_.column_threads >= 32;  // without a barrier
  combine.meets = warps + blocks > 0 && !counted;
  combine.counted = counted;
  if (warps + blocks > 0) {
    combine.place = Combine::Place::Parts;
    const std::size_t each = static_cast<std::size_t>(grid_.row_threads * combine.held) * bytes;
    combine.part_bytes = each * (counted ? std::max<std::size_t>(warps, 1) * blocks : std::max<std::size_t>(warps, 1) + blocks);
  }
  meet_cluster();
  add(std::move(combine));
}

void Lowering::combine_rows(Combine combine, Spread own, std::size_t bytes, std::size_t idle_bytes) {
  constexpr std::int64_t kAtOnce = 8;
  const int of_warp = std::max(1, 32 / grid_.column_threads), lines = grid_.row_threads / of_warp;
  const std::size_t each = static_cast<std::size_t>(lines * grid_.column_threads) * bytes;  // per value
  const std::size_t gaps = lines >= 16 ? static_cast<std::size_t>(lines) * bytes : 0;  // between lines that lanes take
  const std::int64_t room = idle_bytes < gaps ? 0 : static_cast<std::int64_t>((idle_bytes - gaps) / each);
  const std::int64_t at_once = std::min(combine.held, std::max(room, kAtOnce));
  if (own == Spread::Uniform && grid_.column_threads <= 32 && lines <= 32) {  // all threads of a row hold the same
    if (lines > 1) use_shared(static_cast<std::size_t>(lines * combine.held) * bytes);
    combine.how = Combine::How::RowsAlike;
    combine.place = lines == 1 ? Combine::Place::None : Combine::Place::Scratch;
    return add(std::move(combine));
  }
  combine.how = Combine::How::Rows;
  if (lines > 1 && at_once > kAtOnce) combine.at_once = at_once;
  const bool in_ring = room >= at_once;
  if (lines > 1 && !in_ring) use_shared(static_cast<std::size_t>(at_once) * each + gaps);
  combine.place = lines == 1 ? Combine::Place::None : in_ring ? Combine::Place::Ring : Combine::Place::Scratch;
  add(std::move(combine));
  if (lines > 1 && in_ring) barrier();  // before the next loop fetches into it
}

/// One of the sums beside each other.
Expression Lowering::part_of(Id id, Expression which) const {
  const Name name("parts", id);
  switch (spread(id)) {
    case Spread::Uniform: return simt::element(name, std::move(which));
    case Spread::Row: return simt::element(name, std::move(which), "r");
    default: return simt::element(name, std::move(which), "c", "k");
  }
}

/// Declares where each thread adds up its share: `parts` sums beside each other where there are several.
void Lowering::begin_sums(Id id, int parts, bool column, std::vector<std::pair<Id, Expression>>& sums) {
  const Spread own = spread(id);
  const Operation op = operation_of(id);
  origin(id);
  declare(id);
  if (parts == 1) {
    loops(own, at(id).type.shape, Step::Elements, [&] { assign(held(id, own), simt::nothing(op)); });
    sums.emplace_back(id, held(id, own));
    return;
  }
  simt::Sizes all{parts};
  for (const std::int64_t size : sizes(own, at(id).type.shape)) all.push_back(size);
  declare(Name("parts", id), simt::type_of(at(id).type), all);
  loops(own, at(id).type.shape, Step::Elements, [&] {
    for (int i = 0; i < parts; ++i) assign(part_of(id, i), simt::nothing(op));
  });
  sums.emplace_back(id, part_of(id, column ? Expression("r") % 4 : Expression("k") % 2));
}

void Lowering::reductions(const SharedReductions& all) {
  const std::vector<Id>& ids = all.ids;
  const int parts = all.parts;
  const bool column = all.by_rows;
  const Spread own = spread(ids.front());
  const bool columns = crossing(ids.front()) == Crossing::Columns, rows = crossing(ids.front()) == Crossing::Rows;
  std::vector<std::pair<Id, Expression>> sums;
  for (const Id id : ids) begin_sums(id, parts, column, sums);
  accumulate(sums);
  for (const Id id : parts > 1 ? ids : std::vector<Id>{}) {
    const Operation op = operation_of(id);
    const auto both = [&](int i, int k) { return simt::fold(op, part_of(id, i), part_of(id, k)); };
    loops(own, at(id).type.shape, Step::Elements,
          [&] { assign(held(id, own), column ? simt::fold(op, both(0, 1), both(2, 3)) : both(0, 1)); });
  }
  if (columns) read_ahead(ids.back());
  std::set<Id> done;
  for (const Id id : ids) {
    if (done.contains(id)) continue;
    std::vector<Id> alike;
    for (const Id other : ids)
      if (operation_of(other) == operation_of(id) && (own != Spread::Column || other == id)) alike.push_back(other);
    done.insert(alike.begin(), alike.end());
    if (alike.size() == 1) combine_across(operation_of(id), variable(id), columns, rows, own, bytes_of(at(id).type));
    else combine_alike(alike, own, columns, rows);
  }
  if (!decided_.held_as.empty()) add(simt::Reduced{});
}

/// Reductions of one operation side by side in one array.
void Lowering::combine_alike(const std::vector<Id>& alike, Spread own, bool columns, bool rows) {
  const Id id = alike.front();
  const std::int64_t each = own == Spread::Uniform ? 1 : grid_.row_steps, all = each * static_cast<std::int64_t>(alike.size());
  const Name name("together", id);
  declare(name, simt::type_of(at(id).type), {all});
  const auto copy = [&](bool back) {
    loops(own, at(id).type.shape, Step::Elements, [&] {
      for (std::size_t i = 0; i < alike.size(); ++i) {
        const Expression first = static_cast<std::int64_t>(i) * each;
        const Expression there = simt::element(name, own == Spread::Uniform ? first : first + "r"), here = held(alike[i], own);
        assign(back ? here : there, back ? there : here);
      }
    });
  };
  copy(false);
  combine(operation_of(id), name, all, own, columns, rows, bytes_of(at(id).type));
  copy(true);
}

void Lowering::arg_reduce(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  origin(id);
  if (spread(from) == Spread::Flat) return reduce_shared(id);
  const Spread own = spread(id), source = spread(from);
  const DType dtype = a_.type(from).dtype;
  const Name name("b", id);
  const Operation best{.kind = self.kind, .dtype = dtype, .placed = true};
  const Crossing across = crossing(id);
  declare(name, simt::placed(dtype), sizes(own, self.type.shape));
  loops(own, self.type.shape, Step::Elements, [&] { assign(held(name, own), simt::nothing(best)); });
  loops(source, a_.type(from).shape, Step::Elements, [&] {
    const Expression position = across == Crossing::None ? Expression(0) : across == Crossing::Columns ? "col" : "row";
    assign(held(name, own), simt::fold(best, held(name, own), simt::tuple(element(from, source), position)),
           inside(source, a_.type(from).shape));
  });
  combine_across(best, name, across == Crossing::Columns, across == Crossing::Rows, own, 2 * std::max<std::size_t>(4, size_of(dtype)));
  declare(id);
  loops(own, self.type.shape, Step::Elements, [&] { assign(held(id, own), simt::member(held(name, own), "at")); });
}

}  // namespace tegula::gpu
