// Boxes of tensors that the copy engine brings, and the counters of their bytes (PTX, "mbarrier", "cp.async.bulk.tensor").

#include <algorithm>
#include <bit>
#include <utility>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

namespace {

/// The active lanes of the warp at those addresses; none where one is not known.
Access access_of(Cluster& cluster, const Warp& warp, const Slot& address, const std::string* said) {
  Access access{.block = warp.block,
                .first_thread = warp.first_thread,
                .addresses = warp.lanes<std::uint64_t>(address),
                .mask = warp.mask,
                .said = said};
  if (const std::uint32_t unknown = warp.mask & ~warp.defined[warp.at(address)]; unknown != 0) {
    cluster.memory().find(Finding::Kind::Undefined, access, std::countr_zero(unknown), " (its address)");
    access.mask = 0;
  }
  return access;
}

/// Calls f for each active lane, alone.
template <class F>
void each_lane(const Access& access, F&& f) {
  for (std::uint32_t left = access.mask; left != 0; left &= left - 1) {
    Access one = access;
    one.mask = left & (0u - left);
    f(one, std::countr_zero(left));
  }
}

/// Returns the pieces that the box that begins at these coordinates (columns, rows, planes) leaves from `begin` on.
std::vector<Arrivals::Piece> pieces_of(const Cluster::Map& given, const std::vector<std::int64_t>& first, std::uint64_t begin) {
  const TensorMap& map = *given.of;
  const auto size = static_cast<std::int64_t>(size_of(map.dtype)), each = 16 / size;
  std::vector<Arrivals::Piece> pieces;
  const std::int64_t rows = map.all_rows();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t y = first[1] + row % map.box_rows * map.row_step;
    bool there = y < given.rows && (!map.inside || y >= 0);
    std::int64_t from = y * given.stride, rest = row / map.box_rows;
    for (std::size_t i = 0; i < map.planes.size(); ++i) {
      const std::int64_t plane = first[2 + i] + rest % map.planes[i].box * map.planes[i].step;
      rest /= map.planes[i].box;
      there = there && (!map.inside || plane >= 0) && plane < given.planes[i].size.value_or(plane + 1);
      from += plane * given.planes[i].distance;
    }
    for (std::int64_t piece = 0; piece < map.pitch / 16; ++piece) {
      const std::int64_t column = first[0] + piece * each;
      std::int64_t inside = there ? std::clamp<std::int64_t>(given.columns - column, 0, each) : 0;
      if (map.inside && column < 0) inside = 0;
      std::uint64_t place = begin + static_cast<std::uint64_t>(row * map.pitch + piece * 16);
      place ^= (place >> 7 & static_cast<std::uint64_t>(map.pitch / 16 - 1)) << 4;
      pieces.push_back({.to = place,
                        .from = given.begin + static_cast<std::uint64_t>((from + column) * size),
                        .there = static_cast<std::size_t>(inside * size)});
    }
  }
  return pieces;
}

}  // namespace

void Translator::operator()(const BeginCounters& begin) {
  const Value place = lanes(begin.place);
  for (int i = 0; i < begin.count; ++i) {
    const Value one = pointer_sum(place, constant(Number::I64, static_cast<std::uint64_t>(8 * i)));
    native([at = one.slot, arrivals = begin.arrivals, sentence = said(text(begin.place))](Cluster& cluster, Warp& warp) {
      each_lane(access_of(cluster, warp, at, sentence), [&](const Access& counter, int) { cluster.arrivals().begin(counter, arrivals); });
    });
  }
}

void Translator::operator()(const EndCounters& end) {
  const Value place = lanes(end.place);
  for (int i = 0; i < end.count; ++i) {
    const Value one = pointer_sum(place, constant(Number::I64, static_cast<std::uint64_t>(8 * i)));
    native([at = one.slot, sentence = said(text(end.place))](Cluster& cluster, Warp& warp) {
      each_lane(access_of(cluster, warp, at, sentence), [&](const Access& counter, int) { cluster.arrivals().end(counter); });
    });
  }
}

