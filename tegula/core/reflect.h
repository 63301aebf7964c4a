#pragma once
// The fields of a plain struct and their names, found by the compiler. Used by graph/structure.h and nn/module.h.
//
// Count: the greatest N for which T{anything, …} (N times) is valid. Names: the compiler's spelling of a template argument that is a
// pointer to the field of an object that is never defined.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

namespace tegula::reflect {

inline constexpr int kMaxFields = 40;

/// Converts to whatever a field wants.
struct Anything {
  template <class T>
  operator T() const;
};
/// Converts to anything that a reference field binds to.
struct AnyLvalue {
  template <class T>
  operator T&() const;
};
/// Converts to the bases of T only.
template <class T>
struct AnyBase {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
  operator Base() const;
};
template <class T>
concept HasBase = requires { T{AnyBase<T>{}}; };

template <class T, class Each, std::size_t... I>
consteval bool fits(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Each{})...}; };
}

/// Fields without a default may stand anywhere, so the valid counts are a run that need not begin at 0. -1: more than kMaxFields.
template <class T, int N = 0, bool Found = false>
consteval int count() {
  if constexpr (fits<T, Anything>(std::make_index_sequence<N>{})) {
    return count<T, N + 1, true>();
  } else if constexpr (Found) {
    return N - 1 <= kMaxFields ? N - 1 : -1;
  } else if constexpr (N > kMaxFields) {
    return -1;
  } else {
    return count<T, N + 1, false>();
  }
}

/// For a T that count() cannot count: true if one of its fields is a reference, which no value initialises. Only for the error message.
template <class T, int N = 1>
consteval bool has_reference() {
  if constexpr (N > kMaxFields) return false;
  else return fits<T, AnyLvalue>(std::make_index_sequence<N>{}) || has_reference<T, N + 1>();
}

template <class... T>
constexpr std::tuple<T*...> pointers(T&... fields) {
  return {&fields...};
}

/// Pointers to the fields of an aggregate.
template <int Count, class T>
constexpr auto tie(T& x) {
  // clang-format off
  if constexpr (Count == 1) {
    auto& [a] = x; return pointers(a);
  } else if constexpr (Count == 2) {
    auto& [a, b] = x; return pointers(a, b);
  } else if constexpr (Count == 3) {
    auto& [a, b, c] = x; return pointers(a, b, c);
  } else if constexpr (Count == 4) {
    auto& [a, b, c, d] = x; return pointers(a, b, c, d);
  } else if constexpr (Count == 5) {
    auto& [a, b, c, d, e] = x; return pointers(a, b, c, d, e);
  } else if constexpr (Count == 6) {
    auto& [a, b, c, d, e, f] = x; return pointers(a, b, c, d, e, f);
  } else if constexpr (Count == 7) {
    auto& [a, b, c, d, e, f, g] = x; return pointers(a, b, c, d, e, f, g);
  } else if constexpr (Count == 8) {
    auto& [a, b, c, d, e, f, g, h] = x; return pointers(a, b, c, d, e, f, g, h);
  } else if constexpr (Count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = x; return pointers(a, b, c, d, e, f, g, h, i);
  } else if constexpr (Count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = x; return pointers(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (Count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = x; return pointers(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (Count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (Count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (Count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (Count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (Count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  } else if constexpr (Count == 17) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  } else if constexpr (Count == 18) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  } else if constexpr (Count == 19) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  } else if constexpr (Count == 20) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
  } else if constexpr (Count == 21) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  } else if constexpr (Count == 22) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v);
  } else if constexpr (Count == 23) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
  } else if constexpr (Count == 24) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y);
  } else if constexpr (Count == 25) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z);
  } else if constexpr (Count == 26) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A);
  } else if constexpr (Count == 27) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B);
  } else if constexpr (Count == 28) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C);
  } else if constexpr (Count == 29) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D);
  } else if constexpr (Count == 30) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E);
  } else if constexpr (Count == 31) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F);
  } else if constexpr (Count == 32) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G);
  } else if constexpr (Count == 33) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H);
  } else if constexpr (Count == 34) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I);
  } else if constexpr (Count == 35) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J);
  } else if constexpr (Count == 36) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K);
  } else if constexpr (Count == 37) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L);
  } else if constexpr (Count == 38) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M);
  } else if constexpr (Count == 39) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M, N] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M, N);
  } else if constexpr (Count == 40) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O] = x;
    return pointers(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O);
  }
  // clang-format on
}

template <class T>
struct Holder {
  T value;
};
template <class T>
extern const Holder<T> fake;

template <class P>
struct Pointer {
  P to;
};
template <class P>
Pointer(P) -> Pointer<P>;

// "… P = Pointer<const int*>{(& fake<Net>.Holder<Net>::value.Net::conv1)}; …" (GCC), "… {&fake.value.conv1}]" (Clang)
template <Pointer P>
consteval std::string_view field_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(0, text.rfind('}'));
  while (text.back() == ')') text.remove_suffix(1);
  return text.substr(text.find_last_of(".:") + 1);
}
// "… P = &Net::conv1; …", "… [P = &Net::conv1]"
template <auto P>
consteval std::string_view member_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.rfind("P = "));
  text = text.substr(0, text.find_first_of(";]"));
  while (text.back() == ')') text.remove_suffix(1);
  return text.substr(text.rfind(':') + 1);
}

/// Field I of N, for compilers to show: &fake.value.conv1. A function, because a variable would be emitted, with a reference to an undefined object.
template <class T, int N, std::size_t I>
consteval auto field() {
  return Pointer{std::get<I>(tie<N>(fake<T>.value))};
}

template <class T, int N>
inline constexpr auto kNames = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<std::string_view, N>{field_name<field<T, N, I>()>()...};
}(std::make_index_sequence<N>{});

}  // namespace tegula::reflect

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
