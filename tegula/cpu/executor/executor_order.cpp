// Steps along an axis that look at one line after another: scans, positions of extremes, sorting.

#include <algorithm>
#include <cmath>

#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

using tile::Reduction;

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return (void)x, false;
}
/// a < b, NaN counting as largest.
template <class T>
bool before(T a, T b) {
  return a < b || (is_nan(b) && !is_nan(a));
}

/// Calls f(first element, distance between neighbours, position in the output with the axis gone) for every line.
template <class T, class F>
void for_lines(const AcrossStep& step, const Frame& frame, F&& f) {
  const T* x = reinterpret_cast<const T*>(frame.slots[step.in].pointer);
  const std::int64_t outer = frame.slots[step.outer].integer;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < step.inner; ++i)
      f(x + o * step.length * step.inner + i, o * step.length * step.inner + i, o * step.inner + i);
  }
}

template <class T>
T join(Reduction kind, T a, T b) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return kind == Reduction::Any ? a | b : a & b;
  } else if (kind == Reduction::Min) {
    return a < b || is_nan(a) ? a : b;
  } else if (kind == Reduction::Max) {
    return a > b || is_nan(a) ? a : b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(kind == Reduction::Sum ? static_cast<U>(a) + static_cast<U>(b) : static_cast<U>(a) * static_cast<U>(b));
  } else {
    return kind == Reduction::Sum ? a + b : a * b;
  }
}

/// The rest of a running sum or product of doubles. Eight elements are joined as a tree, so that each eight wait for one addition and not for eight.
template <Reduction kind>
void scan_row(const double* x, double* out, std::int64_t count, double total) {
  const auto both = [](double a, double b) { return join(kind, a, b); };
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8, x += 8, out += 8) {
    const double first2 = both(x[0], x[1]), first4 = both(first2, both(x[2], x[3])), next2 = both(x[4], x[5]);
    const double first6 = both(first4, next2), all = both(first4, both(next2, both(x[6], x[7])));
    const double parts[] = {x[0], first2, both(first2, x[2]), first4, both(first4, x[4]), first6, both(first6, x[6]), all};
    for (int i = 0; i < 8; ++i) out[i] = both(total, parts[i]);
    total = both(total, all);
  }
  for (; k < count; ++k) *out++ = total = both(total, *x++);
}

template <class T, Reduction kind>
const Step* scan(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const AcrossStep*>(at);
  T* out = reinterpret_cast<T*>(frame.slots[step.out].pointer);
  const T* x = reinterpret_cast<const T*>(frame.slots[step.in].pointer);
  const std::int64_t outer = frame.slots[step.outer].integer, inner = step.inner;
  for (std::int64_t o = 0; o < outer; ++o, x += step.length * inner, out += step.length * inner) {
    if (inner == 1) {
      T total = x[0];
      out[0] = total;
      if constexpr (std::is_same_v<T, double> && (kind == Reduction::Sum || kind == Reduction::Prod)) {
        scan_row<kind>(x + 1, out + 1, step.length - 1, total);
        continue;
      }
      for (std::int64_t k = 1; k < step.length; ++k) out[k] = total = join(kind, total, x[k]);
      continue;
    }
    for (std::int64_t i = 0; i < inner; ++i) out[i] = x[i];
    for (std::int64_t k = inner; k < step.length * inner; ++k) out[k] = join(kind, out[k - inner], x[k]);
  }
  return following(step);
}

template <class T, Reduction kind>
const Step* arg_reduce(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const AcrossStep*>(at);
  auto* out = reinterpret_cast<std::int64_t*>(frame.slots[step.out].pointer);
  for_lines<T>(step, frame, [&](const T* x, std::int64_t, std::int64_t place) {
    std::int64_t best = 0;
    T value = x[0];
    for (std::int64_t k = 1; k < step.length && !is_nan(value); ++k) {
      const T y = x[k * step.inner];
      if (is_nan(y) || (kind == Reduction::Min ? y < value : y > value)) value = y, best = k;
    }
    out[place] = best;
  });
  return following(step);
}

template <class T>
struct Item {
  T key;
  std::int64_t place;
};

