// What tensor cores do (PTX, "Warp Level Matrix Instructions").

#include <algorithm>
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

}  // namespace tegula::simt
