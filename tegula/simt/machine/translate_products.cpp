// The products of tensor cores (PTX, "Warp Level Matrix Instructions").

#include <algorithm>
#include <array>
#include <cmath>

#include "tegula/simt/machine/cluster.h"
#include "tegula/simt/machine/translator.h"

namespace tegula::simt {

namespace {

using Lanes = std::uint32_t;

/// All lanes do it together.
void check_together(Cluster& cluster, const Warp& warp) {
  static const std::string place = "what a warp's lanes do together";
  if (warp.mask == ~0u) return;
  cluster.memory().find(Finding::Kind::Apart, {.block = warp.block, .first_thread = warp.first_thread, .said = &place}, 0);
}

/// A register of a fragment: so many numbers, side by side.
struct Fragments {
  Slot slot;
  int count = 2;  // numbers of a register

  const std::byte* lanes(const Warp& warp, int reg, int number) const {
    return warp.lanes(warp.at(slot) + static_cast<std::size_t>(reg * count + number));
  }
  template <class T>
  T number(const Warp& warp, int reg, int lane, int which) const {
    return reinterpret_cast<const T*>(lanes(warp, reg, which))[lane];
  }
  bool defined(const Warp& warp, int registers) const {
    const std::size_t first = warp.at(slot);
    for (int i = 0; i < registers * count; ++i)
      if (warp.defined[first + static_cast<std::size_t>(i)] != ~0u) return false;
    return true;
  }
};

template <class T>
T added(T a, T b, T sum) {
  if constexpr (std::is_same_v<T, float>) return std::fma(a, b, sum);
  else return static_cast<T>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

/// A fragment's rows (of the right one: columns) are those of its lanes in fours, its terms go on within a register, then from lane to lane, then to the
/// registers of the next half.
template <class T>
void multiply(Warp& warp, const Slot& upper, const Slot& lower, const Fragments& left, const Fragments& right, int second) {
  const int numbers = left.count, half = 4 * numbers;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int below = 0; below < 2; ++below) {
      for (int k = 0; k < 2; ++k) {
        T& sum = reinterpret_cast<T*>(warp.lanes(warp.at(below != 0 ? lower : upper) + static_cast<std::size_t>(k)))[lane];
        for (int term = 0; term < 2 * half; ++term) {
          const int of_half = term % half, from = of_half / numbers, which = of_half % numbers;
          const T a = left.number<T>(warp, below + term / half * 2, lane / 4 * 4 + from, which);
          const T b = right.number<T>(warp, second + term / half, (lane % 4 * 2 + k) * 4 + from, which);
          sum = added(a, b, sum);
        }
      }
    }
  }
}

/// An operand of four warps' products, as their descriptors have it.
struct Side {
  static constexpr int kMostTerms = 32;
  Slot place;
  int size = 2;  // bytes of an element
  int pitch = 128;
  std::size_t beside = 0;
  bool by_terms = false;
  const std::string* said = nullptr;

  int terms() const { return 32 / size; }
  std::uint64_t address(std::uint64_t begin, int row, int term) const {
    const auto pitch_bytes = static_cast<std::uint64_t>(pitch);
    std::uint64_t place_of = begin + static_cast<std::uint64_t>(row) * pitch_bytes + static_cast<std::uint64_t>(term * size);
    if (by_terms)
      place_of = begin + static_cast<std::uint64_t>(row / 64) * beside + static_cast<std::uint64_t>(term) * pitch_bytes +
                 static_cast<std::uint64_t>(row % 64 * size);
    return place_of ^ ((place_of >> 7 & (pitch_bytes / 16 - 1)) << 4);
  }
  /// Sixteen rows from the first on, of all terms each: out[row][term]. False where something is not there.
  template <class T>
  bool read(Cluster& cluster, const Warp& warp, std::uint64_t begin, int first, LoadFunction load, T (*out)[kMostTerms]) const {
    std::uint64_t addresses[kLanes];
    Access access{.block = warp.block,
                  .first_thread = warp.first_thread,
                  .addresses = addresses,
                  .mask = ~0u,
                  .bytes = 16,
                  .element = static_cast<std::size_t>(size),
                  .said = said,
                  .by_group = true};
    for (int lane = 0; lane < kLanes; ++lane)
      addresses[lane] =
          by_terms ? address(begin, first + lane / 16 * 8, lane % 16) : address(begin, first + lane % 16, lane / 16 * (16 / size));
    Lanes defined = 0;
    if (cluster.memory().read(access, defined) != ~0u) return false;
    T numbers[kLanes];
    for (int number = 0; number < 16 * terms(); number += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane)
        addresses[lane] = address(begin, first + (number + lane) / terms(), (number + lane) % terms());
      load(reinterpret_cast<std::byte*>(numbers), addresses, ~0u, 0);
      for (int lane = 0; lane < kLanes; ++lane) out[(number + lane) / terms()][(number + lane) % terms()] = numbers[lane];
    }
    return defined == ~0u;
  }
};

