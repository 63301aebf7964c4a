// Rows of elements between memory and tiles, with widening and narrowing.
#include "tegula/cpu/simd/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tegula/cpu/simd/vector_memory.cpp"
#include "hwy/foreach_target.h"
#include "tegula/cpu/simd/vector_float8-inl.h"
#include "tegula/cpu/simd/vector_map-inl.h"

#include "hwy/cache_control.h"
#include "tegula/cpu/simd/unroll.h"
#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace {

/// The type elements are stored in and the one they are computed in, and a vector of one as a vector of the other.
template <class Stored>
struct Element {
  using Tile = Stored;
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D, hn::Vec<D> x) {
    return x;
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> narrow(D, hn::Vec<D> x) {
    return x;
  }
};
struct HalfElement {
  using Tile = float;
  using Stored = hwy::float16_t;
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> widen(D d, V x) {
    return hn::PromoteTo(d, x);
  }
  template <class D>
  static HWY_INLINE auto narrow(D, hn::Vec<D> x) {
    return hn::DemoteTo(hn::Rebind<Stored, D>(), x);
  }
};
/// Kept as u16; rounds to nearest even, a NaN stays one.
struct BFloat16Element {
  using Tile = float;
  using Stored = std::uint16_t;
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> widen(D d, V x) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), x)));
  }
  template <class D>
  static HWY_INLINE auto narrow(D, hn::Vec<D> x) {
    const hn::RebindToUnsigned<D> du;
    const auto word = hn::BitCast(du, x);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(du, 1));
    const auto rounded = hn::Add(word, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto quiet = hn::Or(word, hn::Set(du, 0x400000));
    return hn::TruncateTo(hn::Rebind<Stored, D>(), hn::ShiftRight<16>(hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, rounded)));
  }
};
/// Kept as u8.
template <int kMantissa>
struct Float8Element {
  using Tile = float;
  using Stored = std::uint8_t;
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> widen(D d, V x) {
    return Float8Codes<kMantissa>::decode(d, hn::PromoteTo(hn::RebindToUnsigned<D>(), x));
  }
  template <class D>
  static HWY_INLINE auto narrow(D d, hn::Vec<D> x) {
    return hn::TruncateTo(hn::Rebind<Stored, D>(), Float8Codes<kMantissa>::encode(d, x));
  }
};
/// i16, i8, u16 and u8: stores keep the low bits.
template <class T>
struct SmallElement {
  using Tile = std::int32_t;
  using Stored = T;
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> widen(D d, V x) {
    return hn::PromoteTo(d, x);
  }
  template <class D>
  static HWY_INLINE auto narrow(D, hn::Vec<D> x) {
    using Bits = std::make_unsigned_t<T>;
    const auto bits = hn::TruncateTo(hn::Rebind<Bits, D>(), hn::BitCast(hn::RebindToUnsigned<D>(), x));
    return hn::BitCast(hn::Rebind<T, D>(), bits);
  }
};
template <class T>
struct PlainElement : Element<T> {
  using Stored = T;
};

/// Squares of as many vectors as each has lanes, in registers: squares within the 16-byte blocks of neighbours first, then those of whole blocks.
template <class T>
class Square {
  using D = Lanes<T>;
  using V = hn::Vec<D>;
  static constexpr std::size_t kLanesOfBlock = 16 / sizeof(T);

 public:
  static constexpr std::size_t kSide = hn::MaxLanes(D());

  static HWY_INLINE void transpose(V (&v)[kSide]) {
    TEGULA_UNROLL
    for (std::size_t first = 0; first < kSide; first += kLanesOfBlock) within_blocks(v + first);
    TEGULA_UNROLL
    for (std::size_t first = 0; first < kLanesOfBlock; ++first) of_blocks(v + first);
  }

