#pragma once
// The combination of two ranks' elements into one.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tegula/core/dtype.h"
#include "tegula/dist/exchange/exchange.h"

namespace tegula::dist {

/// The type in which a partial reduction travels: f32 for halves.
template <class T>
using Partial = std::conditional_t<kIsStoredFloat<T>, float, T>;

template <class T>
Partial<T> widen(T value) {
  return static_cast<Partial<T>>(value);
}

/// Combines two numbers as the ops do: integers wrap around, a NaN is the maximum.
template <class P>
P combined(P a, P b, Reduction reduction) {
  if constexpr (std::is_same_v<P, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<P>) {
    using U = std::make_unsigned_t<P>;
    return reduction == Reduction::Max ? (a > b ? a : b) : static_cast<P>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return reduction == Reduction::Max ? (a > b || a != a ? a : b) : a + b;
  }
}

/// partial[i] = reduction of partial[i] and own[i].
template <class T>
void add_own(Partial<T>* partial, const T* own, std::int64_t count, Reduction reduction) {
  if (reduction == Reduction::Max) {
    for (std::int64_t i = 0; i < count; ++i) partial[i] = combined(partial[i], widen(own[i]), Reduction::Max);
  } else {
    for (std::int64_t i = 0; i < count; ++i) partial[i] = combined(partial[i], widen(own[i]), Reduction::Sum);
  }
}

/// The reduction, once all have had their turn.
template <class T>
void store(const Partial<T>* partial, T* out, std::int64_t count, Reduction reduction, int ranks) {
  for (std::int64_t i = 0; i < count; ++i) {
    Partial<T> value = partial[i];
    if constexpr (std::is_floating_point_v<Partial<T>>) {
      if (reduction == Reduction::Mean) value /= static_cast<Partial<T>>(ranks);
    }
    out[i] = static_cast<T>(value);
  }
}

}  // namespace tegula::dist
