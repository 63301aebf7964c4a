#include "tegula/cpu/fourier/side_by_side.h"

#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

// In memory, at any place.
typedef float Floats __attribute__((vector_size(32), aligned(4), may_alias));
typedef double Doubles __attribute__((vector_size(32), aligned(8), may_alias));

/// Lines, and numbers of each, of a block.
template <class T>
constexpr std::int64_t kWide = 32 / static_cast<std::int64_t>(sizeof(T));

/// Rows that follow each other.
template <class T>
struct Rows {
  T* first;
  std::int64_t row;
  T* operator()(std::int64_t j) const { return first + j * row; }
};

/// Real and imaginary parts in turn.
template <class T>
struct Parts {
  T *re, *im;
  std::int64_t row;
  T* operator()(std::int64_t j) const { return (j % 2 == 0 ? re : im) + j / 2 * row; }
};

/// A square block: row j of the result, at to(j), has number j of each line, which is at from(l).
template <class From, class To>
TEGULA_WIDE inline void turn(float, const From& from, const To& to) {
#define TEGULA_LINE(l) (*reinterpret_cast<const Floats*>(from(l)))
#define TEGULA_ROW(j) (*reinterpret_cast<Floats*>(to(j)))
  const Floats a = TEGULA_LINE(0), b = TEGULA_LINE(1), c = TEGULA_LINE(2), d = TEGULA_LINE(3);
  const Floats e = TEGULA_LINE(4), f = TEGULA_LINE(5), g = TEGULA_LINE(6), h = TEGULA_LINE(7);
  const Floats ab0 = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13),
               ab1 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const Floats cd0 = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13),
               cd1 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  const Floats ef0 = __builtin_shufflevector(e, f, 0, 8, 1, 9, 4, 12, 5, 13),
               ef1 = __builtin_shufflevector(e, f, 2, 10, 3, 11, 6, 14, 7, 15);
  const Floats gh0 = __builtin_shufflevector(g, h, 0, 8, 1, 9, 4, 12, 5, 13),
               gh1 = __builtin_shufflevector(g, h, 2, 10, 3, 11, 6, 14, 7, 15);
  const Floats u0 = __builtin_shufflevector(ab0, cd0, 0, 1, 8, 9, 4, 5, 12, 13),
               u1 = __builtin_shufflevector(ab0, cd0, 2, 3, 10, 11, 6, 7, 14, 15);
  const Floats u2 = __builtin_shufflevector(ab1, cd1, 0, 1, 8, 9, 4, 5, 12, 13),
               u3 = __builtin_shufflevector(ab1, cd1, 2, 3, 10, 11, 6, 7, 14, 15);
  const Floats v0 = __builtin_shufflevector(ef0, gh0, 0, 1, 8, 9, 4, 5, 12, 13),
               v1 = __builtin_shufflevector(ef0, gh0, 2, 3, 10, 11, 6, 7, 14, 15);
  const Floats v2 = __builtin_shufflevector(ef1, gh1, 0, 1, 8, 9, 4, 5, 12, 13),
               v3 = __builtin_shufflevector(ef1, gh1, 2, 3, 10, 11, 6, 7, 14, 15);
  TEGULA_ROW(0) = __builtin_shufflevector(u0, v0, 0, 1, 2, 3, 8, 9, 10, 11);
  TEGULA_ROW(1) = __builtin_shufflevector(u1, v1, 0, 1, 2, 3, 8, 9, 10, 11);
  TEGULA_ROW(2) = __builtin_shufflevector(u2, v2, 0, 1, 2, 3, 8, 9, 10, 11);
  TEGULA_ROW(3) = __builtin_shufflevector(u3, v3, 0, 1, 2, 3, 8, 9, 10, 11);
  TEGULA_ROW(4) = __builtin_shufflevector(u0, v0, 4, 5, 6, 7, 12, 13, 14, 15);
  TEGULA_ROW(5) = __builtin_shufflevector(u1, v1, 4, 5, 6, 7, 12, 13, 14, 15);
  TEGULA_ROW(6) = __builtin_shufflevector(u2, v2, 4, 5, 6, 7, 12, 13, 14, 15);
  TEGULA_ROW(7) = __builtin_shufflevector(u3, v3, 4, 5, 6, 7, 12, 13, 14, 15);
#undef TEGULA_ROW
#undef TEGULA_LINE
}

