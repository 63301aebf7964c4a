// Products that tensor cores do: copies of tiles, fragments of operands, and the steps of 32 bytes of a row.

#include <string>
#include <utility>

#include "tegula/simt/lower/lowering.h"
#include "tegula/tile/passes/add_into_products.h"

namespace tegula::gpu {

using simt::Expression;

namespace {

const simt::Type kInt = simt::computed(DType::i32);

Expression and_(Expression a, std::int64_t mask) { return simt::group(simt::binary(std::move(a), "&", mask)); }
Expression shifted(Expression a, int by) { return by == 0 ? a : simt::group(simt::binary(std::move(a), ">>", by)); }
Expression xor_(Expression a, Expression b) { return simt::group(simt::binary(std::move(a), "^", std::move(b))); }
Expression times(Expression a, std::int64_t by) { return by == 1 ? a : std::move(a) * by; }

/// The bytes from a tile's begin to piece `piece` of a row.
Expression place_of_piece(const SwizzledTile& tile, const Expression& row, Expression piece) {
  if (!tile.strips || tile.pieces <= 8)
    return row * tile.pitch() + xor_(std::move(piece), and_(shifted(row, tile.shift()), tile.mask())) * 16;
  const Expression strip = simt::group(piece / 8);
  return strip * (std::int64_t{tile.rows} * 128) + row * 128 + xor_(simt::group(piece % 8), and_(row, 7)) * 16;
}

}  // namespace

/// Returns the place where the tile begins: in a stage of a ring, in a place of its own, in the scratch.
Expression Lowering::tile_begin(const Operand& operand) const {
  if (!operand.copied && grid_.groups) return Expression("tiles") + operand.place;
  if (!operand.copied) return operand.place > 0 ? Expression("shared") + operand.place : Expression("shared");
  return copied_begin(operand.value, "stage");
}
Expression Lowering::copied_begin(Id load, const char* stage) const {
  const CopiedTile& copied = decided_.products.copied.at(load);
  if (copied.loop < 0) return copied.place > 0 ? Expression("tiles") + copied.place : Expression("tiles");
  const TileRingPlan& ring = decided_.products.rings.at(copied.loop);
  return Expression("tiles") + Expression(stage) * ring.stage_bytes + (ring.place + copied.place);
}

/// All threads copy a part of the tile, 16 bytes at a time.
void Lowering::copy_tile(Id load) {
  const tile::Instruction& self = at(load);
  const CopiedTile& copied = decided_.products.copied.at(load);
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
  const Shape& shape = self.type.shape;
  const int each = 16 / static_cast<int>(size_of(a_.type(pointer).dtype)), threads = grid_.threads();
  const std::int64_t pieces = std::int64_t{copied.tile.rows} * copied.tile.pieces;
  const char *const across = copied.along == 1 ? "row" : "col", *const along = copied.along == 1 ? "col" : "row";
  const auto one_piece = [&] {
    let(kInt, across, Expression("e") / copied.tile.pieces);
    let(kInt, along, Expression("e") % copied.tile.pieces * each);
    std::vector<When> on;
    Expression limit = each;
    if (mask >= 0) {
      for (const Condition& one : a_.box(mask).conditions) {
        const bool limits = one.kind == Condition::Kind::Below && one.axis == axis_along(shape, copied);
        if (limits) limit = simt::call("smaller", std::move(limit), limit_of(one.limit) - along);
        else on.emplace_back(condition(one, Spread::Full, shape));
      }
    }
    const When all = simt::all_of(std::move(on));
    add(simt::CopyAhead{.wide = copied.wide,
                        .count = each,
                        .place = copied_begin(load, "into") + place_of_piece(copied.tile, across, Expression("e") % copied.tile.pieces),
                        .source = place_in(pointer, Spread::Full),
                        .inside = all ? simt::choose(*all, std::move(limit), 0) : std::move(limit)});
  };
  if (copied.box) {
    simt::CopyTile boxes{
        .pointer = pointer, .ahead = true, .load = load, .box_bytes = copied.tile.bytes(), .counters = counters_of(load), .body = {}};
    boxes.body = block_of([&] { copy_boxes(load, copied); });
    return add(std::move(boxes));
  }
  simt::CopyTile copy{.pointer = pointer,
                      .ahead = copied.loop >= 0,
                      .body = block_of([&] {
                        add(simt::Loop{.name = "i",
                                       .end = (pieces + threads - 1) / threads,
                                       .unroll = 0,
                                       .body = block_of([&] {
                                         let(kInt, "e", Expression("i") * threads + simt::thread_index());
                                         within(pieces % threads == 0 ? When() : Expression("e") < pieces, one_piece);
                                       })});
                      })};
  if (copied.loop >= 0) return add(std::move(copy));
  barrier();  // nobody reads what lies there any more
  add(std::move(copy));
  add(simt::CloseCopies{});
  awaits_tiles_ = true;
}

/// Returns the place, among the tiles, of the counters of what has come of the load's tile.
std::size_t Lowering::counters_of(Id load) const {
  const TileRingPlan& ring = decided_.products.rings.at(decided_.products.copied.at(load).loop);
  return ring.counters + (ring.apart ? ring.counters_before(load) : 0);
}

/// Waits until all see the tiles that were copied where they stand.
void Lowering::await_tiles() {
  if (!std::exchange(awaits_tiles_, false)) return;
  add(simt::WaitForCopies{0});
  if (grid_.groups) add(simt::FenceTiles{});
  barrier();
}

/// A tile of halves as whole rows, 16 bytes a thread, through a ring that nobody needs any more: fragments have 16 bytes of each row together. False where there is
/// none with so much room.
bool Lowering::store_by_rows(const VectorAccess& vectors, Id pointer, Id value) {
  if (decided_.products.stays) return store_by_warps(vectors, pointer, value);
  constexpr int kColumns = 8;
  const Shape shape = in_two_axes(a_.type(pointer).shape);
  const SwizzledTile tile{.rows = static_cast<int>(shape[0]), .pieces = static_cast<int>(shape[1]) / kColumns};
  const TileRingPlan* ring = nullptr;
  for (const auto& [loop, plan] : decided_.products.rings)
    if (plan.boxes && static_cast<std::size_t>(plan.stages) * plan.stage_bytes >= tile.bytes()) ring = &plan;
  const std::int64_t pieces = std::int64_t{tile.rows} * tile.pieces, threads = grid_.threads();
  if (!grid_.groups || open_rings_ > 0 || ring == nullptr || pieces % threads != 0 || grid_.parts() > 1) return false;
  const simt::Type stored = simt::pointer_to(simt::stored(a_.type(pointer).dtype));
  const auto place = [&](const Expression& row, Expression piece, Expression within_piece) {
    Expression bytes = Expression("tiles") + (ring->place) + place_of_piece(tile, row, std::move(piece));
    return simt::reinterpret(stored, std::move(bytes) + std::move(within_piece) * 2);
  };
  barrier();  // nobody reads the ring any more
  within({}, [&] {
    loops(Spread::Full, shape, Step::Vectors, {value}, [&] {
      add(simt::StoreWide{.wide = 2,
                          .count = 2,
                          .pointer = place("row", simt::group(Expression("col") / kColumns), Expression("col") % kColumns),
                          .source = simt::held(variable(value), vector_place(Spread::Full)),
                          .limited = {}});
    });
  });
  barrier();
  add(simt::Loop{
      .name = "i", .end = pieces / threads, .unroll = 4, .body = block_of([&] {
                                                           let(kInt, "e", Expression("i") * threads + simt::thread_index());
                                                           let(kInt, "row", Expression("e") / tile.pieces);
                                                           let(kInt, "col", Expression("e") % tile.pieces * kColumns);
                                                           declare("x", simt::computed(DType::f32), {kColumns});
                                                           add(simt::LoadWide{
                                                               .wide = kColumns,
                                                               .count = kColumns,
                                                               .pointer = place("row", simt::group(Expression("e") % tile.pieces), 0),
                                                               .target = "x",
                                                               .limited = {}});
                                                           store_piece(vectors, pointer);
                                                         })});
  return true;
}

/// The same where a ring is filled for the next instance meanwhile: each warp takes its rows, eight times 64 columns at a time, through memory of its own.
bool Lowering::store_by_warps(const VectorAccess& vectors, Id pointer, Id value) {
  constexpr int kColumns = 8, kStrip = 64, kRows = 8, kLanes = 32;
  const Shape shape = in_two_axes(a_.type(pointer).shape);
  if (decided_.products.rows_bytes == 0 || shape[1] % kStrip != 0) return false;
  const SwizzledTile tile{.rows = kRows, .pieces = kStrip / kColumns};
  const simt::Type stored = simt::pointer_to(simt::stored(a_.type(pointer).dtype));
  const auto place = [&](const Expression& row, Expression piece) {
    return simt::reinterpret(stored, Expression("rows") + place_of_piece(tile, row, std::move(piece)));
  };
  const auto write = [&] {
    let(kInt, "from", simt::group("lane" / Expression(4)));
    add(simt::StoreWide{.wide = 2,
                        .count = 2,
                        .pointer = simt::group(place("from", "c")) + "tc" * Expression(2),
                        .source = simt::element(variable(value), "r", Expression("strip") * (kStrip / kColumns) + "c"),
                        .limited = {}});
  };
  const auto read = [&] {
    let(kInt, "e", Expression("i") * kLanes + "lane");
    let(kInt, "row",
        Expression("r") / 2 * grid_.row_tile() + Expression("r") % 2 * grid_.row_half() + "tr" / Expression(16) * 16 +
            Expression("e") / tile.pieces);
    let(kInt, "col", of_column_block(Expression("strip") * kStrip + Expression("e") % tile.pieces * kColumns));
    declare("x", simt::computed(DType::f32), {kColumns});
    add(simt::LoadWide{.wide = kColumns,
                       .count = kColumns,
                       .pointer = place(simt::group(Expression("e") / tile.pieces), simt::group(Expression("e") % tile.pieces)),
                       .target = "x",
                       .limited = {}});
    store_piece(vectors, pointer);
  };
  const auto each = [&](const char* counter, std::int64_t end, const Body& body) {
    add(simt::Loop{.name = counter, .end = end, .unroll = 0, .body = block_of(body)});
  };
  within({}, [&] {
    let(kInt, "lane", and_(simt::thread_index(), kLanes - 1));
    let(simt::pointer_to({.kind = simt::Type::Kind::Byte}), "rows",
        Expression("tiles") + decided_.products.rows_place +
            simt::group(simt::thread_index() / kLanes) * static_cast<std::int64_t>(tile.bytes()));
    each("r", grid_.row_steps, [&] {
      each("strip", shape[1] / grid_.column_blocks / kStrip, [&] {
        each("c", kStrip / kColumns, write);
        add(simt::Barrier{.kind = simt::Barrier::Kind::Warp});
        each("i", kRows * tile.pieces / kLanes, read);
        add(simt::Barrier{.kind = simt::Barrier::Kind::Warp});
      });
    });
  });
  return true;
}

/// The operands that come from registers, into the scratch.
void Lowering::write_operands(const Product& product) {
  bool begun = false;
  for (const Operand* const one : {&product.left, &product.right}) {
    if (one->copied || one->in_registers) continue;
    if (!std::exchange(begun, true)) {
      if (decided_.products.scratch_bytes > 0) use_shared(decided_.products.scratch_bytes);
      barrier();
    }
    const Shape& shape = a_.type(one->value).shape;
    const Spread own = spread(one->value);
    const auto size = static_cast<std::int64_t>(size_of(product.dtype)), each = 16 / size;
    const simt::Type type = simt::pointer_to(simt::stored(product.dtype));
    const DType from = tile::compute_type(product.dtype);
    const auto place = [&](Expression element_in_row, const Expression& row) {
      const Expression bytes = place_of_piece(one->tile, row, simt::group(element_in_row / each)) + element_in_row % each * size;
      return simt::reinterpret(type, tile_begin(*one) + bytes);
    };
    const bool pairs = own == Spread::Full && !one->swapped && size == 2 && has_registers(one->value);
    within({}, [&] {
      loops(own, shape, pairs ? Step::Vectors : Step::Elements, {one->value}, [&] {
        const Expression row = coordinate(0, own, shape), column = coordinate(1, own, shape);
        const Expression to = one->swapped ? place(row, column) : place(column, row);
        const When here = simt::all_of(inside(own, shape), acts(own));
        if (pairs)
          return add(
              {simt::StoreWide{
                   .wide = 2, .count = 2, .pointer = to, .source = simt::held(variable(one->value), vector_place(own)), .limited = {}},
               here});
        add({simt::StoreOne{.computed = from, .value = element(one->value, own), .pointer = to}, here});
      });
    });
  }
  if (begun && grid_.groups) add(simt::FenceTiles{});
  if (begun) barrier();
}

/// Returns the lane's place from the tile's begin on, without what loops over the operand's parts add.
Expression Lowering::matrix_place(const Operand& operand, bool is_left) const {
  const auto bit = [](int shift) { return and_(shifted("lane", shift), 1); };
  // Matrices 0 and 1 are parts of the rows of the left operand, and of the terms of the right one.
  const Expression part = bit(is_left ? 3 : 4), term = bit(is_left ? 4 : 3), in_matrix = and_("lane", 7);
  const Expression twisted = and_(shifted(in_matrix, operand.tile.shift()), operand.tile.mask());
  const std::int64_t warps = is_left ? grid_.row_threads / 8 : grid_.column_warps;
  const Expression warp = is_left ? "tr" : "tc";  // eight or four threads of it are one warp's
  const Expression block = simt::group(times(part, warps) + simt::group(warp / (is_left ? 8 : 4)));  // of eight rows, or columns
  const Expression row = simt::group((operand.by_terms ? times(term, 8) : times(block, 8)) + in_matrix);
  const Expression piece = operand.by_terms ? block : term;
  return row * operand.tile.pitch() + xor_(piece, twisted) * 16;
}

void Lowering::tensor_product(Id id, const Product& product) {
  const tile::Instruction& self = at(id);
  origin(id);
  if (product.behind) {  // the next iteration begins it
    return within({}, [&] { pack_left(id, product, [&](std::int64_t part) { return left_part(product, part); }); });
  }
  if (!decided_.products.in_place.contains(id)) {
    declare(id);
    if (!begins_anew(id)) assign_all(id, self.operands[2]);
  }
  await_tiles();
  write_operands(product);
  if (product.left.in_registers && decided_.products.turns) declare_packed(id, product);
  for (const Operand* const one : {&product.left, &product.right})
    if (comes_apart(*one)) add(simt::AwaitTile{one->value});
  within({}, [&] { grid_.groups ? group_steps(id, product) : product_steps(id, product); });
  const auto* const other = behind(id);
  if (other) {
    product_behind(other->first, other->second);
    add(simt::AwaitProducts{1});
    add(simt::Keep{variable(id)});
  }
  for (const Operand* const one : {&product.left, &product.right})
    if (comes_apart(*one) && decided_.products.copied.at(one->value).last == id) add(simt::FreeTile{one->value});
  if (!other) return;
  add(simt::AwaitProducts{0});  // which a pass moves to where its sums are needed (split_roles)
  add(simt::Keep{variable(other->first)});
  add(simt::FreeTile{other->second.right.value, true});
}

/// The product that is begun behind this one.
auto Lowering::behind(Id ahead) const -> const std::pair<const Id, Product>* {
  for (const auto& one : decided_.products.all)
    if (one.second.behind && one.second.ahead == ahead) return &one;
  return nullptr;
}
/// Multiplies for the iteration before.
void Lowering::product_behind(Id id, const Product& product) {
  add(simt::AwaitTile{product.right.value, true});
  within({}, [&] { group_steps(id, product); });
}

/// Returns true if the sums of four warps' product begin with zeros; its first step is then told so.
bool Lowering::begins_anew(Id id) const {
  return grid_.groups && !decided_.products.in_place.contains(id) && tile::is_zero(a_.program(), at(id).operands[2]) &&
         imprecise_terms(at(id)) == 0;
}

/// Returns true if the tile comes into its own part of the ring, as soon as nobody reads what is there (TileRingPlan::apart).
bool Lowering::comes_apart(const Operand& operand) const {
  if (!operand.copied) return false;
  const auto ring = decided_.products.rings.find(decided_.products.copied.at(operand.value).loop);
  return ring != decided_.products.rings.end() && ring->second.apart;
}

void Lowering::product_steps(Id id, const Product& product) {
  const auto size = static_cast<std::int64_t>(size_of(product.dtype));
  const std::int64_t terms = a_.type(at(id).operands[0]).shape[1], steps = terms * size / 32;
  const std::int64_t row_tiles = grid_.row_steps / 2, column_pairs = grid_.column_steps_of(at(id).type.shape) / 2;
  const simt::Type fragment = simt::packed(product.dtype, static_cast<int>(4 / size)),
                   bytes = simt::pointer_to({.kind = simt::Type::Kind::Byte});
  let(kInt, "lane", and_(simt::thread_index(), 31));
  const auto begin = [&](const Operand& operand, bool is_left) {
    if (operand.in_registers) return;
    let(bytes, is_left ? "left" : "right", tile_begin(operand));
    let(kInt, is_left ? "left_at" : "right_at", matrix_place(operand, is_left));
  };
  begin(product.left, true), begin(product.right, false);
  // Parts of an operand lie warps * 8 rows (or columns) apart, twice for the two that one read has.
  const auto read = [&](const Operand& operand, bool is_left, const char* counter) {
    const std::int64_t warps = is_left ? grid_.row_threads / 8 : grid_.column_warps;
    const Expression part = Expression(counter) * (2 * warps);
    const Expression first = is_left ? "left_at" : "right_at", from = is_left ? "left" : "right";
    const Expression place =
        operand.by_terms ? from + xor_(first, simt::group(part * 16)) + simt::group("step" * Expression(32 / size) * operand.tile.pitch())
                         : from + xor_(first, simt::group("step" * Expression(32))) + simt::group(part * (8 * operand.tile.pitch()));
    add(simt::ReadMatrices{.by_terms = operand.by_terms, .place = place, .target = simt::element(is_left ? "a" : "b", counter)});
  };
  const auto each = [&](const char* counter, std::int64_t end, const Body& body) {
    add(simt::Loop{.name = counter, .end = end, .unroll = 0, .body = block_of(body)});
  };
  const auto pack = [&] {  // the sums of another product: two parts of eight columns are a step
    const Name from = variable(product.left.value);
    for (std::int64_t part = 0; part < 4; ++part) {
      const Expression row = Expression("m") * 2 + part % 2, vector = Expression("step") * 2 + part / 2;
      add(simt::PackFragment{.source = simt::element(from, row, vector), .target = simt::element("a", "m", part)});
    }
  };
  each("step", steps, [&] {
    declare("a", fragment, {row_tiles, 4});
    declare("b", fragment, {column_pairs, 4});
    each("m", row_tiles, [&] { product.left.in_registers ? pack() : read(product.left, true, "m"); });
    each("n", column_pairs, [&] { read(product.right, false, "n"); });
    each("m", row_tiles, [&] {
      each("n", column_pairs, [&] {
        for (const int second : {0, 2}) {
          const Expression vector = Expression("n") * 2 + second / 2;
          add(simt::MultiplyFragments{.dtype = product.dtype,
                                      .upper = simt::element(variable(id), Expression("m") * 2, vector),
                                      .lower = simt::element(variable(id), Expression("m") * 2 + 1, vector),
                                      .left = simt::element("a", "m"),
                                      .right = simt::element("b", "n"),
                                      .second = second});
        }
      });
    });
  });
}

std::int64_t Lowering::steps_of(Id id, const Product& product) const {
  return a_.type(at(id).operands[0]).shape[1] * static_cast<std::int64_t>(size_of(product.dtype)) / 32;
}
/// The fragments of a left operand that threads hold, of all steps: they stay as they are until the products are over.
void Lowering::declare_packed(Id id, const Product& product) {
  declare(packed_left(id), simt::packed(product.dtype, 2), {steps_of(id, product), grid_.row_steps / 2, 4});
}
/// Two parts of eight columns are a step.
Expression Lowering::left_part(const Product& product, std::int64_t part) const {
  return simt::element(variable(product.left.value), Expression("m") * 2 + part % 2, Expression("step") * 2 + part / 2);
}
void Lowering::pack_left(Id id, const Product& product, const std::function<Expression(std::int64_t)>& source) {
  const std::int64_t steps = steps_of(id, product), blocks = grid_.row_steps / 2;
  const Name to = packed_left(id);
  const auto pack = [&] {
    for (std::int64_t part = 0; part < 4; ++part)
      add(simt::PackFragment{.source = source(part), .target = simt::element(to, "step", "m", part)});
  };
  add(simt::Loop{.name = "step", .end = steps, .unroll = 0, .body = block_of([&] {
                                                              add(simt::Loop{
                                                                  .name = "m", .end = blocks, .unroll = 0, .body = block_of(pack)});
                                                            })});
  add(simt::Keep{to});
}

/// Four warps multiply what lies in shared memory, 64 rows at a time.
void Lowering::group_steps(Id id, const Product& product) {
  const Shape& sums = at(id).type.shape;
  const auto size = static_cast<std::int64_t>(size_of(product.dtype));
  const std::int64_t steps = steps_of(id, product), groups = grid_.row_threads / 32;
  const simt::Type bytes = simt::pointer_to({.kind = simt::Type::Kind::Byte});
  if (!product.left.in_registers) let(bytes, "left", tile_begin(product.left));
  let(bytes, "right", product.behind ? copied_begin(product.right.value, "stage_behind") : tile_begin(product.right));
  // Places are those of the group's first row: 64 rows are 64 of `pitch` bytes, or a strip.
  const Expression group = simt::group(grid_.row_blocks > 1 ? simt::thread_index() / 128 : Expression("tr") / 64);
  const auto side = [&](const Operand& operand, Expression place, Expression block) {
    const SwizzledTile& tile = operand.tile;
    const std::int64_t strip = std::int64_t{tile.rows} * 128;
    const int each = tile.pitch() / 32;  // steps of a strip
    if (operand.by_terms) place = place + std::move(block) * strip + Expression("step") * (16 * tile.pitch());
    else if (tile.pieces > 8)
      place =
          place + std::move(block) * (64 * tile.pitch()) + simt::group(Expression("step") / each) * strip + Expression("step") % each * 32;
    else place = place + std::move(block) * (64 * tile.pitch()) + Expression("step") * 32;
    return simt::MultiplyTile::Side{.place = std::move(place),
                                    .pitch = tile.pitch(),
                                    .beside = operand.by_terms ? static_cast<std::size_t>(strip) : 16,
                                    .by_terms = operand.by_terms};
  };
  const bool packs = product.left.in_registers;
  const auto multiply = [&](Name to, std::int64_t begin, std::int64_t end, bool fresh) {
    const auto rows = [&] {
      add(simt::MultiplyTile{
          .dtype = product.dtype,
          .columns = static_cast<int>(sums[1]) / (grid_.parts_of_terms ? 1 : grid_.column_blocks),
          .upper = simt::element(to, Expression("m") * 2),
          .lower = simt::element(to, Expression("m") * 2 + 1),
          .registers = packs ? When(simt::element(packed_left(id), "step", "m")) : When(),
          .left = packs ? simt::MultiplyTile::Side() : side(product.left, "left", simt::group(Expression("m") * groups + group)),
          .right = side(product.right, "right", 0),
          .fresh = fresh,
          .behind = product.behind});
    };
    const auto each_row = [&] { add(simt::Loop{.name = "m", .end = grid_.row_steps / 2, .unroll = 0, .body = block_of(rows)}); };
    add(simt::Loop{.name = "step", .begin = begin, .end = end, .unroll = 0, .body = block_of(each_row)});
  };
  if (const std::int64_t together = imprecise_terms(at(id)); together > 0 && is_float8(product.dtype)) {
    // Sums of so many terms, which are added as f32.
    const Name part("part", id);
    const Spread own = spread(id);
    declare(part, simt::type_of(a_.type(id)), sizes(own, sums));
    const std::int64_t each = std::min(steps, together * size / 32);
    for (std::int64_t begin = 0; begin < steps; begin += each) {
      add(simt::BeginProducts{});
      multiply(part, begin, begin + 1, true);
      if (each > 1) multiply(part, begin + 1, std::min(steps, begin + each), false);
      add(simt::CloseProducts{});
      add(simt::AwaitProducts{0});
      add(simt::Keep{part});
      loops(own, sums, Step::Elements, [&] { add(simt::Assign{.target = held(id, own), .value = held(part, own), .adds = true}); });
    }
    return;
  }
  if (packs && !product.behind) {
    if (!decided_.products.turns) declare_packed(id, product);
    pack_left(id, product, [&](std::int64_t part) { return left_part(product, part); });
  }
  if (begins_anew(id)) {
    add(simt::BeginProducts{});
    multiply(variable(id), 0, 1, true);
    if (steps > 1) multiply(variable(id), 1, steps, false);
  } else {
    if (!product.late) add(simt::Keep{variable(id)});
    if (product.behind) add(simt::Keep{packed_left(id)});
    add(simt::BeginProducts{});
    multiply(variable(id), 0, steps, false);
  }
  add(simt::CloseProducts{});
  if (product.behind || behind(id)) return;  // who is awaited where
  add(simt::AwaitProducts{product.late ? 1 : 0});
  if (!product.late) add(simt::Keep{variable(id)});
}

}  // namespace tegula::gpu