 private:
  static HWY_INLINE void within_blocks(V* v) {
    TEGULA_UNROLL
    for (std::size_t stage = 1; stage < kLanesOfBlock; stage *= 2) {
      V next[kLanesOfBlock];
      TEGULA_UNROLL
      for (std::size_t i = 0; i < kLanesOfBlock / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(D(), v[i], v[i + kLanesOfBlock / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(D(), v[i], v[i + kLanesOfBlock / 2]);
      }
      TEGULA_UNROLL
      for (std::size_t i = 0; i < kLanesOfBlock; ++i) v[i] = next[i];
    }
  }
  static HWY_INLINE void of_blocks(V* v) {
    constexpr std::size_t kBlocks = kSide / kLanesOfBlock, kNext = kLanesOfBlock;
    static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);
    if constexpr (kBlocks == 2) {
      const V a = v[0], b = v[kNext];
      v[0] = hn::ConcatLowerLower(D(), b, a), v[kNext] = hn::ConcatUpperUpper(D(), b, a);
    } else if constexpr (kBlocks == 4) {
      const V a = v[0], b = v[kNext], c = v[2 * kNext], d = v[3 * kNext];
      const V ac = hn::ConcatLowerLower(D(), c, a), bd = hn::ConcatLowerLower(D(), d, b);
      v[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(bd), ac), v[kNext] = hn::OddEvenBlocks(bd, hn::SwapAdjacentBlocks(ac));
      const V upper_ac = hn::ConcatUpperUpper(D(), c, a), upper_bd = hn::ConcatUpperUpper(D(), d, b);
      v[2 * kNext] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(upper_bd), upper_ac);
      v[3 * kNext] = hn::OddEvenBlocks(upper_bd, hn::SwapAdjacentBlocks(upper_ac));
    }
  }
};

template <class E>
class Rows {
  using Stored = typename E::Stored;
  using Tile = typename E::Tile;
  using D = Lanes<Tile>;
  using DStored = hn::Rebind<Stored, D>;
  static constexpr std::int64_t N = static_cast<std::int64_t>(hn::MaxLanes(D()));
  static constexpr bool kSame = std::is_same_v<Stored, Tile>;
  static constexpr bool kCode = std::is_integral_v<Stored> && !std::is_integral_v<Tile>;  // the stored integer is a code, no number

  /// Partial vectors of 2-byte and 1-byte elements go through a buffer: not every instruction set has masks for them.
  static HWY_INLINE hn::Vec<D> load_tail(const Stored* from, std::int64_t n) {
    if constexpr (kSame && sizeof(Tile) >= 4) {
      return load_part(D(), from, static_cast<std::size_t>(n));
    } else {
      alignas(64) std::uint8_t buffer[64] = {};
      copy_bytes(buffer, from, static_cast<std::size_t>(n) * sizeof(Stored));
      return E::widen(D(), hn::Load(DStored(), reinterpret_cast<const Stored*>(buffer)));
    }
  }
  static HWY_INLINE void store_tail(hn::Vec<DStored> v, Stored* to, std::int64_t n) {
    if constexpr (kSame && sizeof(Tile) >= 4) {
      store_part(v, D(), to, static_cast<std::size_t>(n));
    } else {
      alignas(64) std::uint8_t buffer[64];
      hn::Store(v, DStored(), reinterpret_cast<Stored*>(buffer));
      copy_bytes(to, buffer, static_cast<std::size_t>(n) * sizeof(Stored));
    }
  }

  static constexpr bool kInRegisters = sizeof(Tile) >= 4;
  static constexpr std::int64_t kSide = kInRegisters ? N : 16;
  static constexpr std::int64_t kStoredBytes = sizeof(Stored), kTileBytes = sizeof(Tile);

  /// f(first row, first column, height, width, whether it is a whole square that fits in registers).
  template <class F>
  static HWY_INLINE void for_squares(std::int64_t rows, std::int64_t columns, F&& f) {
    for (std::int64_t r = 0; r < rows; r += kSide) {
      const std::int64_t height = rows - r < kSide ? rows - r : kSide;
      for (std::int64_t c = 0; c < columns; c += kSide) {
        const std::int64_t width = columns - c < kSide ? columns - c : kSide;
        if (kInRegisters && height == kSide && width == kSide) f(r, c, kSide, kSide, std::bool_constant<kInRegisters>());
        else f(r, c, height, width, std::false_type());
      }
    }
  }

  static HWY_INLINE void load_element(void* tile, void* memory) { load_one(tile, memory); }
  static HWY_INLINE void store_element(void* tile, void* memory) { store_one(memory, tile); }
  static HWY_INLINE void add_element(void* tile, void* memory) {
    Tile before, sum;
    load_one(&before, memory);
    if constexpr (std::is_integral_v<Tile>) {
      using U = std::make_unsigned_t<Tile>;
      sum = static_cast<Tile>(static_cast<U>(before) + static_cast<U>(*static_cast<const Tile*>(tile)));
    } else {
      sum = before + *static_cast<const Tile*>(tile);
    }
    store_one(memory, &sum);
  }