template <class From, class To>
TEGULA_WIDE inline void turn(double, const From& from, const To& to) {
  const Doubles a = *reinterpret_cast<const Doubles*>(from(0)), b = *reinterpret_cast<const Doubles*>(from(1));
  const Doubles c = *reinterpret_cast<const Doubles*>(from(2)), d = *reinterpret_cast<const Doubles*>(from(3));
  const Doubles ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Doubles cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  *reinterpret_cast<Doubles*>(to(0)) = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  *reinterpret_cast<Doubles*>(to(1)) = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  *reinterpret_cast<Doubles*>(to(2)) = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  *reinterpret_cast<Doubles*>(to(3)) = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
}

constexpr std::int64_t kAhead = 24;  // rows that lie far from each other, which no processor foresees

/// Has the caches fetch numbers that are soon read, or written. Beyond the tensor it does nothing.
template <int kWrites, class T>
TEGULA_WIDE inline void ask_for(const T* x, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(x + i, kWrites, 3);
}

bool lie_together(Begins begins, std::int64_t count) {
  for (std::int64_t l = 1; l < count; ++l)
    if (begins[l] != begins[0] + l) return false;
  return true;
}

}  // namespace

template <class T>
TEGULA_WIDE void take_lines(const T* x, Begins begins, std::int64_t count, std::int64_t length, T* to) {
  constexpr std::int64_t kSide = kWide<T>;
  const std::int64_t blocks = length / kSide * kSide;
  std::int64_t l = 0;
  for (; l + kSide <= count; l += kSide) {
    for (std::int64_t j = 0; j < blocks; j += kSide)
      turn(T(), [x, begins, l, j](std::int64_t i) { return x + begins[l + i] + j; }, Rows<T>{to + j * count + l, count});
    for (std::int64_t j = blocks; j < length; ++j)
      for (std::int64_t i = l; i < l + kSide; ++i) to[j * count + i] = x[begins[i] + j];
  }
  for (; l < count; ++l)
    for (std::int64_t j = 0; j < length; ++j) to[j * count + l] = x[begins[l] + j];
}

template <class T>
TEGULA_WIDE void turn_matrix(const T* x, std::int64_t row, std::int64_t count, std::int64_t length, T* to, std::int64_t to_row) {
  constexpr std::int64_t kSide = kWide<T>;
  const std::int64_t blocks = length / kSide * kSide;
  std::int64_t l = 0;
  for (; l + kSide <= count; l += kSide) {
    for (std::int64_t j = 0; j < blocks; j += kSide) turn(T(), Rows<const T>{x + l * row + j, row}, Rows<T>{to + j * to_row + l, to_row});
    for (std::int64_t j = blocks; j < length; ++j)
      for (std::int64_t i = l; i < l + kSide; ++i) to[j * to_row + i] = x[i * row + j];
  }
  for (; l < count; ++l)
    for (std::int64_t j = 0; j < length; ++j) to[j * to_row + l] = x[l * row + j];
}

template <class T>
TEGULA_WIDE void put_lines(T* x, Begins begins, std::int64_t count, std::int64_t length, const T* from) {
  constexpr std::int64_t kSide = kWide<T>;
  const std::int64_t blocks = length / kSide * kSide;
  std::int64_t l = 0;
  for (; l + kSide <= count; l += kSide) {
    for (std::int64_t j = 0; j < blocks; j += kSide)
      turn(T(), Rows<const T>{from + j * count + l, count}, [x, begins, l, j](std::int64_t i) { return x + begins[l + i] + j; });
    for (std::int64_t j = blocks; j < length; ++j)
      for (std::int64_t i = l; i < l + kSide; ++i) x[begins[i] + j] = from[j * count + i];
  }
  for (; l < count; ++l)
    for (std::int64_t j = 0; j < length; ++j) x[begins[l] + j] = from[j * count + l];
}