/// The warp's 16 rows of 16 terms, as its lanes hold them in four registers from that granule on. False where something is not there.
bool read_fragment(const Warp& warp, std::size_t first, float (*out)[Side::kMostTerms]) {
  bool defined = true;
  for (int part = 0; part < 4; ++part) {
    for (int number = 0; number < 2; ++number) {
      const std::size_t granule = first + static_cast<std::size_t>(part * 2 + number);
      defined = defined && warp.defined[granule] == ~0u;
      const auto* const numbers = reinterpret_cast<const float*>(warp.lanes(granule));
      for (int lane = 0; lane < kLanes; ++lane) out[part % 2 * 8 + lane / 4][part / 2 * 8 + lane % 4 * 2 + number] = numbers[lane];
    }
  }
  return defined;
}

/// The left operand of a warp's part: in shared memory, or in registers.
struct LeftSide {
  Side side;
  std::uint64_t begin = 0;
  bool packed = false;
  std::size_t granule = 0;  // then: the first one

  template <class T>
  bool read(Cluster& cluster, const Warp& warp, LoadFunction load, T (*out)[Side::kMostTerms]) const {
    if constexpr (std::is_same_v<T, float>)
      if (packed) return read_fragment(warp, granule, out);
    return side.read(cluster, warp, begin, warp.first_thread / kLanes % 4 * 16, load, out);
  }
};

/// Adds a warp's products, 16 rows of its group's 64 times `columns` columns, to the sums at the granules of `rows`. Returns false if an operand is not there.
template <class T>
bool multiply_tile(Cluster& cluster, Warp& warp, const LeftSide& left, const Side& right, std::uint64_t b, int columns,
                   const std::array<std::size_t, 2>& rows, LoadFunction load, bool fresh) {
  T of_left[16][Side::kMostTerms], of_right[16][Side::kMostTerms];
  bool defined = left.read(cluster, warp, load, of_left);
  for (int block = 0; block < columns; block += 16) {
    defined = right.read(cluster, warp, b, block, load, of_right) && defined;
    for (int below = 0; below < 2; ++below) {
      for (int i = 0; i < 4; ++i) {
        auto* const sums =
            reinterpret_cast<T*>(warp.lanes(rows[static_cast<std::size_t>(below)] + static_cast<std::size_t>(block / 4 + i)));
        for (int lane = 0; lane < kLanes; ++lane) {
          const int row = below * 8 + lane / 4, column = i / 2 * 8 + lane % 4 * 2 + i % 2;
          T sum = fresh ? T{} : sums[lane];
          for (int term = 0; term < right.terms(); ++term) sum = added(of_left[row][term], of_right[column][term], sum);
          sums[lane] = sum;
        }
      }
    }
  }
  return defined;
}

}  // namespace

