#include "tegula/compile/plan/group_loops.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "tegula/core/divide.h"

namespace tegula::compile {
namespace {

int stream_number(LoopNest& nest, const Stream& stream) {
  const auto known = std::ranges::find(nest.streams, stream);
  if (known == nest.streams.end()) return nest.streams.push_back(stream), static_cast<int>(nest.streams.size()) - 1;
  return static_cast<int>(known - nest.streams.begin());
}

Layout store_pattern(const Plan& plan, const FusedGroup& group, int item) {
  return over_domain(group.domain, layout_of(plan.graph[item]), plan.fusion.members[index(item)].axes);
}

// The stream whose memory order the loops follow: a store, or else a load, that runs over every axis.
int leading_stream(const LoopNest& nest, const Shape& domain) {
  const int count = static_cast<int>(nest.streams.size());
  const auto whole = [&](int s) {
    const Stream& stream = nest.stream(s);
    if (stream.kind != Operand::Kind::Memory) return false;
    for (int i = 0; i < domain.rank(); ++i) {
      if (domain[i] != 1 && stream.pattern.strides[i] == 0) return false;
    }
    return true;
  };
  for (int s = nest.loads; s < count; ++s)
    if (whole(s)) return s;
  for (int s = 0; s < nest.loads; ++s)
    if (whole(s)) return s;
  return -1;
}

bool mergeable(const Loop& outer, const Loop& inner) {
  if (outer.reduced != inner.reduced) return false;
  for (std::size_t s = 0; s < inner.strides.size(); ++s) {
    if (outer.strides[s] != inner.strides[s] * inner.extent) return false;
  }
  return true;
}

// One bit for each axis of the domain that varies from size to size.
std::uint32_t axes_that_vary(const Plan& plan, const FusedGroup& group) {
  const tile::Ladder& ladder = plan.tiles.ladder;
  std::uint32_t bits = 0;
  for (int i : group.items) {
    const Item& item = plan.graph[i];
    const AxisMap& axes = plan.fusion.members[index(i)].axes;
    const std::uint32_t own = ladder.axes_that_vary(item.node);
    for (std::size_t d = 0; d < static_cast<std::size_t>(item.shape.rank()); ++d)
      if (axes[d] >= 0 && (own >> d & 1) != 0) bits |= 1u << axes[d];
    // A reduced axis is no axis of the result.
    if (item.role() == Role::Reduce && plan.graph[item.inputs[0]].shape == group.domain)
      bits |= ladder.axes_that_vary(plan.graph[item.inputs[0]].node);
  }
  return bits;
}

void merge_axes(LoopNest& nest, const FusedGroup& group, std::uint32_t varies) {
  std::vector<int> order(static_cast<std::size_t>(group.domain.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (const int lead = leading_stream(nest, group.domain); lead >= 0) {
    const Strides& strides = nest.stream(lead).pattern.strides;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return std::abs(strides[a]) > std::abs(strides[b]); });
  } else {  // as in a sum of products: innermost is what most elements of the streams have side by side
    const auto side_by_side = [&](int axis) {
      std::int64_t elements = 0;
      for (const Stream& stream : nest.streams) {
        if (group.domain[axis] == 1 || stream.pattern.strides[axis] != 1) continue;
        std::int64_t own = 1;
        for (int i = 0; i < group.domain.rank(); ++i) own *= stream.pattern.strides[i] != 0 ? group.domain[i] : 1;
        elements += own;
      }
      return elements;
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return side_by_side(a) < side_by_side(b); });
  }
  for (int axis : order) {
    if (group.domain[axis] == 1) continue;
    Loop next{group.domain[axis], group.reduced.contains(axis), {}, (varies >> axis & 1) != 0};
    for (const Stream& stream : nest.streams) next.strides.push_back(stream.pattern.strides[axis]);
    if (!nest.loops.empty() && mergeable(nest.loops.back(), next)) {
      next.extent *= nest.loops.back().extent;
      next.varies = next.varies || nest.loops.back().varies;
      nest.loops.back() = std::move(next);
    } else {
      nest.loops.push_back(std::move(next));
    }
  }
}

// At most `most` of `extent`: a divisor of it, so that no tile has rows outside, unless that were less than half. Or a rung.
std::int64_t even_share(const tile::Ladder& ladder, std::int64_t extent, std::int64_t most) {
  if (!ladder.exact(extent)) return ladder.share(extent, most);
  if (extent <= most) return std::max<std::int64_t>(1, extent);
  for (std::int64_t d = most; 2 * d >= most; --d) {
    if (extent % d == 0) return d;
  }
  return most;
}

constexpr std::int64_t kFewestChunks = 8;  // that are worth a second program for their partial results

// A strip of a matrix whose rows are reduced by one instance is narrowed while there are few instances and little work for each.
constexpr std::int64_t kNarrowStrip = 1 << 16;  // elements

std::int64_t strip_columns(const LoopNest& nest, const runtime::TilePreference& tiles) {
  std::int64_t reduced = 1, kept = 1;
  for (int i = 0; i < static_cast<int>(nest.loops.size()); ++i) {
    if (i != nest.col) (nest.reduced(i) ? reduced : kept) *= nest.extent(i);
  }
  const std::int64_t extent = nest.extent(nest.col);
  std::int64_t columns = nest.ladder(tiles, nest.col).share(extent, std::min(tiles.elements, tiles.strips.columns));
  if (reduced * tiles.strips.least_columns > kNarrowStrip) return columns;
  while (columns / 2 >= tiles.strips.least_columns && kept * divide_up(extent, columns) < tiles.instances / 4)
    columns = divide_up(columns, 2);
  return columns;
}

// True if some operand is the same in every row, so that keeping it over many rows pays.
bool repeats_rows(const LoopNest& nest) {
  for (int s = 0; s < nest.loads; ++s) {
    const bool same = nest.stream(s).kind == Operand::Kind::Memory && nest.stream(s).line == 0 && !nest.moves(nest.row, s);
    if (same && nest.moves(nest.col, s)) return true;
  }
  return false;
}

// The loop along which something lies side by side in memory that has other strides where the columns run: it is read across. -1: none.
int crossing_loop(const LoopNest& nest) {
  for (int s = 0; s < nest.loads; ++s) {
    const auto stride = [&](int loop) { return std::abs(nest.stride(loop, s)); };
    if (nest.stream(s).kind != Operand::Kind::Memory || stride(nest.col) <= 1) continue;
    for (int loop = nest.col - 1; loop >= 0; --loop) {
      if (stride(loop) == 1 && nest.extent(loop) > 1) return loop;
    }
  }
  return -1;
}

// Shapes tiles for reads across rows, which fetch whole cache lines: a tile gets as many rows as a line has elements, and columns for the
// rest. In tiles of whole rows a copy from channels-last of 1024 pixels used 8 bytes of each line at a time, and took twice as long.
void cut_across(LoopNest& nest, const runtime::TilePreference& tiles, std::int64_t elements) {
  constexpr std::int64_t kLine = 16;  // elements of 4 bytes
  const int crossing = crossing_loop(nest);
  if (crossing < 0) return;
  const auto share = [&](int loop, std::int64_t most) {
    return even_share(nest.ladder(tiles, loop), nest.extent(loop), std::max<std::int64_t>(1, most));
  };
  nest.row = crossing;
  nest.cols = share(nest.col, elements / share(crossing, kLine));
  nest.rows = share(crossing, elements / nest.cols);
}

// How many rows that are reduced as a whole should be one tile, apart from its size.
std::int64_t long_rows_together(const LoopNest& nest, const runtime::TilePreference& tiles) {
  if (!nest.reduced(nest.col) || nest.cols < nest.extent(nest.col)) return 1;
  const tile::LongRowPreference& preference = tiles.long_rows;
  std::int64_t bytes = 0, repeated = 0;
  bool writes = false;
  for (int s = 0; s < static_cast<int>(nest.streams.size()); ++s) {
    if (!nest.moves(nest.col, s)) continue;
    (nest.moves(nest.row, s) || nest.stream(s).line != 0 ? bytes : repeated) += nest.cols * nest.stream(s).bytes;
    writes = writes || (s >= nest.loads && nest.moves(nest.row, s));
  }
  const bool meets_much = repeated > bytes;
  if (!writes || repeated == 0 || bytes <= (meets_much ? preference.bytes_of_fewer : preference.bytes) || bytes > preference.most_bytes)
    return 1;
  return meets_much && bytes <= preference.bytes_of_more ? preference.more_rows : preference.rows;
}

// Instances that walk over short rows get tiles of more of them: what a tile reads is what should be on its way from memory. Not where four
// rows, a warp each, with several sums to carry compute as long as memory takes for them: there more warps let some multiprocessors run
// ahead of the others (a layer norm's gradients over rows of 768 on an H200, written by hand: they end after 31 to 39 us instead of 34 to 36).
void heighten_tiles(LoopNest& nest, const runtime::TilePreference& tiles, std::int64_t sums) {
  if (nest.row < 0 || nest.cols > tiles.strips.short_row) return;
  std::int64_t bytes = 0;  // of a row
  for (int s = 0; s < nest.loads; ++s) {
    if (nest.moves(nest.row, s) && nest.moves(nest.col, s)) bytes += nest.cols * nest.stream(s).bytes;
  }
  if (sums > 1 && nest.rows == 4 && nest.rows * bytes <= tiles.strips.paced_bytes) return;
  const std::int64_t most = std::min({tiles.strips.walked_bytes / std::max<std::int64_t>(1, bytes), 2 * tiles.elements / nest.cols,
                                      nest.instances * nest.rows / tiles.strips.accumulators});
  if (most <= nest.rows) return;
  nest.instances /= nest.count(nest.row);
  nest.rows = even_share(nest.ladder(tiles, nest.row), nest.extent(nest.row), most);
  nest.instances *= nest.count(nest.row);
}

// Scratch and streams for the partial results of the reductions in `space`; each is dense over the loops that the reductions keep, in their order.
void add_partials(Plan& plan, const FusedGroup& group, LoopNest& nest, Space space) {
  const bool over_reduced = space == Space::Across;  // what is reduced across keeps the other reductions' loops
  nest.part_elements = 1;
  for (const Loop& loop : nest.loops) nest.part_elements *= loop.reduced == over_reduced ? loop.extent : 1;
  for (int i : group.items) {
    const Item& item = plan.graph[i];
    if (item.role() != Role::Reduce || plan.fusion.members[index(i)].space != space) continue;
    plan.scratch_bytes.push_back(static_cast<std::size_t>(nest.part_elements * nest.splits) * size_of(tile::compute_type(item.dtype)));
    std::ranges::lower_bound(nest.members, i, {}, &LoopNest::Member::item)->partial = static_cast<int>(nest.streams.size());
    nest.streams.push_back({Operand::Kind::Memory, i, {}, static_cast<int>(plan.scratch_bytes.size()) - 1});
    std::int64_t stride = 1;
    for (std::size_t l = nest.loops.size(); l-- > 0;) {
      const bool kept = nest.loops[l].reduced == over_reduced;
      nest.loops[l].strides.push_back(kept ? stride : 0);
      if (kept) stride *= nest.loops[l].extent;
    }
    nest.split.push_back(i);
  }
  std::ranges::sort(nest.split);
}

// Gives the tiles of a strip fewer rows if all tiles together would leave most of the machine idle, so that there are chunks to distribute.
void shorten_strips(LoopNest& nest, const runtime::TilePreference& tiles) {
  if (tiles.small_elements == 0 || nest.row < 0 || !nest.reduced(nest.row) || nest.chunks * nest.instances >= tiles.instances) return;
  const std::int64_t extent = nest.extent(nest.row);
  const std::int64_t rows = even_share(nest.ladder(tiles, nest.row), extent, std::max<std::int64_t>(1, tiles.small_elements / nest.cols));
  if (rows >= nest.rows || divide_up(extent, rows) < kFewestChunks) return;
  nest.chunks = nest.chunks / nest.count(nest.row) * divide_up(extent, rows);
  nest.rows = rows;
}

/// True if the item begins at a multiple of 8 bytes: where it is computed into memory of its own.
bool is_aligned(const Plan& plan, int item) {
  if (plan.graph[item].role() == Role::Leaf || plan.graph.places.empty()) return false;
  const Place& place = plan.graph.place(item);
  return place.value == item && place.spot.root == item && place.spot.bottom == item;
}

/// A copy that puts pairs in another order (complex numbers are such) moves each as one number: what is read across then fills more of a line.
void take_pairs(const Plan& plan, const FusedGroup& group, LoopNest& nest) {
  if (group.items.size() != 1 || plan.tiles.ladder.on || plan.graph[group.items[0]].op != copy_op()) return;
  if (nest.loops.size() < 2 || nest.streams.size() != 2 || nest.loops.back().extent != 2 || nest.loops.back().reduced) return;
  for (const Stream& stream : nest.streams) {
    if (stream.kind != Operand::Kind::Memory || size_of(plan.graph[stream.item].dtype) != 4 || stream.pattern.offset % 2 != 0) return;
    if (!is_aligned(plan, stream.item)) return;
  }
  for (const Loop& loop : nest.loops) {
    const bool last = &loop == &nest.loops.back();
    if (!std::ranges::all_of(loop.strides, [&](std::int64_t stride) { return last ? stride == 1 : stride % 2 == 0; })) return;
  }
  nest.loops.pop_back();
  for (Loop& loop : nest.loops)
    for (std::int64_t& stride : loop.strides) stride /= 2;
  for (Stream& stream : nest.streams) stream.pattern.offset /= 2, stream.bytes *= 2;
  nest.copies_pairs = true;
}

}  // namespace