template <class T>
TEGULA_WIDE void take_pairs(const T* x, Begins begins, std::int64_t count, std::int64_t length, std::int64_t apart, T* re, T* im) {
  constexpr std::int64_t kSide = kWide<T>, kPairs = kSide / 2;
  if (apart > 1 && lie_together(begins, count)) {
    for (std::int64_t j = 0; j < length; ++j) {
      const T* const from = x + 2 * (begins[0] + j * apart);
      ask_for<0>(from + 2 * kAhead * apart, 2 * count);
#pragma omp simd
      for (std::int64_t l = 0; l < count; ++l) re[j * count + l] = from[2 * l], im[j * count + l] = from[2 * l + 1];
    }
    return;
  }
  const std::int64_t blocks = apart == 1 ? length / kPairs * kPairs : 0;
  std::int64_t l = 0;
  for (; l + kSide <= count; l += kSide) {
    for (std::int64_t j = 0; j < blocks; j += kPairs)
      turn(
          T(), [x, begins, l, j](std::int64_t i) { return x + 2 * (begins[l + i] + j); },
          Parts<T>{re + j * count + l, im + j * count + l, count});
    for (std::int64_t j = blocks; j < length; ++j)
      for (std::int64_t i = l; i < l + kSide; ++i) {
        const T* const from = x + 2 * (begins[i] + j * apart);
        re[j * count + i] = from[0], im[j * count + i] = from[1];
      }
  }
  for (; l < count; ++l)
    for (std::int64_t j = 0; j < length; ++j) {
      const T* const from = x + 2 * (begins[l] + j * apart);
      re[j * count + l] = from[0], im[j * count + l] = from[1];
    }
}

template <class T>
TEGULA_WIDE void put_pairs(T* x, Begins begins, std::int64_t count, std::int64_t length, std::int64_t apart, const T* re, const T* im) {
  constexpr std::int64_t kSide = kWide<T>, kPairs = kSide / 2;
  if (apart > 1 && lie_together(begins, count)) {
    for (std::int64_t j = 0; j < length; ++j) {
      T* const to = x + 2 * (begins[0] + j * apart);
      ask_for<1>(to + 2 * kAhead * apart, 2 * count);
#pragma omp simd
      for (std::int64_t l = 0; l < count; ++l) to[2 * l] = re[j * count + l], to[2 * l + 1] = im[j * count + l];
    }
    return;
  }
  const std::int64_t blocks = apart == 1 ? length / kPairs * kPairs : 0;
  std::int64_t l = 0;
  for (; l + kSide <= count; l += kSide) {
    for (std::int64_t j = 0; j < blocks; j += kPairs)
      turn(T(), Parts<const T>{re + j * count + l, im + j * count + l, count},
           [x, begins, l, j](std::int64_t i) { return x + 2 * (begins[l + i] + j); });
    for (std::int64_t j = blocks; j < length; ++j)
      for (std::int64_t i = l; i < l + kSide; ++i) {
        T* const to = x + 2 * (begins[i] + j * apart);
        to[0] = re[j * count + i], to[1] = im[j * count + i];
      }
  }
  for (; l < count; ++l)
    for (std::int64_t j = 0; j < length; ++j) {
      T* const to = x + 2 * (begins[l] + j * apart);
      to[0] = re[j * count + l], to[1] = im[j * count + l];
    }
}

template <class T>
TEGULA_WIDE void put_halves(T* x, Begins a, Begins b, std::int64_t count, std::int64_t length, const T* re, const T* im) {
  constexpr std::int64_t kSide = kWide<T>, kPairs = kSide / 2;
  const std::int64_t half = length / 2 + 1, blocks = half / kPairs * kPairs;
  std::int64_t l = 0;
  for (; l + kSide <= count && b[l + kSide - 1] >= 0; l += kSide) {
    T of_a[kSide * kSide], of_b[kSide * kSide];
    for (std::int64_t first = 0; first < blocks; first += kPairs) {
      for (std::int64_t p = 0; p < kPairs; ++p) {
        const std::int64_t k = first + p, mirror = k == 0 ? 0 : length - k;
        const T *const zr = re + k * count + l, *const zi = im + k * count + l, *const mr = re + mirror * count + l;
        const T* const mi = im + mirror * count + l;
        T *const rows_a = of_a + 2 * p * kSide, *const rows_b = of_b + 2 * p * kSide;
#pragma omp simd
        for (std::int64_t i = 0; i < kSide; ++i) {
          rows_a[i] = (zr[i] + mr[i]) / 2, rows_a[kSide + i] = (zi[i] - mi[i]) / 2;
          rows_b[i] = (zi[i] + mi[i]) / 2, rows_b[kSide + i] = (mr[i] - zr[i]) / 2;
        }
      }
      turn(T(), Rows<const T>{of_a, kSide}, [x, a, l, first](std::int64_t i) { return x + 2 * (a[l + i] + first); });
      turn(T(), Rows<const T>{of_b, kSide}, [x, b, l, first](std::int64_t i) { return x + 2 * (b[l + i] + first); });
    }
  }
  const std::int64_t whole = l;
  for (l = 0; l < count; ++l)
    for (std::int64_t k = l < whole ? blocks : 0; k < half; ++k) {
      const std::int64_t mirror = k == 0 ? 0 : length - k;
      const T zr = re[k * count + l], zi = im[k * count + l], mr = re[mirror * count + l], mi = im[mirror * count + l];
      T* const to_a = x + 2 * (a[l] + k);
      to_a[0] = (zr + mr) / 2, to_a[1] = (zi - mi) / 2;
      if (b[l] < 0) continue;
      T* const to_b = x + 2 * (b[l] + k);
      to_b[0] = (zi + mi) / 2, to_b[1] = (mr - zr) / 2;
    }
}