void Translator::operator()(const ReadMatrices& read) {
  const Value place = lanes(read.place), target = registers(read.target);
  const Type one = stored(target.type.dtype);
  const int numbers = target.type.count, bytes = static_cast<int>(bytes_of(one));
  native([=, by_terms = read.by_terms, from = place.slot, out = target.slot, load = loading(one), sentence = said(text(read.place))](
             Cluster& cluster, Warp& warp) {
    check_together(cluster, warp);
    const auto* const rows = warp.lanes<std::uint64_t>(from);
    const bool known = warp.defined[warp.at(from)] == ~0u;
    for (int matrix = 0; matrix < 4; ++matrix) {
      // Each matrix is eight accesses of 16 bytes.
      std::uint64_t starts[kLanes] = {};
      std::copy_n(rows + matrix * 8, 8, starts);
      Access access{.block = warp.block,
                    .first_thread = warp.first_thread,
                    .addresses = starts,
                    .mask = 0xff,
                    .bytes = 16,
                    .element = static_cast<std::size_t>(bytes),
                    .said = sentence};
      if (!known) cluster.memory().find(Finding::Kind::Undefined, access, 0, " (its address)");
      Lanes defined_rows = 0;
      const Lanes allowed = known ? cluster.memory().read(access, defined_rows) : 0;
      for (int number = 0; number < numbers; ++number) {
        std::uint64_t addresses[kLanes];
        Lanes there = 0, defined = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
          const int row = by_terms ? lane % 4 * 2 + number : lane / 4, at = by_terms ? lane / 4 * 2 : lane % 4 * 4 + number * bytes;
          addresses[lane] = starts[row] + static_cast<std::uint64_t>(at);
          there |= (allowed >> row & 1) << lane, defined |= (defined_rows >> row & 1) << lane;
        }
        const std::size_t granule = warp.at(out) + static_cast<std::size_t>(matrix * numbers + number);
        load(warp.lanes(granule), addresses, there, 0);
        warp.defined[granule] = defined & there;
      }
    }
  });
}

void Translator::operator()(const WriteMatrices& write) {
  const Value place = lanes(write.place), source = registers(write.source);
  const Type one = stored(source.type.dtype);
  native([=, to = place.slot, from = source.slot, store = storing(one), sentence = said(text(write.place))](Cluster& cluster, Warp& warp) {
    check_together(cluster, warp);
    const auto* const rows = warp.lanes<std::uint64_t>(to);
    const bool known = warp.defined[warp.at(to)] == ~0u;
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::uint64_t starts[kLanes] = {};
      std::copy_n(rows + matrix * 8, 8, starts);
      const std::size_t granule = warp.at(from) + static_cast<std::size_t>(matrix * 2);
      const Lanes there = warp.defined[granule] & warp.defined[granule + 1];
      Lanes defined = 0;  // rows, of which four lanes hold a part each
      for (int row = 0; row < 8; ++row) defined |= static_cast<Lanes>((there >> (row * 4) & 0xf) == 0xf) << row;
      const Access access{.block = warp.block,
                          .first_thread = warp.first_thread,
                          .addresses = starts,
                          .mask = 0xff,
                          .bytes = 16,
                          .element = 2,
                          .said = sentence};
      if (!known) cluster.memory().find(Finding::Kind::Undefined, access, 0, " (its address)");
      const Lanes allowed = known ? cluster.memory().write(access, defined) : 0;
      for (int number = 0; number < 2; ++number) {
        std::uint64_t addresses[kLanes];
        Lanes mask = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
          addresses[lane] = starts[lane / 4] + static_cast<std::uint64_t>(lane % 4 * 4 + number * 2);
          mask |= (allowed >> (lane / 4) & 1) << lane;
        }
        store(warp.lanes(granule + static_cast<std::size_t>(number)), addresses, mask, 0);
      }
    }
  });
}

void Translator::operator()(const PackFragment& pack) {
  const Value source = registers(pack.source), target = registers(pack.target);
  for (int k = 0; k < target.type.count; ++k)
    compute(rounding(target.type.dtype), {computed(tile::compute_type(target.type.dtype)), target.slot + k}, {source.slot + k}, true);
}

