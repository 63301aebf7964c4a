#pragma once
// The words of the language, Triton's. Each takes tiles, scalars and numbers and gives a tile. Shapes broadcast as in NumPy.
// A kernel's file says `using namespace tegula::tile;` and not `using namespace tegula;`: Tensor's words have the same names.

#include <array>
#include <compare>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/tile/language/tile.h"

namespace tegula::tile {

// clang-format off: one word a line
inline Tile operator+(TileArg a, TileArg b) { return language::said(language::two(Word::Add, a, b), a.where); }
inline Tile operator-(TileArg a, TileArg b) { return language::said(language::two(Word::Sub, a, b), a.where); }
inline Tile operator*(TileArg a, TileArg b) { return language::said(language::two(Word::Mul, a, b), a.where); }
/// Of integers: truncates, as in C++; division by 0 gives 0.
inline Tile operator/(TileArg a, TileArg b) { return language::said(language::two(Word::Div, a, b), a.where); }
/// The sign of the dividend, as in C++.
inline Tile operator%(TileArg a, TileArg b) { return language::said(language::two(Word::Rem, a, b), a.where); }
inline Tile operator<(TileArg a, TileArg b) { return language::said(language::two(Word::Lt, a, b), a.where); }
inline Tile operator<=(TileArg a, TileArg b) { return language::said(language::two(Word::Le, a, b), a.where); }
inline Tile operator>(TileArg a, TileArg b) { return language::said(language::two(Word::Gt, a, b), a.where); }
inline Tile operator>=(TileArg a, TileArg b) { return language::said(language::two(Word::Ge, a, b), a.where); }
inline Tile operator==(TileArg a, TileArg b) { return language::said(language::two(Word::Eq, a, b), a.where); }
inline Tile operator!=(TileArg a, TileArg b) { return language::said(language::two(Word::Ne, a, b), a.where); }
inline Tile operator&&(TileArg a, TileArg b) { return language::said(language::two(Word::And, a, b), a.where); }
inline Tile operator||(TileArg a, TileArg b) { return language::said(language::two(Word::Or, a, b), a.where); }
inline Tile operator&(TileArg a, TileArg b) { return language::said(language::two(Word::And, a, b), a.where); }
inline Tile operator|(TileArg a, TileArg b) { return language::said(language::two(Word::Or, a, b), a.where); }
inline Tile operator^(TileArg a, TileArg b) { return language::said(language::two(Word::Xor, a, b), a.where); }
inline Tile operator<<(TileArg a, TileArg b) { return language::said(language::two(Word::Shl, a, b), a.where); }
/// Arithmetic, copies of the sign come in; of unsigned tiles logical.
inline Tile operator>>(TileArg a, TileArg b) { return language::said(language::two(Word::Shr, a, b), a.where); }
inline Tile operator-(TileArg x) { return language::said(language::one(Word::Neg, x), x.where); }
inline Tile operator!(TileArg x) { return language::said(language::one(Word::Not, x), x.where); }
inline Tile operator~(TileArg x) { return language::said(language::one(Word::Not, x), x.where); }

// Two Consts are two numbers.
template <class A, class B> concept TwoConsts = is_const<A> && is_const<B>;
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator+(A a, B b) { return a.value + b.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator-(A a, B b) { return a.value - b.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator*(A a, B b) { return a.value * b.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator/(A a, B b) { return a.value / b.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator%(A a, B b) { return a.value % b.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto operator<=>(A a, B b) { return a.value <=> b.value; }
template <class A> requires is_const<A> constexpr auto operator-(A a) { return -a.value; }
template <class A> requires is_const<A> constexpr bool operator!(A a) { return !a.value; }
template <class A, class B> requires TwoConsts<A, B> constexpr bool operator==(A a, B b) { return a.value == b.value; }

// Elementwise mathematics: floats; integers become f32.
inline Tile exp(TileArg x) { return language::said(language::one(Word::Exp, x), x.where); }
inline Tile exp2(TileArg x) { return language::said(language::one(Word::Exp2, x), x.where); }
inline Tile expm1(TileArg x) { return language::said(language::one(Word::Expm1, x), x.where); }
inline Tile log(TileArg x) { return language::said(language::one(Word::Log, x), x.where); }
inline Tile log2(TileArg x) { return language::said(language::one(Word::Log2, x), x.where); }
inline Tile log1p(TileArg x) { return language::said(language::one(Word::Log1p, x), x.where); }
inline Tile sqrt(TileArg x) { return language::said(language::one(Word::Sqrt, x), x.where); }
inline Tile sqrt_rn(TileArg x) { return sqrt(x); }
inline Tile rsqrt(TileArg x) { return language::said(language::one(Word::Rsqrt, x), x.where); }
inline Tile sin(TileArg x) { return language::said(language::one(Word::Sin, x), x.where); }
inline Tile cos(TileArg x) { return language::said(language::one(Word::Cos, x), x.where); }
inline Tile tanh(TileArg x) { return language::said(language::one(Word::Tanh, x), x.where); }
inline Tile erf(TileArg x) { return language::said(language::one(Word::Erf, x), x.where); }
inline Tile sigmoid(TileArg x) { return language::said(language::one(Word::Sigmoid, x), x.where); }
inline Tile floor(TileArg x) { return language::said(language::one(Word::Floor, x), x.where); }
inline Tile ceil(TileArg x) { return language::said(language::one(Word::Ceil, x), x.where); }
inline Tile abs(TileArg x) { return language::said(language::one(Word::Abs, x), x.where); }
inline Tile isnan(TileArg x) { return language::said(language::one(Word::IsNan, x), x.where); }

/// The larger and the smaller one. NaN: of one that is no number and one that is, the number; Nan::Propagate gives NaN.
enum class Nan : std::uint8_t { Ignore, Propagate };
Tile maximum(TileArg a, TileArg b, Nan nan = Nan::Ignore);
Tile minimum(TileArg a, TileArg b, Nan nan = Nan::Ignore);
Tile clamp(TileArg x, TileArg low, TileArg high, Nan nan = Nan::Ignore);
/// a * b + c, rounded once where the machine can.
Tile fma(TileArg a, TileArg b, TileArg c);
/// Rounded up: blocks of b that hold a.
Tile cdiv(TileArg a, TileArg b);
constexpr std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
template <class A, class B> requires TwoConsts<A, B> constexpr auto cdiv(A a, B b) { return (a.value + b.value - 1) / b.value; }
/// a / b, as floats.
Tile fdiv(TileArg a, TileArg b);
inline Tile div_rn(TileArg a, TileArg b) { return fdiv(a, b); }
/// The upper half of the product of two integers of 32 or 64 bits taken as unsigned.
Tile umulhi(TileArg a, TileArg b);
/// The number of bits that are set in an integer, in its dtype: of -1 all of them.
Tile popcount(TileArg x);
/// condition ? a : b, element by element.
Tile where(TileArg condition, TileArg a, TileArg b);
/// exp(x - max) / sum along an axis.
Tile softmax(TileArg x, int axis = 0);

// Where an instance is, and tiles made of nothing.
inline Tile program_id(int axis, Line where = Line::current()) { return language::said({language::Trace::current(where).builder(where).program_id(axis), i64}, where); }
inline Tile num_programs(int axis, Line where = Line::current()) { return language::said({language::Trace::current(where).builder(where).num_programs(axis), i64}, where); }
/// begin, begin + 1, …, end - 1 as i64; any length.
inline Tile arange(std::int64_t begin, std::int64_t end, Line where = Line::current()) { return language::said({language::Trace::current(where).builder(where).arange(begin, end - begin), i64}, where); }
// clang-format on
Tile full_of(const Shape& shape, TileArg value, DType dtype);
template <class T = float>
Tile full(const Shape& shape, TileArg value) {
  return full_of(shape, value, dtype_of<T>());
}
/// The dtype is a template argument, zeros<float>({BM, BN}); full_of and cast_to take it as a value.
template <class T = float>
Tile zeros(const Shape& shape, Line where = Line::current()) {
  return full_of(shape, TileArg(0, where), dtype_of<T>());
}
Tile zeros_like(TileArg x);
/// Floats to nearest even; to integers toward zero, those of fewer bits wrap; to bool: != 0.
Tile cast_to(TileArg x, DType dtype);
template <class T>
Tile cast(TileArg x) {
  return cast_to(x, dtype_of<T>());
}
/// The same bits as another dtype of that width.
Tile bitcast_to(TileArg x, DType dtype);
template <class T>
Tile bitcast(TileArg x) {
  return bitcast_to(x, dtype_of<T>());
}

// Shapes. Axes count from 0; negative ones from the end.
Tile expand_dims(TileArg x, int axis);
inline Tile col(TileArg x) { return expand_dims(x, 1); }  // x[:, None]
inline Tile row(TileArg x) { return expand_dims(x, 0); }  // x[None, :]
Tile broadcast_to(TileArg x, const Shape& shape);
Tile reshape(TileArg x, const Shape& shape);
inline Tile view(TileArg x, const Shape& shape) { return reshape(x, shape); }
Tile ravel(TileArg x);
/// Of rank 2.
Tile trans(TileArg x);

// Across a tile. The axis goes, unless it is kept with size 1.
enum class Axis : std::uint8_t { Drop, Keep };
Tile sum(TileArg x, int axis, Axis kept = Axis::Drop);
Tile max(TileArg x, int axis, Axis kept = Axis::Drop);
Tile min(TileArg x, int axis, Axis kept = Axis::Drop);
Tile prod(TileArg x, int axis, Axis kept = Axis::Drop);
Tile any(TileArg x, int axis, Axis kept = Axis::Drop);
Tile all(TileArg x, int axis, Axis kept = Axis::Drop);
/// i64 positions, of equals the first; NaN wins.
Tile argmax(TileArg x, int axis, Axis kept = Axis::Drop);
Tile argmin(TileArg x, int axis, Axis kept = Axis::Drop);
Tile cumsum(TileArg x, int axis);
Tile cumprod(TileArg x, int axis);
/// Stable; NaN is largest.
enum class Order : std::uint8_t { Ascending, Descending };
Tile sort(TileArg x, int axis, Order order = Order::Ascending);
Tile argsort(TileArg x, int axis, Order order = Order::Ascending);

// Memory. Elements where the mask is false are not touched; loads give `other` there, or zero.
Tile load(TileArg pointer);
Tile load(TileArg pointer, TileArg mask);
Tile load(TileArg pointer, TileArg mask, TileArg other);
/// {.cache_modifier = Cache::Cg, .eviction_policy = Eviction::First, .is_volatile = true}: a volatile load reads memory each time; the others are wishes of speed.
Tile load(TileArg pointer, AccessHints hints);
Tile load(TileArg pointer, TileArg mask, AccessHints hints);
Tile load(TileArg pointer, TileArg mask, TileArg other, AccessHints hints);
/// The value is cast to what the pointer points at.
void store(TileArg pointer, TileArg value, AccessHints hints = {});
void store(TileArg pointer, TileArg value, TileArg mask, AccessHints hints = {});

// Atomic words: each changes the elements it points at, one after another, and gives what was there before; zero where the mask is false. On the CPU
// instances come in the order of their ids, and so they do on a GPU for floats and integers of 8 and 16 bits, one block for all of them where an old value is
// used; integers of 32 and 64 bits come in any order there. They take results that begin with something: tile::out(shape, fill), or InOut.
/// How an atomic word is ordered with the instance's other accesses, and who sees it as one step: Triton's `sem` and `scope`.
struct AtomicOptions {
  Sem sem = Sem::AcqRel;
  Scope scope = Scope::Gpu;
};
/// p[…] += value; the sum of f16 and bf16 is rounded each time.
Tile atomic_add(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_add(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
/// The larger and the smaller one; NaN wins.
Tile atomic_max(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_max(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
Tile atomic_min(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_min(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
/// Bit by bit, of integers.
Tile atomic_and(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_and(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
Tile atomic_or(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_or(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
Tile atomic_xor(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_xor(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
/// p[…] = value.
Tile atomic_xchg(TileArg pointer, TileArg value, AtomicOptions options = {});
Tile atomic_xchg(TileArg pointer, TileArg value, TileArg mask, AtomicOptions options = {});
/// p[…] = value where p[…] is `compare`; integers. while_([&] { return atomic_cas(lock, 0, 1) == 1; }, [] {}) waits for a lock, atomic_xchg(lock, 0) gives it back.
Tile atomic_cas(TileArg pointer, TileArg compare, TileArg value, AtomicOptions options = {});

/// The threads of an instance wait for each other. Words do so by themselves where they need it; nothing on the CPU.
void debug_barrier(Line where = Line::current());

// Hints: what the program may count on, which makes accesses wider. A kernel that runs at once (kernel.check()) finds those that do not hold.
/// x is a multiple of n; of a tile the first element of those that follow each other.
Tile multiple_of(TileArg x, std::int64_t n);
/// From a multiple of n on, n elements along the last axis count up by 1.
Tile max_contiguous(TileArg x, std::int64_t n);
/// From a multiple of n on, n elements along the last axis are equal.
Tile max_constancy(TileArg x, std::int64_t n);
/// assume(stride % 8 == 0), assume(n >= 0): a bool scalar that holds.
void assume(TileArg condition);

/// Element by element what PTX says, without effects: inline_asm_elementwise<float>("ex2.approx.ftz.f32 $0, $1;", "=f,f", {x}). $0 is the result, $1 … the
/// operands; the constraints are r (i32, u32), l (i64, u64), f (f32), d (f64). `fallback` gives the same where there is no PTX, from numbers and as a number of T; without
/// one a run on the CPU is an Error.
using AssemblyFallback = std::function<double(const std::vector<double>&)>;
using AssemblyFallbacks = std::function<std::vector<double>(const std::vector<double>&)>;
struct AssemblyOptions {
  /// So many neighbours along the last axis at a time. Elements of 8 and 16 bits lie together in registers of 32 (r), four or two of them; of 32 and 64 bits each
  /// has its own.
  int pack = 1;
};
std::vector<Tile> inline_asm_of(const std::string& text, const std::string& constraints, const std::vector<Tile>& operands,
                                const std::vector<DType>& dtypes, const AssemblyFallbacks& fallback, int pack, Line where);
template <class T>
Tile inline_asm_elementwise(const std::string& text, const std::string& constraints, const std::vector<Tile>& operands,
                            const AssemblyFallback& fallback = {}, AssemblyOptions options = {}, Line where = Line::current()) {
  AssemblyFallbacks all;
  if (fallback) all = [fallback](const std::vector<double>& x) { return std::vector<double>{fallback(x)}; };
  return inline_asm_of(text, constraints, operands, {dtype_of<T>()}, all, options.pack, where)[0];
}
/// With several results, $0, $1 …, of which `fallback` gives a number each: auto [sum, difference] = inline_asm_elementwise<int, int>(…). Each is computed by a
/// text of its own.
template <class T, class U, class... More>
std::array<Tile, 2 + sizeof...(More)> inline_asm_elementwise(const std::string& text, const std::string& constraints,
                                                             const std::vector<Tile>& operands, const AssemblyFallbacks& fallback = {},
                                                             AssemblyOptions options = {}, Line where = Line::current()) {
  const std::vector<Tile> all =
      inline_asm_of(text, constraints, operands, {dtype_of<T>(), dtype_of<U>(), dtype_of<More>()...}, fallback, options.pack, where);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Tile, 2 + sizeof...(More)>{all[I]...};
  }(std::make_index_sequence<2 + sizeof...(More)>());
}

// Random numbers: Philox-4x32, Triton's streams bit for bit.
/// i32, all bits random: the first of the four words that belong to an offset.
Tile randint(TileArg seed, TileArg offsets);
/// All four of them.
std::vector<Tile> randint4x(TileArg seed, TileArg offsets);
/// f32, uniform in [0, 1).
Tile rand(TileArg seed, TileArg offsets);
/// f32, normal (Box and Muller).
Tile randn(TileArg seed, TileArg offsets);

/// An Error at this line of the kernel where the condition is false, with the value: the launch fails.
void device_assert(TileArg condition, std::string sentence);
void device_assert(TileArg condition, TileArg value, std::string sentence);
/// Shows the label, the instance, the line and the first 16 elements: the way warnings take where the kernel runs at once (kernel.check(), TEGULA_CHECK=tile) and
/// on the CPU; on a GPU by the driver's buffer, a line an element, on the standard output when the launch is over.
void device_print(std::string label, TileArg x);

}  // namespace tegula::tile
