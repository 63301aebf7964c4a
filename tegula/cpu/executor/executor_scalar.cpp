// Steps on integer scalars, and control.

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {
namespace {

using tile::Word;

template <class T>
using Bits = std::make_unsigned_t<T>;
__extension__ using Bits128 = unsigned __int128;
template <class T>
using Twice = std::conditional_t<sizeof(T) == 8, Bits128, std::uint64_t>;

// Arithmetic wraps. T is an integer of 64 or 32 bits; booleans come as int64_t 0 or 1.
// clang-format off: one word a line
struct Neg { template <class T> static T call(T a) { return static_cast<T>(0 - static_cast<Bits<T>>(a)); } };
struct Abs { template <class T> static T call(T a) { return std::is_signed_v<T> && a < T{0} ? Neg::call(a) : a; } };
struct Sign { template <class T> static T call(T a) { return static_cast<T>(a > T{0} ? 1 : a == T{0} ? 0 : -1); } };
struct Not { template <class T> static T call(T a) { return ~a; } };
struct Popcount { template <class T> static T call(T a) { return static_cast<T>(std::popcount(static_cast<Bits<T>>(a))); } };
struct Flip { template <class T> static T call(T a) { return a ^ 1; } };
struct Add { template <class T> static T call(T a, T b) { return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b)); } };
struct Sub { template <class T> static T call(T a, T b) { return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b)); } };
struct Mul { template <class T> static T call(T a, T b) { return static_cast<T>(static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b)); } };
template <class T>
bool is_minus_one(T b) { return std::is_signed_v<T> && b == static_cast<T>(-1); }
struct Div { template <class T> static T call(T a, T b) { return b == 0 ? T{0} : is_minus_one(b) ? Neg::call(a) : a / b; } };
struct Rem { template <class T> static T call(T a, T b) { return b == 0 || is_minus_one(b) ? T{0} : a % b; } };
struct Min { template <class T> static T call(T a, T b) { return std::min(a, b); } };
struct Max { template <class T> static T call(T a, T b) { return std::max(a, b); } };
struct And { template <class T> static T call(T a, T b) { return a & b; } };
struct Or { template <class T> static T call(T a, T b) { return a | b; } };
struct Xor { template <class T> static T call(T a, T b) { return a ^ b; } };
template <class T>
unsigned amount(T b) { return static_cast<unsigned>(b) % (8 * sizeof(T)); }
struct Shl { template <class T> static T call(T a, T b) { return static_cast<T>(static_cast<Bits<T>>(a) << amount(b)); } };
struct Shr { template <class T> static T call(T a, T b) { return a >> amount(b); } };
struct MulHi {
  template <class T>
  static T call(T a, T b) { return static_cast<T>(static_cast<Twice<T>>(static_cast<Bits<T>>(a)) * static_cast<Bits<T>>(b) >> 8 * sizeof(T)); }
};
struct Eq { template <class T> static T call(T a, T b) { return a == b; } };
struct Ne { template <class T> static T call(T a, T b) { return a != b; } };
struct Lt { template <class T> static T call(T a, T b) { return a < b; } };
struct Le { template <class T> static T call(T a, T b) { return a <= b; } };
struct Gt { template <class T> static T call(T a, T b) { return a > b; } };
struct Ge { template <class T> static T call(T a, T b) { return a >= b; } };
struct FloorDivide { template <class T> static T call(T a, T b) { return a / b - (a % b < 0); } };
// clang-format on
// Exact where the result lies within ±2^61, else that end: sums of two such are below 2^63.
std::int64_t bounded(std::int64_t value, bool overflow, bool up) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  return overflow ? (up ? kMost : -kMost) : std::clamp(value, -kMost, kMost);
}
struct BoundedAdd {
  static std::int64_t call(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(a, b, &sum);
    return bounded(sum, overflow, b > 0);
  }
};
struct BoundedSubtract {
  static std::int64_t call(std::int64_t a, std::int64_t b) {
    std::int64_t difference = 0;
    const bool overflow = __builtin_sub_overflow(a, b, &difference);
    return bounded(difference, overflow, b < 0);
  }
};

