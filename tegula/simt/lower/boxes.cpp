// Tiles that the copy engine brings into shared memory, and takes from there.

#include <algorithm>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;

namespace {

const simt::Type kInt = simt::computed(DType::i32), kBytes = simt::pointer_to({.kind = simt::Type::Kind::Byte});

Expression lane() { return simt::group(simt::binary(simt::thread_index(), "&", 31)); }

}  // namespace

Expression Lowering::map_size(const simt::TensorMap::Size& size) const {
  if (size.parameter < 0) return simt::number(size.number, DType::i64);
  return a_.parameter_names()[static_cast<std::size_t>(size.parameter)];
}

/// Returns the place in memory where the plane of these numbers begins.
Expression Lowering::begin_of_planes(const simt::TensorMap& map, const simt::Expressions& numbers) const {
  Expression begin = a_.parameter_names()[static_cast<std::size_t>(map.pointer)];
  for (std::size_t i = 0; i < map.planes.size(); ++i) {
    Expression distance = numbers[i];
    for (const simt::TensorMap::Size& factor : map.planes[i].factors) distance = std::move(distance) * map_size(factor);
    begin = std::move(begin) + std::move(distance);
  }
  return begin;
}

/// The copy engine brings a box for each strip; in blocks of a cluster that have parts of the sums, the own part of what is cut, and a share of what all of them
/// need, which it brings to all.
void Lowering::copy_boxes(Id load, const CopiedTile& copied) {
  const simt::TensorMap& map = decided_.products.maps[static_cast<std::size_t>(copied.map)];
  const bool by_strips = copied.shares_strips();
  const int strips = by_strips ? copied.strips_of() / copied.shares : copied.strips_of();
  const std::int64_t strip_bytes = std::int64_t{copied.tile.rows} * map.pitch;
  const auto of_block = [](Expression one, std::int64_t each) {
    return each == 0 ? std::move(one) : std::move(one) + Expression("block") * each;
  };
  const std::int64_t x_apart = by_strips ? std::int64_t{strips} * map.box_columns : copied.part_along ? copied.part : 0;
  const bool by_rows = copied.shares > 1 && !by_strips;
  const std::int64_t y_apart = by_rows ? copied.rows_of_share() : copied.part_along ? 0 : copied.part;
  const std::int64_t bytes_apart = by_strips ? strips * strip_bytes : by_rows ? y_apart * map.pitch : 0;
  simt::Expressions planes;
  for (const Term& plane : copied.box->planes) planes.push_back(expression_of(plane));
  const Expression begin = begin_of_planes(map, planes);
  for (int strip = 0; strip < strips; ++strip) {
    simt::CopyBox box{.map = copied.map,
                      .box_columns = map.box_columns,
                      .box_rows = map.all_rows(),
                      .pitch = map.pitch,
                      .inside = map.inside,
                      .place = of_block(copied_begin(load, "into") + strip * strip_bytes, bytes_apart),
                      .counter = Expression("tiles") + counters_of(load) + Expression("into") * 8,
                      .pointer = {},
                      .x = of_block(expression_of(tile::add(copied.box->x, Term::number(strip * map.box_columns))), x_apart),
                      .y = of_block(expression_of(copied.box->y), y_apart),
                      .columns = {},
                      .rows = {},
                      .stride = {},
                      .planes = planes,
                      .blocks = copied.shares > 1 ? (1u << copied.shares) - 1 : 0};
    if (!map.inside)
      box.pointer = begin, box.columns = map_size(map.columns), box.rows = map_size(map.rows), box.stride = map_size(map.stride);
    add(std::move(box));
  }
}

