#pragma once
// Variables of a kernel: tiles and scalars that can be assigned, what words take (TileArg), and the types of a kernel's parameters.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tegula/tile/language/trace.h"

namespace tegula::tile {

using tegula::BFloat16, tegula::E4M3, tegula::E5M2, tegula::Half;  // element types: Ptr<BFloat16>, zeros<Half>({BM, BN})

/// A text as a template argument.
template <std::size_t N>
struct FixedText {
  char letters[N]{};
  constexpr FixedText(const char (&text)[N]) { std::copy_n(text, N, letters); }
};

/// A parameter that is an ordinary number while the kernel is recorded: the size of a tile, a switch. Other ones make another program. Its name is for
/// messages and tables of choices: Const<int, "BLOCK">.
template <class T = int, FixedText Name = "">
struct Const {
  T value;
  constexpr operator T() const { return value; }
};
template <class T>
inline constexpr bool is_const = false;
template <class T, FixedText Name>
inline constexpr bool is_const<Const<T, Name>> = true;

template <class>
class BasicTile;
/// A tile or a scalar of a kernel: a variable. Copies are variables of their own. A value that a loop or a branch assigns to an earlier variable is its value
/// after it; the variable keeps its type there.
using Tile = BasicTile<void>;

/// An operand of a word, and the line where it stands. A number takes the dtype of what it stands beside.
struct TileArg {
  TileArg(const Tile& x, Line where = Line::current());
  template <Number T>
  TileArg(T x, Line where = Line::current())
      : real(static_cast<double>(x)),
        integer(std::is_integral_v<T> ? static_cast<std::int64_t>(x) : 0),
        whole(std::is_integral_v<T>),
        is_bool(std::is_same_v<T, bool>),
        where(language::Trace::said_at(where)) {}
  template <class T, FixedText Name>
  TileArg(const Const<T, Name>& x, Line where = Line::current()) : TileArg(x.value, where) {}

  bool is_number() const { return content.value.is_empty(); }
  Builder& builder() const { return language::Trace::current(where).builder(where); }
  /// In a dtype; Error for what it cannot hold.
  language::Content as(DType dtype) const;
  /// A number that stands alone is i64, f32 or bool.
  language::Content alone() const;

  language::Content content;
  double real = 0;
  std::int64_t integer = 0;
  bool whole = false, is_bool = false;
  Line where;
};

template <class Unused>
class [[maybe_unused]] BasicTile {
 public:
  /// One without a value: both branches of an if_ may give it one.
  BasicTile(Line where = Line::current()) : trace_(trace(where).serial()), slot_(trace(where).make_slot(where)) {}
  BasicTile(const language::Content& content, const Line& where) : BasicTile(where) { set(content, where); }
  BasicTile(const BasicTile& other, Line where = Line::current()) : BasicTile(where) {
    if (trace(where).has_value(other.slot_)) set(other.get(where), where);
  }
  template <Number T>
  BasicTile(T number, Line where = Line::current()) : BasicTile(TileArg(number, where).alone(), where) {}
  template <class T, FixedText Name>
  BasicTile(const Const<T, Name>& number, Line where = Line::current()) : BasicTile(number.value, where) {}
  BasicTile& operator=(const BasicTile&)
  requires(sizeof(Unused*) == 0);  // never: so that an assignment takes a TileArg, which knows its line
  BasicTile& operator=(TileArg x);
  ~BasicTile() {
    if (language::Trace* const trace = language::Trace::find(trace_)) trace->drop_slot(slot_);
  }

  Shape shape(Line where = Line::current()) const { return get(where).value.shape(); }
  /// The dtype of the elements; for a pointer, of its target.
  DType dtype(Line where = Line::current()) const { return get(where).dtype; }
  BasicTile& operator+=(TileArg x);
  BasicTile& operator-=(TileArg x);
  BasicTile& operator*=(TileArg x);
  BasicTile& operator/=(TileArg x);
  BasicTile& operator%=(TileArg x);
  BasicTile& operator&=(TileArg x);
  BasicTile& operator|=(TileArg x);
  BasicTile& operator^=(TileArg x);

  language::Content get(const Line& where) const { return trace(where).read(slot_, where); }
  void set(const language::Content& content, const Line& where) { view_ = trace(where).assign(slot_, content, where); }

 private:
  static language::Trace& trace(const Line& where) { return language::Trace::current(where); }
  BasicTile& update(Word word, TileArg x);

  std::uint64_t trace_;
  int slot_;
  const language::View* view_ = nullptr;  // for debuggers, where the kernel runs at once
};

template <class U>
BasicTile<U>& BasicTile<U>::operator=(TileArg x) {
  const bool takes_type = x.is_number() && trace(x.where).has_value(slot_);
  set(takes_type ? x.as(get(x.where).dtype) : x.alone(), x.where);
  return *this;
}

namespace language {
/// The result of a word of two operands, brought to one type by Triton's rules (promotion.h). A scalar or a number beside a tile takes the tile's type, unless
/// its kind is higher. Results of f16, bf16, e4m3, e5m2, i16, i8, u16, u8 are computed wide and rounded.
Content two(Word word, const TileArg& a, const TileArg& b);
Content one(Word word, const TileArg& x);
inline Tile said(const Content& content, const Line& where) { return {content, where}; }
}  // namespace language

template <class U>
BasicTile<U>& BasicTile<U>::update(Word word, TileArg x) {
  set(language::two(word, TileArg(*this, x.where), x), x.where);
  return *this;
}
// clang-format off: one operator a line
template <class U> BasicTile<U>& BasicTile<U>::operator+=(TileArg x) { return update(Word::Add, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator-=(TileArg x) { return update(Word::Sub, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator*=(TileArg x) { return update(Word::Mul, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator/=(TileArg x) { return update(Word::Div, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator%=(TileArg x) { return update(Word::Rem, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator&=(TileArg x) { return update(Word::And, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator|=(TileArg x) { return update(Word::Or, x); }
template <class U> BasicTile<U>& BasicTile<U>::operator^=(TileArg x) { return update(Word::Xor, x); }
// clang-format on

// Parameters of a kernel. A pointer points at the first element of a tensor; p + tile is a tile of pointers.

/// Any dtype: Ptr<Any>, which p.dtype() names.
struct Any {};
/// A tensor that is read. It is dense and row-major: a view with other strides is copied for the launch. TensorOf takes it as it lies.
template <class T = float>
struct Ptr : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
/// A result of the launch: tile::out(shape), or tile::out(shape, fill), which atomics need.
template <class T = float>
struct Out : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
/// A Variable, which the kernel updates.
template <class T = float>
struct InOut : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
/// Scalars that are known when the kernel runs: i64, f32, bool.
struct Int : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
struct Float : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
struct Bool : Tile {
  using Tile::Tile;
  using Tile::operator=;
};
/// Any of these with a name, by which tuning and heuristics know it: Named<Int, "M"> M.
template <class P, FixedText Name>
struct Named : P {
  using P::P;
  using P::operator=;
};

}  // namespace tegula::tile
