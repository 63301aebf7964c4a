// Loops of elementwise steps, compiled once per instruction set. No include guard but Highway's.
#if defined(TEGULA_CPU_VECTOR_MAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TEGULA_CPU_VECTOR_MAP_INL_H_
#undef TEGULA_CPU_VECTOR_MAP_INL_H_
#else
#define TEGULA_CPU_VECTOR_MAP_INL_H_
#endif

#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "tegula/cpu/simd/vector.h"

HWY_BEFORE_NAMESPACE();
namespace tegula::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::ScalableTag<T>;
template <class T>
constexpr std::size_t kLanes = hn::MaxLanes(Lanes<T>());
template <class D>
using Bytes = hn::Rebind<std::uint8_t, D>;

/// True if partial vectors of T can be read and written without touching the elements after them.
template <class T>
constexpr bool kMasked = sizeof(T) >= 4 || HWY_TARGET <= HWY_AVX3;

HWY_INLINE void copy_bytes(void* to, const void* from, std::size_t count) {
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < count; ++i) out[i] = in[i];
}

/// The first n < lanes elements; the rest is zero.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_part(D d, const T* from, std::size_t n) {
  if constexpr (kMasked<T>) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  } else {
    alignas(64) T buffer[hn::MaxLanes(D())] = {};
    copy_bytes(buffer, from, n * sizeof(T));
    return hn::Load(d, buffer);
  }
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_part(hn::Vec<D> v, D d, T* to, std::size_t n) {
  if constexpr (kMasked<T>) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
  } else {
    alignas(64) T buffer[hn::MaxLanes(D())];
    hn::Store(v, d, buffer);
    copy_bytes(to, buffer, n * sizeof(T));
  }
}

/// Booleans as masks over vectors of d's lanes: one byte per element in memory.
template <class D>
HWY_INLINE hn::Mask<D> mask_of_bytes(D d, hn::Vec<Bytes<D>> bytes) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 1) {
    return hn::RebindMask(d, hn::Ne(bytes, hn::Zero(Bytes<D>())));
  } else if constexpr (sizeof(T) == 4) {
    const hn::RebindToUnsigned<D> du;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, bytes), hn::Zero(du)));
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint32_t, D> dw;
    return hn::RebindMask(d, hn::Ne(hn::PromoteTo(du, hn::PromoteTo(dw, bytes)), hn::Zero(du)));
  }
}
template <class D>
HWY_INLINE hn::Vec<Bytes<D>> bytes_of_mask(D, hn::Mask<D> mask) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(du, mask), hn::Set(du, 1));
  if constexpr (sizeof(T) == 1) return ones;
  else return hn::TruncateTo(Bytes<D>(), ones);
}

/// One operand of element type In (bool: a mask over d's lanes), as many elements as d has lanes. d's lanes are the widest of a word.
template <class In, class D>
struct Operand {
  using DIn = hn::Rebind<In, D>;
  static HWY_INLINE hn::Vec<DIn> load(D, const In* p) { return hn::LoadU(DIn(), p); }
  static HWY_INLINE hn::Vec<DIn> part(D, const In* p, std::size_t n) { return load_part(DIn(), p, n); }
  static HWY_INLINE hn::Vec<DIn> splat(D, const In* p) { return hn::Set(DIn(), *p); }
};
template <class D>
struct Operand<bool, D> {
  static HWY_INLINE hn::Mask<D> load(D d, const bool* p) {
    return mask_of_bytes(d, hn::LoadU(Bytes<D>(), reinterpret_cast<const std::uint8_t*>(p)));
  }
  static HWY_INLINE hn::Mask<D> part(D d, const bool* p, std::size_t n) {
    return mask_of_bytes(d, load_part(Bytes<D>(), reinterpret_cast<const std::uint8_t*>(p), n));
  }
  static HWY_INLINE hn::Mask<D> splat(D d, const bool* p) {
    return mask_of_bytes(d, hn::Set(Bytes<D>(), *reinterpret_cast<const std::uint8_t*>(p)));  // any byte but 0 is true, as above
  }
};

template <class Out, class D>
struct Result {
  using DOut = hn::Rebind<Out, D>;
  static HWY_INLINE void store(hn::Vec<DOut> v, D, Out* p) { hn::StoreU(v, DOut(), p); }
  static HWY_INLINE void part(hn::Vec<DOut> v, D, Out* p, std::size_t n) { store_part(v, DOut(), p, n); }
};
template <class D>
struct Result<bool, D> {
  static HWY_INLINE void store(hn::Mask<D> m, D d, bool* p) {
    hn::StoreU(bytes_of_mask(d, m), Bytes<D>(), reinterpret_cast<std::uint8_t*>(p));
  }
  static HWY_INLINE void part(hn::Mask<D> m, D d, bool* p, std::size_t n) {
    store_part(bytes_of_mask(d, m), Bytes<D>(), reinterpret_cast<std::uint8_t*>(p), n);
  }
};

