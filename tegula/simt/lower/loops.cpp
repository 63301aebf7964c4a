// Loops over what a thread holds.

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;

namespace {

const simt::Type kInt = simt::computed(DType::i32);

}  // namespace

/// The user's line.
void Lowering::origin(Id id) {
  const Line& where = at(id).where;
  if (where.line() == 0) return;
  const std::pair<const char*, std::uint32_t> line{where.file_name(), where.line()};
  if (line == origin_) return;
  origin_ = line;
  add(simt::Origin{where});
}

void Lowering::declare(Id id) {
  const Spread own = spread(id);
  add(simt::Declare{.what = {.name = variable(id),
                             .type = simt::type_of(a_.type(id)),
                             .sizes = sizes(own, a_.type(id).shape),
                             .alike_in_rows = own == Spread::Row || own == Spread::Uniform,
                             .alike_in_columns = own == Spread::Column || own == Spread::Uniform}});
}

std::set<tile::Id> Lowering::vectors_of(const std::vector<Id>& values) const {
  std::set<Id> loads;
  for (const Id value : values) {
    for (const Id source : sources_of(value)) {
      if (at_hand(source)) loads.insert(source);
      if (const auto known = decided_.schedule.recipes.find(source); known != decided_.schedule.recipes.end()) {
        for (const Id held : known->second.held)
          if (at_hand(held)) loads.insert(held);
      }
    }
  }
  return loads;
}

/// The first column of the vector that the loops are at.
Expression Lowering::column() const {
  Expression vector = grid_.columns_across() == 1 ? Expression("c") : simt::group(Expression("c") * grid_.columns_across() + "tc");
  return grid_.vector > 1 ? std::move(vector) * grid_.vector : vector;
}

void Lowering::row_loop(const Body& body) {
  add(simt::Loop{.name = "r", .end = grid_.row_steps, .unroll = 0, .body = block_of([&] {
                                                                     let(kInt, "row",
                                                                         grid_.groups ? Expression("r") / 2 * grid_.row_tile() +
                                                                                            Expression("r") % 2 * grid_.row_half() + "tr"
                                                                         : grid_.row_threads == 1
                                                                             ? Expression("r")
                                                                             : Expression("r") * grid_.row_threads + "tr");
                                                                     body();
                                                                   })});
}

void Lowering::column_loop(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, const Body& body) {
  const std::set<Id> vectors = vectors_of(values);
  if (grid_.staged && !vectors.empty()) await_staged();
  const bool alone = grid_.resident <= 1, one_row = grid_.row_steps == 1, one_step = grid_.row_steps > 2;
  simt::Loop loop{.name = "c",
                  .end = spread == Spread::Full ? grid_.column_steps_of(shape) : grid_.column_steps,
                  .unroll = !grid_.staged || reads_ahead_ ? 0
                            : alone                       ? 4
                            : one_row                     ? 2
                                                          : 1,
                  .body = {}};
  const auto elements = [&] {
    if (step == Step::Elements) each_of_vector(body);
    else body();
  };
  const auto read = [&](Spread of) {
    for (const Id load : vectors)
      if (this->spread(load) == of) read_vector(load);
  };
  const auto walk = [&] {
    read(Spread::Column);  // operands that meet every row are read once for all of them
    if (spread != Spread::Full) return elements();
    row_loop([&] {
      read(Spread::Full);
      elements();
    });
  };
  const auto walk_inside = [&] {
    if (grid_.staged && !grid_.columns_fit()) within(Expression("col") < grid_.columns, walk);
    else walk();
  };
  loop.body = block_of([&] {
    if (grid_.staged || !vectors.empty()) {
      let(kInt, "col", column());
      // Always so, which the compiler does not know: it would mix the steps, and has no registers for more than one of so many rows.
      if (reads_ahead_ && one_step && grid_.columns_fit())
        return within(simt::binary("col", ">", simt::unary("-", simt::cast(kInt, "g1"))), walk_inside);
      return walk_inside();
    }
    if (step == Step::Vectors) return let(kInt, "col", column()), body();
    add(simt::Loop{.name = "k", .end = grid_.vector, .unroll = 0, .body = block_of([&] {
                                                                    let(kInt, "col", grid_.vector > 1 ? column() + "k" : column());
                                                                    body();
                                                                  })});
  });
  add(std::move(loop));
}

void Lowering::loops(Spread spread, const Shape& shape, Step step, const std::vector<Id>& values, const Body& body) {
  switch (spread) {
    case Spread::Uniform: return body();
    case Spread::Flat:
      return add(simt::Loop{
          .name = "c", .end = grid_.held(shape), .unroll = 0, .body = block_of([&] {
                                                                let(kInt, "e", Expression("c") * grid_.threads() + simt::thread_index());
                                                                body();
                                                              })});
    case Spread::Row: return row_loop(body);
    case Spread::Column: return column_loop(spread, shape, step, values, body);
    case Spread::Full:
      if (grid_.staged) return column_loop(spread, shape, step, values, body);
      return row_loop([&] { column_loop(spread, shape, step, values, body); });
  }
}

}  // namespace tegula::gpu