void Translator::operator()(const ExpectBytes& expect) {
  const Value counter = lanes(expect.counter);
  native([at = counter.slot, bytes = static_cast<std::int64_t>(expect.bytes), sentence = said(text(expect.counter))](Cluster& cluster,
                                                                                                                     Warp& warp) {
    each_lane(access_of(cluster, warp, at, sentence), [&](const Access& one, int) { cluster.arrivals().expect(one, bytes); });
  });
}

namespace {

/// Calls f(access, address) for the same place in the memory of the cluster's block of that number, where there is such a block.
template <class F>
void in_block(Cluster& cluster, Access access, int lane, std::int64_t block, F&& f) {
  if (block < 0 || block >= cluster.blocks()) return cluster.memory().find(Finding::Kind::Outside, access, lane, " (of no block)");
  std::uint64_t addresses[kLanes] = {};
  const std::uint64_t distance = cluster.memory().distance(access.block, static_cast<int>(block));
  addresses[lane] = access.addresses[lane] + distance;
  access.addresses = addresses, access.of_cluster = true;
  f(access, distance);
}

}  // namespace

void Translator::operator()(const Arrive& arrive) {
  const Value counter = lanes(arrive.counter);
  if (!arrive.block) {
    return native([at = counter.slot, sentence = said(text(arrive.counter))](Cluster& cluster, Warp& warp) {
      each_lane(access_of(cluster, warp, at, sentence), [&](const Access& one, int) { cluster.arrivals().arrive(one); });
    });
  }
  const Value block = lanes(*arrive.block, Number::I32);
  native([at = counter.slot, to = block.slot, sentence = said(text(arrive.counter))](Cluster& cluster, Warp& warp) {
    each_lane(access_of(cluster, warp, at, sentence), [&](const Access& one, int lane) {
      if ((warp.defined[warp.at(to)] >> lane & 1) == 0) return cluster.memory().find(Finding::Kind::Undefined, one, lane, " (its block)");
      in_block(cluster, one, lane, warp.lanes<std::int32_t>(to)[lane],
               [&](const Access& there, std::uint64_t) { cluster.arrivals().arrive(there); });
    });
  });
}

/// Returns the slots of the box's coordinates, and of its limits if the thread may move it itself.
template <class Box>
std::pair<std::vector<Slot>, std::vector<Slot>> Translator::coordinates(const Box& box) {
  const auto number = [&](const Expression& e) { return lanes(e, Number::I64).slot; };
  std::pair<std::vector<Slot>, std::vector<Slot>> slots{{number(box.x), number(box.y)}, {}};
  for (const Expression& plane : box.planes) slots.first.push_back(number(plane));
  if (!box.inside) slots.second = {lanes(box.pointer).slot, number(box.columns), number(box.rows), number(box.stride)};
  return slots;
}

namespace {

/// The pieces of the lane's box; none where a number is not known.
std::vector<Arrivals::Piece> pieces_of(Cluster& cluster, const Warp& warp, Access& by, int lane, int map, bool inside,
                                       const std::vector<Slot>& at, const std::vector<Slot>& limits) {
  const auto value = [&](const Slot& slot) { return warp.lanes<std::int64_t>(slot)[lane]; };
  for (const auto* const all : {&at, &limits}) {
    for (const Slot& slot : *all)
      if ((warp.defined[warp.at(slot)] >> lane & 1) == 0)
        return cluster.memory().find(Finding::Kind::Undefined, by, lane, " (its coordinates)"), std::vector<Arrivals::Piece>();
  }
  Cluster::Map given = cluster.map(map);
  std::vector<std::int64_t> first;
  for (const Slot& slot : at) first.push_back(value(slot));
  if (!inside && std::ranges::any_of(first, [](std::int64_t one) { return one < 0; })) {  // the thread itself
    given.begin = warp.lanes<std::uint64_t>(limits[0])[lane];
    given.columns = value(limits[1]), given.rows = value(limits[2]), given.stride = value(limits[3]);
    for (std::size_t i = 0; i < given.planes.size(); ++i) given.planes[i] = {}, first[2 + i] = 0;
  }
  if (by.addresses[lane] % 128 != 0) cluster.memory().find(Finding::Kind::Misaligned, by, lane);
  by.element = size_of(given.of->dtype);
  return pieces_of(given, first, by.addresses[lane]);
}

}  // namespace

