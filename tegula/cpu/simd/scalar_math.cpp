// Words computed through the C library, one element at a time: f64, and what is rare in f32. f32 goes through f64 and is rounded
// once, so it is right to half a unit in the last place.

#include <cmath>
#include <type_traits>
#include <utility>

#include "tegula/core/special.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

using tile::Word;

template <double (*f)(double)>
struct Unary {
  template <class T>
  static T call(T x) {
    return static_cast<T>(f(static_cast<double>(x)));
  }
};
template <double (*f)(double, double)>
struct Binary {
  template <class T>
  static T call(T a, T b) {
    return static_cast<T>(f(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct Divide {
  template <class T>
  static T call(T a, T b) {
    if constexpr (std::is_unsigned_v<T>) return b == 0 ? 0 : a / b;
    else return b == 0 ? 0 : b == -1 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a / b;
  }
};
struct Remainder {
  template <class T>
  static T call(T a, T b) {
    if constexpr (std::is_unsigned_v<T>) return b == 0 ? 0 : a % b;
    else return b == 0 || b == -1 ? 0 : a % b;
  }
};

template <class F, class T, std::size_t... I>
const Step* map(const Step* at, Frame& frame, std::index_sequence<I...>) {
  const auto& step = *static_cast<const MapStep*>(at);
  const std::int64_t columns = frame.slots[step.columns].integer;
  const std::byte* in[] = {frame.slots[step.in[I]].pointer...};
  std::byte* out = frame.slots[step.out].pointer;
  for (std::int64_t left = frame.slots[step.rows].integer; left > 0; --left) {
    for (std::int64_t i = 0; i < columns; ++i) {
      reinterpret_cast<T*>(out)[i] = F::call(reinterpret_cast<const T*>(in[I])[i * step.advances[I]]...);
    }
    out += step.out_row;
    ((in[I] += step.row[I]), ...);
  }
  return following(step);
}
template <class F, class T, std::size_t kOperands>
const Step* run(const Step* at, Frame& frame) {
  return map<F, T>(at, frame, std::make_index_sequence<kOperands>());
}

template <class F, class T, std::size_t kOperands, std::size_t... P>
constexpr MapTable same_for_all(std::index_sequence<P...>) {
  return {{(P < 16 ? &run<F, T, kOperands> : nullptr)...}};
}
template <class F, class T, std::size_t kOperands>
constexpr MapTable kTable = same_for_all<F, T, kOperands>(std::make_index_sequence<16>());

template <class T, double (*f)(double)>
const MapTable* one() {
  return &kTable<Unary<f>, T, 1>;
}
template <class T, double (*f)(double, double)>
const MapTable* two() {
  return &kTable<Binary<f>, T, 2>;
}

template <class T>
const MapTable* find(Word word) {
  switch (word) {
    case Word::Exp: return one<T, std::exp>();
    case Word::Exp2: return one<T, std::exp2>();
    case Word::Expm1: return one<T, std::expm1>();
    case Word::Log: return one<T, std::log>();
    case Word::Log2: return one<T, std::log2>();
    case Word::Log1p: return one<T, std::log1p>();
    case Word::Sin: return one<T, std::sin>();
    case Word::Cos: return one<T, std::cos>();
    case Word::Tan: return one<T, std::tan>();
    case Word::Asin: return one<T, std::asin>();
    case Word::Acos: return one<T, std::acos>();
    case Word::Atan: return one<T, std::atan>();
    case Word::Sinh: return one<T, std::sinh>();
    case Word::Cosh: return one<T, std::cosh>();
    case Word::Tanh: return one<T, std::tanh>();
    case Word::Asinh: return one<T, std::asinh>();
    case Word::Acosh: return one<T, std::acosh>();
    case Word::Atanh: return one<T, std::atanh>();
    case Word::Erf: return one<T, std::erf>();
    case Word::Erfinv: return one<T, special::erfinv>();
    case Word::Sigmoid: return one<T, special::sigmoid>();
    case Word::Lgamma: return one<T, special::log_gamma>();
    case Word::Digamma: return one<T, special::digamma>();
    case Word::Rem: return two<T, std::fmod>();
    case Word::Pow: return two<T, std::pow>();
    case Word::Atan2: return two<T, std::atan2>();
    default: return nullptr;
  }
}

template <class T>
const MapTable* find_integer(Word word) {
  if (word == Word::Div) return &kTable<Divide, T, 2>;
  if (word == Word::Rem) return &kTable<Remainder, T, 2>;
  return nullptr;
}

}  // namespace

const MapTable* find_scalar_math(int word, DType dtype) {
  if (word > 255) return nullptr;
  switch (dtype) {
    case f64: return find<double>(static_cast<Word>(word));
    case f32: return find<float>(static_cast<Word>(word));
    case i64: return find_integer<std::int64_t>(static_cast<Word>(word));
    case i32: return find_integer<std::int32_t>(static_cast<Word>(word));
    case u64: return find_integer<std::uint64_t>(static_cast<Word>(word));
    case u32: return find_integer<std::uint32_t>(static_cast<Word>(word));
    default: return nullptr;
  }
}

const MapTable* find_map(int word, DType from, DType to) {
  for (const MapTable* found : {find_float_arithmetic(word, from), find_integer_arithmetic(word, from), find_conversion(word, from, to),
                                find_transcendental(word, from), find_scalar_math(word, from)}) {
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace tegula::host