LoopNest make_loop_nest(const Plan& plan, const FusedGroup& group) {
  LoopNest nest;
  std::size_t reads = 0;
  for (int i : group.items) reads += plan.graph[i].inputs.size();
  nest.reads.reserve(reads), nest.members.reserve(group.items.size());
  for (int i : group.items) {
    nest.members.push_back({.item = i, .place = static_cast<int>(nest.members.size()), .first_read = nest.reads.size()});
    for (std::size_t k = 0; k < plan.graph[i].inputs.size(); ++k) {
      LoopNest::Read& read = nest.reads.emplace_back(operand_of(plan.graph, plan.fusion, i, k));
      const Operand& operand = read.operand;
      if (operand.kind == Operand::Kind::Memory || operand.kind == Operand::Kind::Index) {
        const auto bytes = operand.kind == Operand::Kind::Memory ? static_cast<std::int64_t>(size_of(plan.graph[operand.base].dtype)) : 0;
        read.stream = stream_number(nest, {operand.kind, operand.base, operand.pattern, -1, bytes, operand.line});
      }
    }
  }
  nest.loads = static_cast<int>(nest.streams.size());
  for (LoopNest::Member& member : nest.members) {
    if (!plan.fusion.stored[index(member.item)]) continue;
    member.store = static_cast<int>(nest.streams.size());
    nest.streams.push_back({Operand::Kind::Memory, member.item, store_pattern(plan, group, member.item), -1});
  }
  std::ranges::sort(nest.members, {}, &LoopNest::Member::item);
  merge_axes(nest, group, axes_that_vary(plan, group));
  take_pairs(plan, group, nest);
  return nest;
}