/// Step functions of one word: F::call(d, operands…) over as many elements as a vector of L has lanes, kUnroll vectors in flight.
/// Each pattern of operands that advance along the row has a function of its own (bit i: operand i); the other operands are held in
/// registers.
template <class F, int kUnroll, class L, class Out, class... In>
class Map {
  using D = Lanes<L>;
  static constexpr std::size_t N = hn::MaxLanes(D());
  static constexpr unsigned kAll = (1u << sizeof...(In)) - 1;
  template <class T>
  using Loaded = decltype(Operand<T, D>::load(D(), nullptr));

  /// Operand values at column i: loaded where the pattern says so.
  template <unsigned kPattern, std::size_t I, class T>
  static HWY_INLINE Loaded<T> load(D d, const T* in, std::size_t i, const Loaded<T>& held) {
    if constexpr (kPattern >> I & 1) return Operand<T, D>::load(d, in + i);
    else return held;
  }
  template <unsigned kPattern, std::size_t I, class T>
  static HWY_INLINE Loaded<T> part(D d, const T* in, std::size_t i, std::size_t n, const Loaded<T>& held) {
    if constexpr (kPattern >> I & 1) return Operand<T, D>::part(d, in + i, n);
    else return held;
  }

  template <unsigned kPattern, std::size_t... I>
  static HWY_INLINE void row(Out* out, std::size_t columns, std::index_sequence<I...>, const In*... in) {
    const D d;
    const auto with = [&](const Loaded<In>&... held) HWY_ATTR {
      std::size_t i = 0;
      if constexpr (kUnroll == 4) {
        for (; i + 4 * N <= columns; i += 4 * N) {
          const auto v0 = F::call(d, load<kPattern, I>(d, in, i, held)...);
          const auto v1 = F::call(d, load<kPattern, I>(d, in, i + N, held)...);
          const auto v2 = F::call(d, load<kPattern, I>(d, in, i + 2 * N, held)...);
          const auto v3 = F::call(d, load<kPattern, I>(d, in, i + 3 * N, held)...);
          Result<Out, D>::store(v0, d, out + i);
          Result<Out, D>::store(v1, d, out + i + N);
          Result<Out, D>::store(v2, d, out + i + 2 * N);
          Result<Out, D>::store(v3, d, out + i + 3 * N);
        }
      } else if constexpr (kUnroll == 2) {
        for (; i + 2 * N <= columns; i += 2 * N) {
          const auto v0 = F::call(d, load<kPattern, I>(d, in, i, held)...);
          const auto v1 = F::call(d, load<kPattern, I>(d, in, i + N, held)...);
          Result<Out, D>::store(v0, d, out + i);
          Result<Out, D>::store(v1, d, out + i + N);
        }
      }
      for (; i + N <= columns; i += N) Result<Out, D>::store(F::call(d, load<kPattern, I>(d, in, i, held)...), d, out + i);
      if (i < columns) {
        const std::size_t n = columns - i;
        Result<Out, D>::part(F::call(d, part<kPattern, I>(d, in, i, n, held)...), d, out + i, n);
      }
    };
    with(Operand<In, D>::splat(d, in)...);
  }

  template <unsigned kPattern, std::size_t... I>
  static HWY_INLINE void rows(const MapStep& step, Frame& frame, std::index_sequence<I...> all) {
    const auto columns = static_cast<std::size_t>(frame.slots[step.columns].integer);
    const std::byte* in[sizeof...(In)] = {frame.slots[step.in[I]].pointer...};
    std::byte* out = frame.slots[step.out].pointer;
    for (std::int64_t left = frame.slots[step.rows].integer; left > 0; --left) {
      row<kPattern>(reinterpret_cast<Out*>(out), columns, all, reinterpret_cast<const In*>(in[I])...);
      out += step.out_row;
      ((in[I] += step.row[I]), ...);
    }
  }

  template <unsigned kPattern>
  static const Step* run(const Step* at, Frame& frame) {
    const auto& step = *static_cast<const MapStep*>(at);
    rows<kPattern>(step, frame, std::index_sequence_for<In...>());
    return following(step);
  }

  static constexpr unsigned pattern(std::size_t p) { return p != 0 && p <= kAll ? static_cast<unsigned>(p) : kAll; }
  template <std::size_t... P>
  static constexpr MapTable make(std::index_sequence<P...>) {
    return {{run<pattern(P)>...}};
  }

 public:
  static constexpr MapTable table = make(std::make_index_sequence<16>());
};

}  // namespace tegula::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