/// Each warp leaves its rows in shared memory, a piece at a time, and one of its lanes has the copy engine take them from there: in a ring that nobody needs any
/// more, or, where one is filled for the next instance meanwhile, in memory of its own. False where another way is left.
bool Lowering::store_by_boxes(Id store, Id value) {
  const auto found = decided_.products.stored.find(store);
  if (found == decided_.products.stored.end() || open_rings_ > 0) return false;
  const StoredTile& tile = found->second;
  const simt::TensorMap& map = decided_.products.maps[static_cast<std::size_t>(tile.map)];
  const Shape shape = in_two_axes(a_.type(at(store).operands[0]).shape);
  const bool stays = decided_.products.stays;
  const std::int64_t strips = shape[1] / grid_.column_blocks / StoredTile::kColumns, pieces_of_strip = StoredTile::kColumns / 16;
  const When first = simt::binary(lane(), "==", 0);
  const auto each = [&](const char* counter, std::int64_t end, const Body& body) {
    add(simt::Loop{.name = counter, .end = end, .unroll = 0, .body = block_of(body)});
  };
  const auto place = [&]() -> Expression {
    const Expression begin = Expression("tiles") + decided_.products.stored_place;
    if (!stays) return begin + Expression("strip") * (shape[0] * StoredTile::kPitch) + Expression("row") * StoredTile::kPitch;
    const Expression piece = simt::group(simt::group(Expression("m") * strips + "strip") % StoredTile::kPieces),
                     of_warps = simt::group(simt::thread_index() / 32) * StoredTile::kPieces;
    return begin + simt::group(of_warps + piece) * static_cast<std::int64_t>(StoredTile::kBytes);
  };
  const auto write = [&] {
    declare("h", simt::packed(a_.type(at(store).operands[0]).dtype, 2), {4});
    for (std::int64_t part = 0; part < 4; ++part) {
      const Expression vector = Expression("strip") * (StoredTile::kColumns / 8) + Expression("c") * 2 + part / 2;
      add(simt::PackFragment{.source = simt::element(variable(value), Expression("m") * 2 + part % 2, vector),
                             .target = simt::element("h", part)});
    }
    const Expression row = simt::group(Expression("lane") % 16),
                     column = simt::group(Expression("c") * 2 + simt::group(Expression("lane") / 16)),
                     swizzled = simt::group(simt::binary(column, "^", simt::group(Expression("lane") % 8)));
    add(simt::WriteMatrices{.place = Expression("piece") + row * StoredTile::kPitch + swizzled * 16, .source = "h"});
  };
  const auto leave = [&] {
    // The piece's first row, along the axes that the tile's rows are.
    std::int64_t inner = 1;
    const auto along = [&](std::size_t axis, Expression begin) {
      const int size = tile.axes[axis], box = axis == 0 ? map.box_rows : map.planes[axis - 1].box;
      const Expression whole = inner == 1 ? Expression("row") : simt::group(Expression("row") / inner);
      inner *= size;
      if (box == size) return begin;
      return std::move(begin) + (inner == shape[0] ? whole : simt::group(whole % size));
    };
    simt::StoreBox box{.map = tile.map,
                       .box_columns = map.box_columns,
                       .box_rows = map.all_rows(),
                       .pitch = map.pitch,
                       .inside = map.inside,
                       .place = "piece",
                       .pointer = {},
                       .x = of_column_block(expression_of(tile.box.x) + Expression("strip") * StoredTile::kColumns),
                       .y = along(0, expression_of(tile.box.y)),
                       .columns = {},
                       .rows = {},
                       .stride = {},
                       .planes = {}};
    for (std::size_t i = 0; i < map.planes.size(); ++i) box.planes.push_back(along(i + 1, expression_of(tile.box.planes[i])));
    if (!map.inside) {
      box.pointer = begin_of_planes(map, box.planes);
      box.columns = map_size(map.columns), box.rows = map_size(map.rows), box.stride = map_size(map.stride);
    }
    add({std::move(box), first});
    add({simt::CloseStores{}, first});
  };
  if (!stays) barrier();  // nobody reads the ring any more
  within({}, [&] {
    let(kInt, "lane", lane());
    each("m", grid_.row_steps / 2, [&] {
      let(kInt, "row", Expression("m") * grid_.row_tile() + simt::group("tr" / Expression(StoredTile::kRows)) * StoredTile::kRows);
      each("strip", strips, [&] {
        let(kBytes, "piece", place());
        if (stays) {
          add({simt::AwaitStores{StoredTile::kPieces - 1}, first});
          add(simt::Barrier{.kind = simt::Barrier::Kind::Warp});
        }
        each("c", pieces_of_strip, write);
        add(simt::FenceTiles{});
        add(simt::Barrier{.kind = simt::Barrier::Kind::Warp});
        leave();
      });
    });
    add({simt::AwaitStores{0}, first});
  });
  return true;
}

}  // namespace tegula::gpu
