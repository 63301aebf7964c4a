#include "tegula/simt/machine/lanes.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/simt/machine/each_lane.h"

namespace tegula::simt {

namespace {

template <class T>
using Wrapped = std::make_unsigned_t<T>;

// Integers wrap.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  else return static_cast<T>(static_cast<Wrapped<T>>(a) + static_cast<Wrapped<T>>(b));
}
template <class T>
T difference_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a - b;
  else return static_cast<T>(static_cast<Wrapped<T>>(a) - static_cast<Wrapped<T>>(b));
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  else return static_cast<T>(static_cast<Wrapped<T>>(a) * static_cast<Wrapped<T>>(b));
}
/// Lanes that are not active may divide by 0.
template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a / b;
  else if constexpr (std::is_signed_v<T>) return b == 0 ? 0 : b == -1 ? difference_of<T>(0, a) : a / b;
  else return b == 0 ? 0 : a / b;
}
template <class T>
T remainder_of(T a, T b) {
  if constexpr (std::is_signed_v<T>) return b == 0 || b == -1 ? 0 : a % b;
  else return b == 0 ? 0 : a % b;
}
template <class T>
T shifted(T a, T b, bool left) {
  const T by = b & static_cast<T>(8 * sizeof(T) - 1);
  return left ? static_cast<T>(static_cast<Wrapped<T>>(a) << by) : static_cast<T>(a >> by);
}

template <class T>
constexpr Function kArithmetic[] = {
    entry<[](T a, T b) { return sum_of(a, b); }>("+"),
    entry<[](T a, T b) { return difference_of(a, b); }>("-"),
    entry<[](T a, T b) { return product_of(a, b); }>("*"),
    entry<[](T a, T b) { return quotient_of(a, b); }>("/"),
    entry<[](T a) { return std::is_floating_point_v<T> ? static_cast<T>(-a) : difference_of<T>(0, a); }>("0-"),
    entry<[](T a, T b) { return a == b; }>("=="),
    entry<[](T a, T b) { return a != b; }>("!="),
    entry<[](T a, T b) { return a < b; }>("<"),
    entry<[](T a, T b) { return a <= b; }>("<="),
    entry<[](T a, T b) { return (a > b); }>(">"),
    entry<[](T a, T b) { return (a >= b); }>(">="),
    entry<[](bool when, T a, T b) { return when ? a : b; }>("?")};
template <class T>
constexpr Function kBits[] = {
    entry<[](T a, T b) { return remainder_of(a, b); }>("%"),    entry<[](T a, T b) { return static_cast<T>(a & b); }>("&"),
    entry<[](T a, T b) { return static_cast<T>(a | b); }>("|"), entry<[](T a, T b) { return static_cast<T>(a ^ b); }>("^"),
    entry<[](T a) { return static_cast<T>(~a); }>("~"),         entry<[](T a, T b) { return shifted(a, b, true); }>("<<"),
    entry<[](T a, T b) { return shifted(a, b, false); }>(">>")};

template <class T>
void append(std::vector<Function>& all) {
  all.insert(all.end(), std::begin(kArithmetic<T>), std::end(kArithmetic<T>));
  if constexpr (std::is_integral_v<T>) all.insert(all.end(), std::begin(kBits<T>), std::end(kBits<T>));
}

/// Beyond the range the nearer end, as on the GPU; NaN is 0.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kEnd = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (std::isnan(x)) return 0;
    if (x >= kEnd) return std::numeric_limits<To>::max();
    if (std::is_signed_v<To> ? x < -kEnd : x < 0) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}
template <class To, class From>
LaneFunction conversion_of() {
  if constexpr (std::is_same_v<To, From> || (std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool> &&
                                             sizeof(LaneOf<From>) == sizeof(LaneOf<To>)))
    return nullptr;
  else return &EachLane<[](From x) { return converted<To>(x); }, To, From>::run;
}

/// Calls f with a zero of the C++ type of the number; an address is an unsigned long long.
template <class F>
auto with(Number number, F&& f) {
  switch (number) {
    case Number::Boolean: return f(bool{});
    case Number::I32: return f(std::int32_t{});
    case Number::U32: return f(std::uint32_t{});
    case Number::I64: return f(std::int64_t{});
    case Number::F32: return f(float{});
    case Number::F64: return f(double{});
    case Number::U64:
    case Number::Address: break;
  }
  return f(std::uint64_t{});
}

/// The type that threads compute with for a stored one.
template <class Stored>
auto widened(Stored x) {
  if constexpr (std::is_same_v<Stored, bool> || std::is_same_v<Stored, float> || std::is_same_v<Stored, double>) return x;
  else if constexpr (!std::is_integral_v<Stored>) return static_cast<float>(x);
  else if constexpr (sizeof(Stored) < 4) return static_cast<std::int32_t>(x);
  else return x;
}
template <class Stored, class T>
Stored narrowed(T x) {
  return static_cast<Stored>(x);
}