void Translator::operator()(const CopyBox& copy) {
  const Value place = lanes(copy.place), counter = lanes(copy.counter);
  const auto [at, limits] = coordinates(copy);
  native([at, limits, to = place.slot, count = counter.slot, map = copy.map, inside = copy.inside, blocks = copy.blocks,
          sentence = said(text(copy.place))](Cluster& cluster, Warp& warp) {
    each_lane(access_of(cluster, warp, to, sentence), [&](Access by, int lane) {
      if ((warp.defined[warp.at(count)] >> lane & 1) == 0)
        return cluster.memory().find(Finding::Kind::Undefined, by, lane, " (its counter)");
      std::vector<Arrivals::Piece> pieces = pieces_of(cluster, warp, by, lane, map, inside, at, limits);
      if (pieces.empty()) return;
      Access counted = by;
      counted.addresses = warp.lanes<std::uint64_t>(count);
      if (blocks == 0) return cluster.arrivals().bring(by, counted, std::move(pieces), cluster.copies_at_once());
      for (unsigned left = blocks; left != 0; left &= left - 1) {
        const int block = std::countr_zero(left);
        in_block(cluster, by, lane, block, [&](const Access& there, std::uint64_t distance) {
          std::vector<Arrivals::Piece> moved = pieces;
          for (Arrivals::Piece& piece : moved) piece.to += distance;
          in_block(cluster, counted, lane, block, [&](const Access& counter_there, std::uint64_t) {
            cluster.arrivals().bring(there, counter_there, std::move(moved), cluster.copies_at_once());
          });
        });
      }
    });
  });
}

void Translator::operator()(const StoreBox& store) {
  const Value place = lanes(store.place);
  const auto [at, limits] = coordinates(store);
  native([at, limits, from = place.slot, map = store.map, inside = store.inside, sentence = said(text(store.place))](Cluster& cluster,
                                                                                                                     Warp& warp) {
    each_lane(access_of(cluster, warp, from, sentence), [&](Access by, int lane) {
      std::vector<Arrivals::Piece> pieces = pieces_of(cluster, warp, by, lane, map, inside, at, limits);
      cluster.departures().take(by, std::move(pieces), cluster.copies_at_once());
    });
  });
}
void Translator::operator()(const CloseStores&) {
  native([](Cluster& cluster, Warp& warp) {
    each_lane({.block = warp.block, .first_thread = warp.first_thread, .mask = warp.mask},
              [&](const Access& by, int) { cluster.departures().close(by); });
  });
}
void Translator::operator()(const AwaitStores& wait) {
  native([unfinished = wait.unfinished](Cluster& cluster, Warp& warp) {
    each_lane({.block = warp.block, .first_thread = warp.first_thread, .mask = warp.mask},
              [&](const Access& by, int) { cluster.departures().await(by, unfinished); });
  });
}

void Translator::operator()(const AwaitBytes& wait) {
  const Value counter = lanes(wait.counter), parity = lanes(wait.parity, Number::I32);
  native([at = counter.slot, phase = parity.slot, sentence = said(text(wait.counter))](Cluster& cluster, Warp& warp) {
    const Access access = access_of(cluster, warp, at, sentence);
    if (access.mask == 0) return;
    const int lane = std::countr_zero(access.mask);
    warp.awaited = access.addresses[lane], warp.parity = warp.lanes<std::int32_t>(phase)[lane] != 0;
    warp.said = sentence;
    if (!cluster.arrivals().has_ended(access, warp.parity)) warp.wait = Warp::Wait::Bytes;
  });
}

}  // namespace tegula::simt