  static HWY_INLINE void load_one(void* to, const void* from) {
    if constexpr (std::is_same_v<E, BFloat16Element>) {
      const std::uint32_t bits = static_cast<std::uint32_t>(*static_cast<const Stored*>(from)) << 16;
      std::memcpy(to, &bits, 4);
    } else if constexpr (kCode) {
      load(to, from, 1);
    } else if constexpr (kSame || std::is_integral_v<Stored>) {
      *static_cast<Tile*>(to) = static_cast<Tile>(*static_cast<const Stored*>(from));
    } else {
      const hn::CappedTag<Tile, 1> d;
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(hn::Rebind<Stored, decltype(d)>(), static_cast<const Stored*>(from))), d,
                 static_cast<Tile*>(to));
    }
  }
  static HWY_INLINE void store_one(void* to, const void* from) {
    if constexpr (std::is_integral_v<Stored> && !kCode) {
      *static_cast<Stored*>(to) = static_cast<Stored>(*static_cast<const Tile*>(from));
    } else if constexpr (kSame) {
      *static_cast<Stored*>(to) = *static_cast<const Tile*>(from);
    } else {
      store(to, from, 1);
    }
  }

 public:
  static void load(void* to, const void* from, std::int64_t count) {
    auto* out = static_cast<Tile*>(to);
    const auto* in = static_cast<const Stored*>(from);
    std::int64_t i = 0;
    for (; i + 4 * N <= count; i += 4 * N) {
      const auto v0 = E::widen(D(), hn::LoadU(DStored(), in + i)), v1 = E::widen(D(), hn::LoadU(DStored(), in + i + N));
      const auto v2 = E::widen(D(), hn::LoadU(DStored(), in + i + 2 * N)), v3 = E::widen(D(), hn::LoadU(DStored(), in + i + 3 * N));
      hn::StoreU(v0, D(), out + i), hn::StoreU(v1, D(), out + i + N);
      hn::StoreU(v2, D(), out + i + 2 * N), hn::StoreU(v3, D(), out + i + 3 * N);
    }
    for (; i + N <= count; i += N) hn::StoreU(E::widen(D(), hn::LoadU(DStored(), in + i)), D(), out + i);
    if (i < count) store_part(load_tail(in + i, count - i), D(), out + i, static_cast<std::size_t>(count - i));
  }

  static void store(void* to, const void* from, std::int64_t count) {
    auto* out = static_cast<Stored*>(to);
    const auto* in = static_cast<const Tile*>(from);
    std::int64_t i = 0;
    for (; i + N <= count; i += N) hn::StoreU(E::narrow(D(), hn::LoadU(D(), in + i)), DStored(), out + i);
    if (i < count) store_tail(E::narrow(D(), load_part(D(), in + i, static_cast<std::size_t>(count - i))), out + i, count - i);
  }

  /// Whole aligned vectors bypass the caches; the ends do not.
  static void stream(void* to, const void* from, std::int64_t count) {
    if constexpr (kSame) {
      const auto address = reinterpret_cast<std::uintptr_t>(to);
      constexpr std::uintptr_t kBytes = static_cast<std::uintptr_t>(N) * sizeof(Tile);
      const std::int64_t head =
          address % sizeof(Tile) ? count : static_cast<std::int64_t>((kBytes - address % kBytes) % kBytes / sizeof(Tile));
      if (head >= count) return store(to, from, count);
      auto* out = static_cast<Stored*>(to);
      const auto* in = static_cast<const Tile*>(from);
      // The lines at the ends are not whole: they are fetched while the others are written, and stored to last. A store that waits would hold up all others.
      if (head > 0) __builtin_prefetch(out, 1);
      if ((count - head) % N > 0) __builtin_prefetch(out + count - 1, 1);
      std::int64_t i = head;
      for (; i + 4 * N <= count; i += 4 * N) {
        const auto v0 = hn::LoadU(D(), in + i), v1 = hn::LoadU(D(), in + i + N);
        const auto v2 = hn::LoadU(D(), in + i + 2 * N), v3 = hn::LoadU(D(), in + i + 3 * N);
        hn::Stream(v0, D(), out + i), hn::Stream(v1, D(), out + i + N);
        hn::Stream(v2, D(), out + i + 2 * N), hn::Stream(v3, D(), out + i + 3 * N);
      }
      for (; i + N <= count; i += N) hn::Stream(hn::LoadU(D(), in + i), D(), out + i);
      if (head > 0) store(out, in, head);
      if (i < count) store(out + i, in + i, count - i);
    } else {  // half-width vectors: through a small buffer so that whole lines are written
      constexpr std::int64_t kPiece = 1024;
      alignas(64) std::uint8_t buffer[kPiece * sizeof(Stored)];
      using Raw = std::conditional_t<sizeof(Stored) == 2, std::uint16_t, std::uint8_t>;
      for (std::int64_t i = 0; i < count; i += kPiece) {
        const std::int64_t n = count - i < kPiece ? count - i : kPiece;
        store(buffer, static_cast<const Tile*>(from) + i, n);
        Rows<PlainElement<Raw>>::stream(static_cast<Stored*>(to) + i, buffer, n);
      }
    }
  }

  static void load_strided(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      load_one(static_cast<char*>(to) + i * to_stride, static_cast<const char*>(from) + i * from_stride);
  }
  static void store_strided(void* to, std::int64_t to_stride, const void* from, std::int64_t from_stride, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      store_one(static_cast<char*>(to) + i * to_stride, static_cast<const char*>(from) + i * from_stride);
  }
  static void load_repeat(void* to, const void* from, std::int64_t count) {
    auto* out = static_cast<Tile*>(to);
    Tile value;
    load_one(&value, from);
    const auto v = hn::Set(D(), value);
    std::int64_t i = 0;
    for (; i + N <= count; i += N) hn::StoreU(v, D(), out + i);
    if (i < count) store_part(v, D(), out + i, static_cast<std::size_t>(count - i));
  }
  static void store_repeat(void* to, const void* from, std::int64_t count) {
    auto* out = static_cast<Stored*>(to);
    const auto v = E::narrow(D(), hn::Set(D(), *static_cast<const Tile*>(from)));
    std::int64_t i = 0;
    for (; i + N <= count; i += N) hn::StoreU(v, DStored(), out + i);
    if (i < count) store_tail(v, out + i, count - i);
  }

  /// Transposes in registers by squares of vectors; the rests at the ends, and elements of one byte, through a buffer in the first-level cache.
  static void load_transposed(void* tile, std::int64_t tile_stride, void* memory, std::int64_t memory_stride, std::int64_t rows,
                              std::int64_t columns) {
    for_squares(rows, columns, [&](std::int64_t r, std::int64_t c, std::int64_t height, std::int64_t width, auto whole) {
      auto* out = static_cast<char*>(tile) + r * tile_stride + c * kTileBytes;
      const auto* in = static_cast<const char*>(memory) + c * memory_stride + r * kStoredBytes;
      if constexpr (kInRegisters) {  // known to the class: a branch that hangs on `whole` alone is compiled for each class
        if constexpr (whole) {
          hn::Vec<D> v[kSide];
          TEGULA_UNROLL
          for (std::int64_t k = 0; k < kSide; ++k)
            v[k] = E::widen(D(), hn::LoadU(DStored(), reinterpret_cast<const Stored*>(in + k * memory_stride)));
          Square<Tile>::transpose(v);
          TEGULA_UNROLL
          for (std::int64_t k = 0; k < kSide; ++k) hn::StoreU(v[k], D(), reinterpret_cast<Tile*>(out + k * tile_stride));
          return;
        }
      }
      alignas(64) Tile buffer[kSide][kSide];
      for (std::int64_t k = 0; k < width; ++k) load(buffer[k], in + k * memory_stride, height);
      for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t k = 0; k < width; ++k) reinterpret_cast<Tile*>(out + i * tile_stride)[k] = buffer[k][i];
      }
    });
  }
  static void store_transposed(void* tile, std::int64_t tile_stride, void* memory, std::int64_t memory_stride, std::int64_t rows,
                               std::int64_t columns) {
    for_squares(rows, columns, [&](std::int64_t r, std::int64_t c, std::int64_t height, std::int64_t width, auto whole) {
      const auto* in = static_cast<const char*>(tile) + r * tile_stride + c * kTileBytes;
      auto* out = static_cast<char*>(memory) + c * memory_stride + r * kStoredBytes;
      if constexpr (kInRegisters) {  // known to the class: a branch that hangs on `whole` alone is compiled for each class
        if constexpr (whole) {
          hn::Vec<D> v[kSide];
          TEGULA_UNROLL
          for (std::int64_t k = 0; k < kSide; ++k) v[k] = hn::LoadU(D(), reinterpret_cast<const Tile*>(in + k * tile_stride));
          Square<Tile>::transpose(v);
          TEGULA_UNROLL
          for (std::int64_t k = 0; k < kSide; ++k)
            hn::StoreU(E::narrow(D(), v[k]), DStored(), reinterpret_cast<Stored*>(out + k * memory_stride));
          return;
        }
      }
      alignas(64) Tile buffer[kSide][kSide];
      for (std::int64_t i = 0; i < height; ++i) {
        for (std::int64_t k = 0; k < width; ++k) buffer[k][i] = reinterpret_cast<const Tile*>(in + i * tile_stride)[k];
      }
      for (std::int64_t k = 0; k < width; ++k) store(out + k * memory_stride, buffer[k], height);
    });
  }

  template <void (*f)(void* tile, void* memory)>
  static void indexed(std::byte* tile, std::int64_t tile_stride, std::byte* memory, std::int64_t memory_stride, const std::byte* offset,
                      std::int64_t offset_stride, std::int64_t scale, const std::byte* mask, std::int64_t mask_stride, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (mask != nullptr && mask[i * mask_stride] == std::byte{0}) continue;
      const std::int64_t place = *reinterpret_cast<const std::int64_t*>(offset + i * offset_stride);
      f(tile + i * tile_stride, memory + place * scale + i * memory_stride);
    }
  }

  static constexpr MoveRows loads{static_cast<std::int64_t>(sizeof(Stored)),
                                  static_cast<std::int64_t>(sizeof(Tile)),
                                  false,
                                  !kSame,
                                  load,
                                  nullptr,
                                  load_strided,
                                  load_repeat,
                                  load_transposed,
                                  indexed<load_element>,
                                  nullptr};
  static constexpr MoveRows stores{static_cast<std::int64_t>(sizeof(Stored)),
                                   static_cast<std::int64_t>(sizeof(Tile)),
                                   true,
                                   !kSame,
                                   store,
                                   stream,
                                   store_strided,
                                   store_repeat,
                                   store_transposed,
                                   indexed<store_element>,
                                   indexed<add_element>};
};

