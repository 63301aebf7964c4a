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

void Translator::operator()(const Arrive& arrive) {
  const Value counter = lanes(arrive.counter);
  native([at = counter.slot, sentence = said(text(arrive.counter))](Cluster& cluster, Warp& warp) {
    each_lane(access_of(cluster, warp, at, sentence), [&](const Access& one, int) { cluster.arrivals().arrive(one); });
  });
}

void Translator::operator()(const CopyBox& copy) {
  const Value place = lanes(copy.place), counter = lanes(copy.counter), pointer = lanes(copy.pointer);
  const auto number = [&](const Expression& e) { return lanes(e, Number::I64).slot; };
  std::vector<Slot> planes;
  for (const Expression& plane : copy.planes) planes.push_back(number(plane));
  Type one = pointer.type;
  --one.pointers;
  native([=, to = place.slot, count = counter.slot, tensor = pointer.slot, x_at = number(copy.x), y_at = number(copy.y),
          columns_at = number(copy.columns), rows_at = number(copy.rows), stride_at = number(copy.stride), map = copy.map,
          box_rows = copy.box_rows, pitch = copy.pitch, size = static_cast<std::int64_t>(bytes_of(one)),
          sentence = said(text(copy.place))](Cluster& cluster, Warp& warp) {
    each_lane(access_of(cluster, warp, to, sentence), [&](Access by, int lane) {
      const auto value = [&](const Slot& slot) { return warp.lanes<std::int64_t>(slot)[lane]; };
      for (const Slot& slot : {count, tensor, x_at, y_at, columns_at, rows_at, stride_at}) {
        if ((warp.defined[warp.at(slot)] >> lane & 1) != 0) continue;
        return cluster.memory().find(Finding::Kind::Undefined, by, lane, " (its coordinates)");
      }
      for (const Slot& slot : planes)
        if ((warp.defined[warp.at(slot)] >> lane & 1) == 0)
          return cluster.memory().find(Finding::Kind::Undefined, by, lane, " (its plane)");
      const std::int64_t x = value(x_at), y = value(y_at);
      Cluster::Map given = cluster.map(map);
      bool negative = x < 0 || y < 0;
      for (std::size_t i = 0; i < planes.size(); ++i) {
        negative = negative || value(planes[i]) < 0;
        given.begin += static_cast<std::uint64_t>(value(planes[i]) * given.planes[i] * size);
      }
      if (negative)  // the thread itself
        given = {.begin = warp.lanes<std::uint64_t>(tensor)[lane],
                 .columns = value(columns_at),
                 .rows = value(rows_at),
                 .stride = value(stride_at)};
      const std::uint64_t begin = by.addresses[lane];
      if (begin % 128 != 0) cluster.memory().find(Finding::Kind::Misaligned, by, lane);
      std::vector<Arrivals::Piece> pieces;
      for (std::int64_t row = 0; row < box_rows; ++row) {
        for (std::int64_t piece = 0; piece < pitch / 16; ++piece) {
          const std::int64_t column = x + piece * 16 / size;
          const std::int64_t there = y + row < given.rows ? std::clamp<std::int64_t>(given.columns - column, 0, 16 / size) : 0;
          std::uint64_t place_of = begin + static_cast<std::uint64_t>(row * pitch + piece * 16);
          place_of ^= (place_of >> 7 & static_cast<std::uint64_t>(pitch / 16 - 1)) << 4;
          pieces.push_back({.to = place_of,
                            .from = given.begin + static_cast<std::uint64_t>(((y + row) * given.stride + column) * size),
                            .there = static_cast<std::size_t>(there * size)});
        }
      }
      by.element = static_cast<std::size_t>(size);
      Access at = by;
      at.addresses = warp.lanes<std::uint64_t>(count);
      cluster.arrivals().bring(by, at, std::move(pieces), cluster.copies_at_once());
    });
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