template <class T, class F>
const Step* one(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out].integer = static_cast<std::int64_t>(F::call(static_cast<T>(frame.slots[step.a].integer)));
  return following(step);
}
template <class T, class F>
const Step* two(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out].integer =
      static_cast<std::int64_t>(F::call(static_cast<T>(frame.slots[step.a].integer), static_cast<T>(frame.slots[step.b].integer)));
  return following(step);
}
const Step* select(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out] = frame.slots[step.a].integer ? frame.slots[step.b] : frame.slots[step.c];
  return following(step);
}

template <class T>
Run find(Word word, DType dtype) {
  switch (word) {
    case Word::Neg: return one<T, Neg>;
    case Word::Abs: return one<T, Abs>;
    case Word::Sign: return one<T, Sign>;
    case Word::Not: return dtype == boolean ? one<T, Flip> : one<T, Not>;
    case Word::Popcount: return one<T, Popcount>;
    case Word::Add: return two<T, Add>;
    case Word::Sub: return two<T, Sub>;
    case Word::Mul: return two<T, Mul>;
    case Word::Div: return two<T, Div>;
    case Word::Rem: return two<T, Rem>;
    case Word::Min: return two<T, Min>;
    case Word::Max: return two<T, Max>;
    case Word::And: return two<T, And>;
    case Word::Or: return two<T, Or>;
    case Word::Xor: return two<T, Xor>;
    case Word::Shl: return two<T, Shl>;
    case Word::Shr: return two<T, Shr>;
    case Word::MulHi: return two<T, MulHi>;
    case Word::Eq: return two<T, Eq>;
    case Word::Ne: return two<T, Ne>;
    case Word::Lt: return two<T, Lt>;
    case Word::Le: return two<T, Le>;
    case Word::Gt: return two<T, Gt>;
    case Word::Ge: return two<T, Ge>;
    default: return nullptr;
  }
}

}  // namespace

Run find_scalar(Word word, DType dtype) {
  if (word == Word::Select) return select;
  if (is_float(dtype)) return nullptr;
  switch (dtype) {
    case i32: return find<std::int32_t>(word, dtype);
    case u32: return find<std::uint32_t>(word, dtype);
    case u64: return find<std::uint64_t>(word, dtype);
    default: return find<std::int64_t>(word, dtype);
  }
}

const Step* copy_scalar(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out] = frame.slots[step.a];
  return following(step);
}
const Step* floor_divide(const Step* at, Frame& frame) { return two<std::int64_t, FloorDivide>(at, frame); }
const Step* bounded_add(const Step* at, Frame& frame) { return two<std::int64_t, BoundedAdd>(at, frame); }
const Step* bounded_subtract(const Step* at, Frame& frame) { return two<std::int64_t, BoundedSubtract>(at, frame); }
const Step* extend_i32(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out].integer = static_cast<std::int32_t>(frame.slots[step.a].integer);
  return following(step);
}
const Step* extend_u32(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out].integer = static_cast<std::uint32_t>(frame.slots[step.a].integer);
  return following(step);
}
const Step* extend_boolean(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const ScalarStep*>(at);
  frame.slots[step.out].integer = frame.slots[step.a].integer & 0xff;
  return following(step);
}

const Step* loop_begin(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const LoopStep*>(at);
  frame.slots[step.index] = frame.slots[step.begin];
  return frame.slots[step.begin].integer < frame.slots[step.end].integer ? following(step) : at_distance(step, step.distance);
}
const Step* loop_end(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const LoopStep*>(at);
  const std::int64_t left = frame.slots[step.end].integer - frame.slots[step.index].integer;
  if (left <= frame.slots[step.step].integer) return following(step);
  frame.slots[step.index].integer += frame.slots[step.step].integer;
  return at_distance(step, step.distance);
}
const Step* while_begin(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const LoopStep*>(at);
  frame.slots[step.index].integer = 0;
  return frame.slots[step.begin].integer ? following(step) : at_distance(step, step.distance);
}
const Step* while_end(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const LoopStep*>(at);
  if (!frame.slots[step.begin].integer) return following(step);
  ++frame.slots[step.index].integer;
  return at_distance(step, step.distance);
}
const Step* jump(const Step* at, Frame&) {
  const auto& step = *static_cast<const JumpStep*>(at);
  return at_distance(step, step.distance);
}
const Step* jump_unless(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const JumpStep*>(at);
  return frame.slots[step.condition].integer ? following(step) : at_distance(step, step.distance);
}
const Step* finish(const Step*, Frame&) { return nullptr; }

}  // namespace tegula::host