template <class E>
const MoveRows& pick(bool to_memory) {
  return to_memory ? Rows<E>::stores : Rows<E>::loads;
}

const MoveRows& find_rows(DType stored, bool to_memory) {
  switch (stored) {
    case f64: return pick<PlainElement<double>>(to_memory);
    case f32: return pick<PlainElement<float>>(to_memory);
    case f16: return pick<HalfElement>(to_memory);
    case bf16: return pick<BFloat16Element>(to_memory);
    case i64: return pick<PlainElement<std::int64_t>>(to_memory);
    case i32: return pick<PlainElement<std::int32_t>>(to_memory);
    case e4m3: return pick<Float8Element<3>>(to_memory);
    case e5m2: return pick<Float8Element<2>>(to_memory);
    case u64: return pick<PlainElement<std::uint64_t>>(to_memory);
    case u32: return pick<PlainElement<std::uint32_t>>(to_memory);
    case u16: return pick<SmallElement<std::uint16_t>>(to_memory);
    case i16: return pick<SmallElement<std::int16_t>>(to_memory);
    case i8: return pick<SmallElement<std::int8_t>>(to_memory);
    case u8: return pick<SmallElement<std::uint8_t>>(to_memory);
    default: return pick<PlainElement<std::uint8_t>>(to_memory);
  }
}

}  // namespace
}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tegula::host {
HWY_EXPORT(find_rows);
const MoveRows& load_rows(DType stored) { return HWY_DYNAMIC_DISPATCH(find_rows)(stored, false); }
const MoveRows& store_rows(DType stored) { return HWY_DYNAMIC_DISPATCH(find_rows)(stored, true); }
}  // namespace tegula::host
#endif