void choose_tiles(LoopNest& nest, const runtime::TilePreference& tiles) {
  const int count = static_cast<int>(nest.loops.size());
  bool has_reduction = false;
  for (const Loop& loop : nest.loops) has_reduction = has_reduction || loop.reduced;
  const auto last_where = [&](bool reduced, int before) {
    for (int i = before - 1; i >= 0; --i) {
      if (nest.loops[index(i)].reduced == reduced) return i;
    }
    return -1;
  };
  nest.col = count - 1;
  nest.row = -1;
  // Elements are independent of each other, or rows are.
  const bool independent = !has_reduction || (nest.reduced(nest.col) && nest.loops.back().extent <= tiles.longest_row);
  std::int64_t elements = tiles.elements;
  if (independent) {
    std::int64_t total = 1;
    for (const Loop& loop : nest.loops) total *= loop.extent;
    elements = tiles.elements_for(total);
  }
  nest.cols = nest.rows = 1;
  if (nest.col >= 0) {
    const tile::Ladder ladder = nest.ladder(tiles, nest.col);
    const std::int64_t extent = nest.extent(nest.col);
    if (nest.reduced(nest.col)) {
      nest.row = last_where(false, nest.col);
      // A sum of everything is one tile, of which little is computed: there is no row to be short of.
      const std::int64_t whole = count == 1 ? ladder.share(extent, tiles.longest_row) : ladder.whole(extent);
      nest.cols = extent <= whole && whole <= tiles.longest_row ? whole : elements;
    } else {
      nest.row = last_where(true, nest.col);
      if (nest.row < 0) nest.row = last_where(false, nest.col);
      const std::int64_t rows = nest.row >= 0 ? nest.extent(nest.row) : 1;
      nest.cols = has_reduction ? strip_columns(nest, tiles) : ladder.columns(rows, extent, elements);
      if (count == 1) nest.cols = elements;
    }
    nest.cols = std::max<std::int64_t>(1, nest.cols);
  }
  if (!has_reduction && nest.row >= 0 && tiles.strips.repeated_elements > 0 && elements == tiles.elements && repeats_rows(nest)) {
    nest.cols = std::min(nest.cols, tiles.strips.columns);
    elements = tiles.strips.repeated_elements;
  }
  if (nest.row >= 0) {
    nest.rows =
        even_share(nest.ladder(tiles, nest.row), nest.extent(nest.row), std::max(long_rows_together(nest, tiles), elements / nest.cols));
  }
  // Not on GPUs, which were measured with whole rows, and where other tiles are other kernels.
  if (!has_reduction && nest.row >= 0 && !tiles.kernels_take_long) cut_across(nest, tiles, elements);
  nest.chunks = nest.instances = 1;
  for (int i = 0; i < count; ++i) (nest.reduced(i) ? nest.chunks : nest.instances) *= nest.count(i);
}