void Translator::operator()(const MultiplyFragments& product) {
  const Value upper = registers(product.upper), lower = registers(product.lower), left = registers(product.left),
              right = registers(product.right);
  native([=, first = upper.slot, second_row = lower.slot, a = Fragments{left.slot, left.type.count},
          b = Fragments{right.slot, right.type.count}, second = product.second,
          real = is_float(product.dtype)](Cluster& cluster, Warp& warp) {
    check_together(cluster, warp);
    const std::size_t sums[] = {warp.at(first), warp.at(second_row)};
    Fragments used = b;
    bool defined = a.defined(warp, 4);
    for (int i = second * b.count; i < (second + 2) * b.count; ++i)
      defined = defined && warp.defined[warp.at(b.slot) + static_cast<std::size_t>(i)] == ~0u;
    for (const std::size_t sum : sums) defined = defined && warp.defined[sum] == ~0u && warp.defined[sum + 1] == ~0u;
    if (real) multiply<float>(warp, first, second_row, a, used, second);
    else multiply<std::int32_t>(warp, first, second_row, a, used, second);
    for (const std::size_t sum : sums) warp.defined[sum] = warp.defined[sum + 1] = defined ? ~0u : 0u;
  });
}

void Translator::operator()(const MultiplyTile& product) {
  const auto side = [&](const MultiplyTile::Side& one) {
    return Side{.place = lanes(one.place).slot,
                .size = static_cast<int>(size_of(product.dtype)),
                .pitch = one.pitch,
                .beside = one.beside,
                .by_terms = one.by_terms,
                .said = said(text(one.place))};
  };
  const bool packed = static_cast<bool>(product.registers);
  const Side right = side(product.right), left = packed ? right : side(product.left);
  const Fragments given{packed ? registers(*product.registers).slot : Slot(), 2};
  const Value upper = registers(product.upper), lower = registers(product.lower);
  native([=, first = upper.slot, second = lower.slot, columns = product.columns, load = loading(stored(product.dtype)),
          real = is_float(product.dtype), fresh = product.fresh](Cluster& cluster, Warp& warp) {
    check_together(cluster, warp);
    for (const Side* const one : {&left, &right}) {
      if (warp.defined[warp.at(one->place)] == ~0u) continue;
      return cluster.memory().find(Finding::Kind::Undefined, {.block = warp.block, .first_thread = warp.first_thread, .said = one->said}, 0,
                                   " (its address)");
    }
    const std::uint64_t a = warp.lanes<std::uint64_t>(left.place)[0], b = warp.lanes<std::uint64_t>(right.place)[0];
    const std::array<std::size_t, 2> rows{warp.at(first), warp.at(second)};
    const auto each_sum = [columns, rows](auto&& f) {
      for (const std::size_t row : rows)
        for (int i = 0; i < columns / 4; ++i) f(row + static_cast<std::size_t>(i));
    };
    bool known = true;
    each_sum([&](std::size_t granule) {
      known = known && (fresh || warp.defined[granule] == ~0u || warp.multiplied[granule] > 0);
      ++warp.multiplied[granule];
      warp.defined[granule] = 0;  // nobody may take it meanwhile
    });
    const LeftSide from_left{left, a, packed, packed ? warp.at(given.slot) : 0};
    const auto run = [=, &cluster, &warp] {
      return real ? multiply_tile<float>(cluster, warp, from_left, right, b, columns, rows, load, fresh)
                  : multiply_tile<std::int32_t>(cluster, warp, from_left, right, b, columns, rows, load, fresh);
    };
    const auto end = [&warp, each_sum](bool defined) {
      each_sum([&](std::size_t granule) {
        if (--warp.multiplied[granule] == 0) warp.defined[granule] = defined ? ~0u : 0u;
      });
    };
    Warp::Product product{.multiply = [=] { return known && run(); }, .end = end};
    if (!cluster.multiplies_late()) product.defined = product.multiply();
    warp.products.back().push_back(std::move(product));
  });
}

void Translator::operator()(const CloseProducts&) {
  native([](Cluster& cluster, Warp& warp) { cluster.close_products(warp); });
}
void Translator::operator()(const AwaitProducts& wait) {
  native([unfinished = wait.unfinished](Cluster& cluster, Warp& warp) { cluster.await_products(warp, unfinished); });
}
void Translator::operator()(const FenceTiles&) {
  native([](Cluster& cluster, Warp& warp) { cluster.memory().fence_tiles({.block = warp.block, .first_thread = warp.first_thread}); });
}

}  // namespace tegula::simt