template <class T>
TEGULA_WIDE void take_halves(const T* x, Begins a, Begins b, std::int64_t count, std::int64_t length, T* re, T* im) {
  constexpr std::int64_t kSide = kWide<T>, kPairs = kSide / 2;
  const std::int64_t half = length / 2 + 1, blocks = half / kPairs * kPairs;
  const auto is_real = [length](std::int64_t k) { return k == 0 || 2 * k == length; };
  std::int64_t l = 0;
  for (; l + kSide <= count && b[l + kSide - 1] >= 0; l += kSide) {
    T of_a[kSide * kSide], of_b[kSide * kSide];
    for (std::int64_t first = 0; first < blocks; first += kPairs) {
      turn(T(), [x, a, l, first](std::int64_t i) { return x + 2 * (a[l + i] + first); }, Rows<T>{of_a, kSide});
      turn(T(), [x, b, l, first](std::int64_t i) { return x + 2 * (b[l + i] + first); }, Rows<T>{of_b, kSide});
      for (std::int64_t p = 0; p < kPairs; ++p) {
        const std::int64_t k = first + p, mirror = k == 0 ? 0 : length - k;
        const T *const ar = of_a + 2 * p * kSide, *const ai = ar + kSide, *const br = of_b + 2 * p * kSide, *const bi = br + kSide;
        T *const zr = re + k * count + l, *const zi = im + k * count + l, *const mr = re + mirror * count + l,
                 *const mi = im + mirror * count + l;
        if (is_real(k)) {
          for (std::int64_t i = 0; i < kSide; ++i) zr[i] = ar[i], zi[i] = br[i];
          continue;
        }
#pragma omp simd
        for (std::int64_t i = 0; i < kSide; ++i) {
          zr[i] = ar[i] - bi[i], zi[i] = ai[i] + br[i];
          mr[i] = ar[i] + bi[i], mi[i] = br[i] - ai[i];
        }
      }
    }
  }
  const std::int64_t whole = l;
  for (l = 0; l < count; ++l)
    for (std::int64_t k = l < whole ? blocks : 0; k < half; ++k) {
      const std::int64_t mirror = k == 0 ? 0 : length - k;
      const T *const from_a = x + 2 * (a[l] + k), *const from_b = b[l] < 0 ? nullptr : x + 2 * (b[l] + k);
      const T ar = from_a[0], ai = is_real(k) ? T(0) : from_a[1];
      const T br = from_b ? from_b[0] : T(0), bi = from_b && !is_real(k) ? from_b[1] : T(0);
      re[k * count + l] = ar - bi, im[k * count + l] = ai + br;
      if (!is_real(k)) re[mirror * count + l] = ar + bi, im[mirror * count + l] = br - ai;
    }
}

#define TEGULA_SIDE_BY_SIDE(T)                                                                       \
  template void take_lines(const T*, Begins, std::int64_t, std::int64_t, T*);                        \
  template void put_lines(T*, Begins, std::int64_t, std::int64_t, const T*);                         \
  template void turn_matrix(const T*, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t);   \
  template void take_pairs(const T*, Begins, std::int64_t, std::int64_t, std::int64_t, T*, T*);      \
  template void put_pairs(T*, Begins, std::int64_t, std::int64_t, std::int64_t, const T*, const T*); \
  template void put_halves(T*, Begins, Begins, std::int64_t, std::int64_t, const T*, const T*);      \
  template void take_halves(const T*, Begins, Begins, std::int64_t, std::int64_t, T*, T*);
TEGULA_SIDE_BY_SIDE(float)
TEGULA_SIDE_BY_SIDE(double)
#undef TEGULA_SIDE_BY_SIDE

}  // namespace tegula::host