/// Stable merge sort, bottom up, from runs of eight; `other` has room for as many items. The result is in the returned one of the two.
template <class T, class Before>
Item<T>* merge_sort(Item<T>* items, Item<T>* other, std::int64_t count, Before&& comes_before) {
  constexpr std::int64_t kRun = 8;
  for (std::int64_t begin = 0; begin < count; begin += kRun) {
    const std::int64_t end = std::min(begin + kRun, count);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const Item<T> item = items[i];
      std::int64_t k = i;
      for (; k > begin && comes_before(item.key, items[k - 1].key); --k) items[k] = items[k - 1];
      items[k] = item;
    }
  }
  for (std::int64_t run = kRun; run < count; run *= 2) {
    for (std::int64_t begin = 0; begin < count; begin += 2 * run) {
      const std::int64_t middle = std::min(begin + run, count), end = std::min(begin + 2 * run, count);
      std::int64_t a = begin, b = middle;
      for (std::int64_t i = begin; i < end; ++i) {
        const bool right = a == middle || (b < end && comes_before(items[b].key, items[a].key));
        other[i] = right ? items[b++] : items[a++];
      }
    }
    std::swap(items, other);
  }
  return items;
}

/// The first `ordered` of the items in order, the others behind them; a place decides between equals, as in a stable sort.
template <class T, class Before>
void select_first(Item<T>* items, std::int64_t count, std::int64_t ordered, Before&& comes_before) {
  const auto first = [&](const Item<T>& a, const Item<T>& b) {
    return comes_before(a.key, b.key) || (!comes_before(b.key, a.key) && a.place < b.place);
  };
  if (ordered < count) std::nth_element(items, items + ordered, items + count, first);
  std::sort(items, items + ordered, first);
}

template <class T, bool kPositions>
const Step* sort(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const AcrossStep*>(at);
  auto* items = reinterpret_cast<Item<T>*>(frame.slots[step.scratch].pointer);
  std::byte* out = frame.slots[step.out].pointer;
  for_lines<T>(step, frame, [&](const T* x, std::int64_t first, std::int64_t) {
    for (std::int64_t k = 0; k < step.length; ++k) items[k] = {x[k * step.inner], k};
    const auto in_order = [&](auto&& comes_before) {
      if (step.ordered == 0) return merge_sort(items, items + step.length, step.length, comes_before);
      select_first(items, step.length, std::min<std::int64_t>(step.ordered, step.length), comes_before);
      return items;
    };
    Item<T>* sorted = step.descending ? in_order([](T a, T b) { return before(b, a); }) : in_order([](T a, T b) { return before(a, b); });
    for (std::int64_t k = 0; k < step.length; ++k) {
      if constexpr (kPositions) reinterpret_cast<std::int64_t*>(out)[first + k * step.inner] = sorted[k].place;
      else reinterpret_cast<T*>(out)[first + k * step.inner] = sorted[k].key;
    }
  });
  return following(step);
}

/// f called with a value of the C++ type that tiles of `dtype` hold.
template <class F>
Run with_type(DType dtype, F&& f) {
  switch (dtype) {
    case f64: return f(double{});
    case f32: return f(float{});
    case i64: return f(std::int64_t{});
    case i32: return f(std::int32_t{});
    case u64: return f(std::uint64_t{});
    case u32: return f(std::uint32_t{});
    default: return f(std::uint8_t{});
  }
}

}  // namespace

Run find_scan(Reduction kind, DType dtype) {
  return with_type(dtype, [&](auto zero) -> Run {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, std::uint8_t>) return kind == Reduction::Any ? scan<T, Reduction::Any> : scan<T, Reduction::All>;
    switch (kind) {
      case Reduction::Sum: return scan<T, Reduction::Sum>;
      case Reduction::Prod: return scan<T, Reduction::Prod>;
      case Reduction::Min: return scan<T, Reduction::Min>;
      default: return scan<T, Reduction::Max>;
    }
  });
}

Run find_arg_reduce(Reduction kind, DType dtype) {
  return with_type(dtype, [&](auto zero) -> Run {
    using T = decltype(zero);
    return kind == Reduction::Min ? arg_reduce<T, Reduction::Min> : arg_reduce<T, Reduction::Max>;
  });
}

Run find_sort(DType dtype) {
  return with_type(dtype, [](auto zero) -> Run { return sort<decltype(zero), false>; });
}
Run find_argsort(DType dtype) {
  return with_type(dtype, [](auto zero) -> Run { return sort<decltype(zero), true>; });
}

}  // namespace tegula::host
