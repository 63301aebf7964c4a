// The meanings of the functions of kernels: a line for each, by the text that kernels call.

#include <vector>

#include "tegula/core/special.h"
#include "tegula/simt/machine/each_lane.h"
#include "tegula/simt/machine/prelude_host.h"

namespace tegula::simt {

namespace {

using i64 = long long;
using u64 = unsigned long long;

/// The functions of all types that threads compute with.
template <class T>
constexpr Function kOfAll[] = {
    entry<[](T x) { return prelude::sign_of(x); }>("sign_of"),
    entry<[](T x) { return prelude::magnitude(x); }>("magnitude"),
    entry<[](bool first, T a, T b) { return prelude::chosen(first, a, b); }>("chosen"),
    entry<[](T a, T b) { return prelude::smaller(a, b); }>("smaller"),
    entry<[](T a, T b) { return prelude::larger(a, b); }>("larger"),
    entry<[](T x) { return prelude::is_nan(x); }>("is_nan"),
    entry<[](T a, T b) { return prelude::comes_before(a, b); }>("comes_before"),
    entry<[](T x, T) { return x; }>("same_bits"),
};
template <class T>
constexpr Function kOfIntegers[] = {
    entry<[](T a, T b) { return prelude::divided(a, b); }>("divided"),
    entry<[](T a, T b) { return prelude::remainder_of(a, b); }>("remainder_of"),
    entry<[](T a, T b) { return prelude::shifted_left(a, b); }>("shifted_left"),
    entry<[](T a, T b) { return prelude::upper_half(a, b); }>("upper_half"),
    entry<[](T x) { return prelude::bits_set(x); }>("bits_set"),
};
template <class T>
constexpr Function kOfFloats[] = {
    entry<[](T x) { return prelude::is_infinite(x); }>("is_infinite"),
    entry<[](T x) { return prelude::sigmoid(x); }>("sigmoid"),
    entry<[](T x) { return prelude::log_gamma(x); }>("log_gamma"),
    entry<[](T x) { return prelude::digamma(x); }>("digamma"),
};

constexpr Function kOthers[] = {
    entry<[](float x, int like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](int x, float like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](double x, i64 like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](i64 x, double like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](float x, unsigned like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](unsigned x, float like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](int x, unsigned like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](unsigned x, int like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](double x, u64 like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](u64 x, double like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](i64 x, u64 like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](u64 x, i64 like) { return prelude::same_bits(x, like); }>("same_bits"),
    entry<[](float x) { return prelude::reach(x); }>("reach"),
    entry<[](float x) { return prelude::reciprocal(x); }>("reciprocal"),
    entry<[](float x, float s) { return prelude::quotient(x, s); }>("quotient"),
    entry<[](float x) { return prelude::quick_exp(x); }>("quick_exp"),
    entry<[](float x) { return prelude::quick_exp2(x); }>("quick_exp2"),
    entry<[](float x) { return prelude::quick_sigmoid(x); }>("quick_sigmoid"),
    entry<[](float x) { return prelude::quick_tanh(x); }>("quick_tanh"),
    entry<[](float x) { return prelude::quick_erf(x); }>("quick_erf"),
    entry<[](float x) { return prelude::fine_erf(x); }>("fine_erf"),
    entry<[](i64 a, i64 b) { return prelude::divided_short(a, b); }>("divided_short"),
    entry<[](i64 a, i64 b) { return prelude::remainder_short(a, b); }>("remainder_short"),
    entry<[](i64 x) { return prelude::place_of(x); }>("place_of"),
    entry<[](i64 limit) { return prelude::bounded(limit); }>("bounded"),
    entry<[](i64 a, i64 b) { return prelude::difference(a, b); }>("difference"),
    entry<[](i64 a, i64 b) { return prelude::rounded_down(a, b); }>("rounded_down"),
    entry<[](i64 seed, i64 index) { return prelude::philox_word(seed, index); }>("philox_word"),
    // Functions of CUDA.
    entry<[](float x) { return ::floorf(x); }>("floorf"),
    entry<[](double x) { return ::floor(x); }>("floor"),
    entry<[](float x) { return ::ceilf(x); }>("ceilf"),
    entry<[](double x) { return ::ceil(x); }>("ceil"),
    entry<[](float x) { return ::rintf(x); }>("rintf"),
    entry<[](double x) { return ::rint(x); }>("rint"),
    entry<[](float x) { return ::truncf(x); }>("truncf"),
    entry<[](double x) { return ::trunc(x); }>("trunc"),
    entry<[](float x) { return ::sqrtf(x); }>("sqrtf"),
    entry<[](double x) { return ::sqrt(x); }>("sqrt"),
    entry<[](float x) { return 1.0f / ::sqrtf(x); }>("rsqrtf"),
    entry<[](double x) { return 1.0 / ::sqrt(x); }>("rsqrt"),
    entry<[](float x) { return ::expf(x); }>("expf"),
    entry<[](double x) { return ::exp(x); }>("exp"),
    entry<[](float x) { return ::exp2f(x); }>("exp2f"),
    entry<[](double x) { return ::exp2(x); }>("exp2"),
    entry<[](float x) { return ::expm1f(x); }>("expm1f"),
    entry<[](double x) { return ::expm1(x); }>("expm1"),
    entry<[](float x) { return ::logf(x); }>("logf"),
    entry<[](double x) { return ::log(x); }>("log"),
    entry<[](float x) { return ::log2f(x); }>("log2f"),
    entry<[](double x) { return ::log2(x); }>("log2"),
    entry<[](float x) { return ::log1pf(x); }>("log1pf"),
    entry<[](double x) { return ::log1p(x); }>("log1p"),
    entry<[](float x) { return ::sinf(x); }>("sinf"),
    entry<[](double x) { return ::sin(x); }>("sin"),
    entry<[](float x) { return ::cosf(x); }>("cosf"),
    entry<[](double x) { return ::cos(x); }>("cos"),
    entry<[](float x) { return ::tanf(x); }>("tanf"),
    entry<[](double x) { return ::tan(x); }>("tan"),
    entry<[](float x) { return ::asinf(x); }>("asinf"),
    entry<[](double x) { return ::asin(x); }>("asin"),
    entry<[](float x) { return ::acosf(x); }>("acosf"),
    entry<[](double x) { return ::acos(x); }>("acos"),
    entry<[](float x) { return ::atanf(x); }>("atanf"),
    entry<[](double x) { return ::atan(x); }>("atan"),
    entry<[](float x) { return ::sinhf(x); }>("sinhf"),
    entry<[](double x) { return ::sinh(x); }>("sinh"),
    entry<[](float x) { return ::coshf(x); }>("coshf"),
    entry<[](double x) { return ::cosh(x); }>("cosh"),
    entry<[](float x) { return ::tanhf(x); }>("tanhf"),
    entry<[](double x) { return ::tanh(x); }>("tanh"),
    entry<[](float x) { return ::asinhf(x); }>("asinhf"),
    entry<[](double x) { return ::asinh(x); }>("asinh"),
    entry<[](float x) { return ::acoshf(x); }>("acoshf"),
    entry<[](double x) { return ::acosh(x); }>("acosh"),
    entry<[](float x) { return ::atanhf(x); }>("atanhf"),
    entry<[](double x) { return ::atanh(x); }>("atanh"),
    entry<[](float x) { return ::erff(x); }>("erff"),
    entry<[](double x) { return ::erf(x); }>("erf"),
    entry<[](float x) { return static_cast<float>(special::erfinv(static_cast<double>(x))); }>("erfinvf"),
    entry<[](double x) { return special::erfinv(x); }>("erfinv"),
    entry<[](float a, float b) { return ::powf(a, b); }>("powf"),
    entry<[](double a, double b) { return ::pow(a, b); }>("pow"),
    entry<[](float a, float b) { return ::atan2f(a, b); }>("atan2f"),
    entry<[](double a, double b) { return ::atan2(a, b); }>("atan2"),
    entry<[](float a, float b) { return ::fmodf(a, b); }>("fmodf"),
    entry<[](double a, double b) { return ::fmod(a, b); }>("fmod"),
    entry<[](float a, float b, float c) { return ::fmaf(a, b, c); }>("fmaf"),
    entry<[](double a, double b, double c) { return ::fma(a, b, c); }>("fma"),
};

template <class List>
void append(std::vector<Function>& all, const List& list) {
  all.insert(all.end(), std::begin(list), std::end(list));
}

/// Calls f with a zero of each type that threads compute with.
template <class F>
auto with(DType dtype, F&& f) {
  switch (number_of(dtype)) {
    case Number::Boolean: return f(bool{});
    case Number::I32: return f(int{});
    case Number::U32: return f(unsigned{});
    case Number::I64: return f(i64{});
    case Number::F32: return f(float{});
    case Number::F64: return f(double{});
    case Number::U64:
    case Number::Address: break;
  }
  return f(u64{});
}

template <template <class> class Op, class T>
constexpr LaneFunction kOf = &EachLane<[](T a, T b) { return Op<T>::of(a, b); }, T, T, T>::run;

template <class T, bool kBelow>
bool first_stays(T a, int a_at, T b, int b_at) {
  using prelude::Placed;
  const Placed<T> both = prelude::Best<T, kBelow>::of(Placed<T>{a, a_at}, Placed<T>{b, b_at});
  return both.at == a_at && (both.at != b_at || std::memcmp(&both.value, &a, sizeof a) == 0);
}

}  // namespace

std::span<const Function> words() {
  static const std::vector<Function> all = [] {
    std::vector<Function> functions;
    append(functions, kOfAll<int>), append(functions, kOfAll<i64>), append(functions, kOfAll<float>), append(functions, kOfAll<double>);
    append(functions, kOfAll<unsigned>), append(functions, kOfAll<u64>);
    append(functions, kOfIntegers<int>), append(functions, kOfIntegers<i64>);
    append(functions, kOfIntegers<unsigned>), append(functions, kOfIntegers<u64>);
    append(functions, kOfFloats<float>), append(functions, kOfFloats<double>);
    append(functions, kOthers);
    return functions;
  }();
  return all;
}

LaneFunction changing(tile::AtomicKind kind, DType computed) {
  const auto as = [&](tile::Reduction reduction) { return folding({.kind = reduction, .dtype = computed}); };
  switch (kind) {
    case tile::AtomicKind::Add: return as(tile::Reduction::Sum);
    case tile::AtomicKind::Max: return as(tile::Reduction::Max);
    case tile::AtomicKind::Min: return as(tile::Reduction::Min);
    case tile::AtomicKind::And: return as(tile::Reduction::All);
    case tile::AtomicKind::Or: return as(tile::Reduction::Any);
    case tile::AtomicKind::Xor:
      return with(computed, [](auto zero) -> LaneFunction {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return kOf<prelude::Either, T>;
        else return nullptr;
      });
    case tile::AtomicKind::Exchange:
    case tile::AtomicKind::CompareAndSwap: break;
  }
  return nullptr;
}

LaneFunction folding(const Operation& operation) {
  return with(operation.dtype, [&](auto zero) -> LaneFunction {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      switch (operation.kind) {
        case tile::Reduction::Sum:
          if constexpr (std::is_integral_v<T>)
            return &EachLane<[](T a, T b) { return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b)); }, T, T, T>::run;
          else return kOf<prelude::Sum, T>;
        case tile::Reduction::Prod:
          if constexpr (std::is_integral_v<T>)
            return &EachLane<[](T a, T b) { return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b)); }, T, T, T>::run;
          else return kOf<prelude::Prod, T>;
        case tile::Reduction::Min: return kOf<prelude::Min, T>;
        case tile::Reduction::Max: return kOf<prelude::Max, T>;
        case tile::Reduction::Any:
          if constexpr (std::is_integral_v<T>) return kOf<prelude::Any, T>;
          break;
        case tile::Reduction::All:
          if constexpr (std::is_integral_v<T>) return kOf<prelude::All, T>;
          break;
      }
      return nullptr;
    } else {
      switch (operation.kind) {
        case tile::Reduction::Sum:
        case tile::Reduction::Any:
        case tile::Reduction::Max: return &EachLane<[](T a, T b) { return static_cast<T>(a | b); }, T, T, T>::run;
        case tile::Reduction::Prod:
        case tile::Reduction::All:
        case tile::Reduction::Min: return &EachLane<[](T a, T b) { return static_cast<T>(a & b); }, T, T, T>::run;
      }
      return nullptr;
    }
  });
}

namespace {

template <class T, bool kBelow>
struct FirstStays {
  static void run(std::byte* out, const std::byte* const* operands) {
    std::int32_t results[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto value = [&](int k) { return static_cast<T>(reinterpret_cast<const LaneOf<T>*>(operands[k])[lane]); };
      const auto at = [&](int k) { return reinterpret_cast<const std::int32_t*>(operands[k])[lane]; };
      results[lane] = first_stays<T, kBelow>(value(0), at(1), value(2), at(3));
    }
    std::memcpy(out, results, sizeof results);
  }
};

}  // namespace

LaneFunction best(const Operation& operation) {
  return with(operation.dtype, [&](auto zero) -> LaneFunction {
    using T = decltype(zero);
    return operation.kind == tile::Reduction::Min ? &FirstStays<T, true>::run : &FirstStays<T, false>::run;
  });
}

}  // namespace tegula::simt