template <class Memory>
void load_lanes(std::byte* out, const std::uint64_t* addresses, std::uint32_t mask, std::size_t offset) {
  using T = LaneOf<decltype(widened(Memory{}))>;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const auto* const from = reinterpret_cast<const std::byte*>(addresses[lane] + offset);
    T result;
    if constexpr (std::is_same_v<Memory, bool>) {
      result = from[0] != std::byte{0};
    } else {
      Memory x;
      std::memcpy(&x, from, sizeof x);
      result = widened(x);
    }
    std::memcpy(out + static_cast<std::size_t>(lane) * sizeof(T), &result, sizeof(T));
  }
}
template <class Memory>
void store_lanes(const std::byte* from, const std::uint64_t* addresses, std::uint32_t mask, std::size_t offset) {
  using T = LaneOf<decltype(widened(Memory{}))>;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    T x;
    std::memcpy(&x, from + static_cast<std::size_t>(lane) * sizeof(T), sizeof(T));
    const auto stored = narrowed<Memory>(x);
    std::memcpy(reinterpret_cast<std::byte*>(addresses[lane] + offset), &stored, sizeof stored);
  }
}

[[noreturn]] void unknown(const char* what) {
  throw Error({.op = "simt::Machine", .got = what, .expected = "one that tegula/simt/machine knows", .advice = "add it there"});
}

}  // namespace

Number number_of(DType computed) {
  switch (computed) {
    case DType::f64: return Number::F64;
    case DType::f32: return Number::F32;
    case DType::i64: return Number::I64;
    case DType::i32: return Number::I32;
    case DType::u64: return Number::U64;
    case DType::u32: return Number::U32;
    case DType::boolean: return Number::Boolean;
    case DType::f16:
    case DType::bf16:
    case DType::e4m3:
    case DType::e5m2:
    case DType::u16:
    case DType::i16:
    case DType::i8:
    case DType::u8: break;
  }
  unknown("registers of a type that threads do not compute with");
}

Number number_of(const Type& type) {
  if (type.pointers > 0) return Number::Address;
  switch (type.kind) {
    case Type::Kind::Computed:
    case Type::Kind::Placed: return number_of(type.dtype);
    case Type::Kind::Stored:
    case Type::Kind::Wide:
    case Type::Kind::Packed: return number_of(tile::compute_type(type.dtype));
    case Type::Kind::Unsigned: return size_of(type.dtype) == 8 ? Number::U64 : Number::U32;
    case Type::Kind::Byte: break;
  }
  unknown("a register of bytes");
}

std::size_t bytes_of(const Type& type) {
  if (type.pointers > 0) return 8;
  switch (type.kind) {
    case Type::Kind::Computed:
    case Type::Kind::Stored:
    case Type::Kind::Unsigned: return size_of(type.dtype);
    case Type::Kind::Wide:
    case Type::Kind::Packed: return size_of(type.dtype) * static_cast<std::size_t>(type.count);
    case Type::Kind::Placed: return size_of(type.dtype) == 8 ? 16 : 8;
    case Type::Kind::Byte: return 1;
  }
  unknown("a type without a size");
}

std::span<const Function> operators() {
  static const std::vector<Function> all = [] {
    std::vector<Function> functions{entry<[](bool x) { return !x; }>("!"),
                                    entry<[](bool when, bool a, bool b) { return when ? a : b; }>("?"),
                                    entry<[](std::uint64_t p, std::int64_t n, std::int64_t bytes) {
                                      return p + static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(bytes);
                                    }>("advance")};
    append<std::int32_t>(functions), append<std::uint32_t>(functions), append<std::int64_t>(functions), append<std::uint64_t>(functions);
    append<float>(functions), append<double>(functions);
    return functions;
  }();
  return all;
}

LaneFunction conversion(Number from, Number to) {
  return with(from, [&](auto x) { return with(to, [&](auto y) { return conversion_of<decltype(y), decltype(x)>(); }); });
}

LaneFunction rounding(DType stored) {
  return visit(stored, [](auto zero) -> LaneFunction {
    using Stored = decltype(zero);
    using T = decltype(widened(Stored{}));
    return &EachLane<[](T x) { return static_cast<T>(widened(narrowed<Stored>(x))); }, T, T>::run;
  });
}

std::uint64_t neutral(const Operation& operation) {
  using tile::Reduction;
  return with(number_of(operation.dtype), [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const auto bits = [](T value) {
      std::uint64_t word = 0;
      if constexpr (std::is_same_v<T, bool>) word = value;
      else std::memcpy(&word, &value, sizeof value);
      return word;
    };
    switch (operation.kind) {
      case Reduction::Sum:
      case Reduction::Any: break;
      case Reduction::Prod: return bits(T(1));
      case Reduction::Min: return bits(std::is_floating_point_v<T> ? Limits::infinity() : Limits::max());
      case Reduction::Max: return bits(std::is_floating_point_v<T> ? static_cast<T>(-Limits::infinity()) : Limits::min());
      case Reduction::All: return bits(std::is_same_v<T, bool> ? static_cast<T>(1) : static_cast<T>(-1));
    }
    return std::uint64_t{0};
  });
}

LoadFunction loading(const Type& memory) {
  if (memory.pointers > 0) return &load_lanes<std::uint64_t>;
  if (memory.kind == Type::Kind::Unsigned) return size_of(memory.dtype) == 8 ? &load_lanes<std::uint64_t> : &load_lanes<std::uint32_t>;
  return visit(memory.dtype, [](auto zero) -> LoadFunction { return &load_lanes<decltype(zero)>; });
}
StoreFunction storing(const Type& memory) {
  if (memory.pointers > 0) return &store_lanes<std::uint64_t>;
  if (memory.kind == Type::Kind::Unsigned) return size_of(memory.dtype) == 8 ? &store_lanes<std::uint64_t> : &store_lanes<std::uint32_t>;
  return visit(memory.dtype, [](auto zero) -> StoreFunction { return &store_lanes<decltype(zero)>; });
}

}  // namespace tegula::simt