bool holds_whole_rows(const Plan& plan, const FusedGroup& group) {
  LoopNest nest = make_loop_nest(plan, group);
  choose_tiles(nest, plan.tiles);
  return nest.chunks == 1 && nest.reduced(nest.col) && !nest.reduced(nest.row);
}

bool split_reduction(Plan& plan, const FusedGroup& group, LoopNest& nest, const runtime::TilePreference& tiles) {
  shorten_strips(nest, tiles);
  if (nest.chunks < kFewestChunks || nest.instances >= tiles.instances || nest.instances == 0) return false;
  // An instance takes several chunks, unless there are not enough to go round.
  const std::int64_t least = tiles.small_elements > 0 && nest.chunks * nest.instances < tiles.instances ? 1 : 4;
  const std::int64_t wanted = std::max<std::int64_t>(2, std::min(nest.chunks / least, divide_up(tiles.instances, nest.instances)));
  nest.share = divide_up(nest.chunks, wanted);
  nest.splits = divide_up(nest.chunks, nest.share);
  add_partials(plan, group, nest, Space::Reduced);
  return true;
}

void split_across(Plan& plan, const FusedGroup& group, LoopNest& nest, const runtime::TilePreference& tiles) {
  const std::int64_t sums = std::ranges::count_if(
      group.items, [&](int i) { return plan.graph[i].role() == Role::Reduce && plan.fusion.members[index(i)].space == Space::Across; });
  heighten_tiles(nest, tiles, sums);
  nest.share = divide_up(nest.instances, tiles.strips.accumulators);
  nest.in_turn = tiles.strips.in_turn;
  const std::int64_t splits = nest.in_turn ? tiles.strips.accumulators : divide_up(nest.instances, std::max<std::int64_t>(1, nest.share));
  nest.splits = std::clamp<std::int64_t>(splits, 1, std::max<std::int64_t>(1, nest.instances));
  add_partials(plan, group, nest, Space::Across);
}

LoopNest combining_nest(const LoopNest& nest, const FusedGroup& group) {
  const bool across = !group.across.empty();
  LoopNest out = nest;
  out.splits = out.share = 1;
  out.in_turn = false;
  out.loops.clear();
  Loop parts{nest.splits, true, std::vector<std::int64_t>(nest.streams.size()), false};
  for (std::size_t s = 0; s < parts.strides.size(); ++s) parts.strides[s] = nest.streams[s].scratch >= 0 ? nest.part_elements : 0;
  out.loops.push_back(std::move(parts));
  for (const Loop& loop : nest.loops) {
    if (loop.reduced != across) continue;
    out.loops.push_back(loop);
    out.loops.back().reduced = false;
  }
  return out;
}

}  // namespace tegula::compile
