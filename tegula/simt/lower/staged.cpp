// Rows in shared memory (staged_rows.h).

#include <algorithm>
#include <utility>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

/// Sends every vector of the thread on its way into shared memory.
void Lowering::stage(Id id) {
  const Id pointer = at(id).operands[0];
  const Name name("row", id);
  const simt::Type vector = pointer_to(wide_type(pointer));
  const Expression rows = staged_bytes_ > 0 ? Expression("shared") + "held" + staged_bytes_ : Expression("shared") + "held";
  let(vector, name, simt::reinterpret(vector, rows) + "threadIdx.x");
  const bool one_row = spread(id) == Spread::Column;
  const std::int64_t share = std::int64_t{grid_.column_steps} * grid_.threads() * grid_.vector;
  const std::int64_t places = !one_row ? grid_.row_steps * share : grid_.cluster == 1 ? grid_.columns : share;
  staged_bytes_ += (static_cast<std::size_t>(places) * size_of(a_.type(pointer).dtype) + 127) / 128 * 128;
  loops(spread(id), at(id).type.shape, Step::Vectors,
        [&] { add(simt::CopyAsync{.source = place_in(pointer, spread(id)), .place = simt::element(name, staged_place(id))}); });
  awaits_staged_ = true;
}

/// The place of the loops' present vector, counted from the thread's first one.
Expression Lowering::staged_place(Id load) const {
  const Expression step = spread(load) == Spread::Full ? simt::group(Expression("r") * grid_.column_steps + "c") : Expression("c");
  return step * grid_.threads();
}

/// A thread reads only what it has copied itself.
void Lowering::await_staged() {
  if (std::exchange(awaits_staged_, false)) add(simt::AwaitCopies{});
}

/// A vector that the innermost loops take the elements of.
void Lowering::read_vector(Id id) {
  const Id pointer = at(id).operands[0];
  const simt::Type vector = wide_type(pointer);
  const Name name("x", id);
  if (decided_.staging.staged.contains(id)) return let(vector, name, simt::element(Name("row", id), staged_place(id)));
  declare(name, vector);
  const simt::Assign ahead{.target = name, .value = simt::element(Name("ahead", id), "c")};
  if (reads_ahead_ && grid_.ahead == grid_.column_steps) return add(ahead);
  const bool part = !grid_.staged && !grid_.columns_fit();
  const bool early = decided_.staging.direct.size() == 1 || reads_ahead_;  // there are registers for a few vectors
  Expression from = place_in(pointer, spread(id));
  if (!part && early) from = source(pointer, std::move(from));
  simt::LoadWide load{.wide = widest(pointer), .count = grid_.vector, .pointer = std::move(from), .target = name};
  if (part) load.limited = {.limit = Expression(grid_.columns) - "col", .substitute = simt::number(0.0, DType::f32)};
  if (!reads_ahead_) return add(std::move(load));
  add(simt::Branch{.when = Expression("c") < grid_.ahead, .then = {ahead}, .otherwise = {std::move(load)}, .on_one_line = true});
}

/// Loads that only the last pass over a staged row needs, for its first steps, begin before the last exchange that it waits for.
void Lowering::read_ahead(Id reduction) {
  const std::vector<Id>& body = a_.program().body.body;
  if (grid_.ahead == 0 || std::ranges::any_of(body, [&](Id id) { return id > reduction && at(id).word == Word::Reduce; })) return;
  const auto waits = [&](Id load) { return load > reduction && spread(load) == Spread::Column && is_read_only(at(load).operands[0]); };
  reads_ahead_ = std::ranges::all_of(decided_.staging.direct, waits);
  if (!reads_ahead_) return;
  for (const Id id : decided_.staging.direct) {
    const Id pointer = at(id).operands[0];
    const Name name("ahead", id);
    declare(name, wide_type(pointer), {grid_.ahead});
    add(simt::Loop{.name = "c", .end = grid_.ahead, .unroll = 0, .body = block_of([&] {
                                                                   let(simt::computed(DType::i32), "col", column());
                                                                   add({simt::LoadWide{.wide = widest(pointer),
                                                                                       .count = grid_.vector,
                                                                                       .pointer = place_in(pointer, Spread::Column),
                                                                                       .target = simt::element(name, "c")},
                                                                        grid_.columns_fit() ? When() : Expression("col") < grid_.columns});
                                                                 })});
  }
}

}  // namespace tegula::gpu
