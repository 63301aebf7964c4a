#include "tegula/tile/language/words.h"

#include <utility>

#include "tegula/core/error.h"
#include "tegula/tile/language/promotion.h"
#include "tegula/tile/rules.h"

namespace tegula::tile {

using language::Content, language::said;

namespace {

enum class Kind : std::uint8_t { Bool, Integer, Float };
Kind kind(DType dtype) { return is_float(dtype) ? Kind::Float : dtype == boolean ? Kind::Bool : Kind::Integer; }
Kind kind(const TileArg& x) {
  if (!x.is_number()) return kind(x.content.dtype);
  return x.is_bool ? Kind::Bool : x.whole ? Kind::Integer : Kind::Float;
}

bool is_comparison(Word word) { return word >= Word::Eq && word <= Word::Ge; }
bool is_pointer(const TileArg& x) { return !x.is_number() && x.content.value.type().pointer; }

/// A number takes part as a scalar of the narrowest kind that it needs.
language::OperandType operand_type(const TileArg& x) {
  if (!x.is_number()) return {x.content.dtype, x.content.value.shape().empty()};
  return {x.is_bool ? boolean : x.whole ? i32 : f32, true};
}

DType common_dtype(Word word, const TileArg& a, const TileArg& b) {
  if (a.is_number() && b.is_number()) {
    const Kind highest = std::max(kind(a), kind(b));
    return highest == Kind::Float ? f32 : highest == Kind::Integer ? i64 : boolean;
  }
  const bool number = a.is_number() || b.is_number(), divides = word == Word::Div || word == Word::Rem;
  if (number) {  // beside a scalar, too, it takes that one's dtype
    const TileArg& other = a.is_number() ? b : a;
    if (kind(a.is_number() ? a : b) <= kind(other)) return divides && is_narrow_float(other.content.dtype) ? f32 : other.content.dtype;
  }
  const language::OperandType x = operand_type(a), y = operand_type(b);
  if (const auto dtype = language::promoted(x, y, divides)) return *dtype;
  const bool floats = is_float(x.dtype) || is_float(y.dtype);
  throw Error({.op = std::string(name(word)),
               .got = std::string(name(x.dtype)) + " and " + std::string(name(y.dtype)),
               .expected = floats ? "two floats, or two integers" : "integers of one kind: both with a sign, or both without",
               .advice = "cast one of them",
               .where = a.where});
}

Content converted(const Content& x, DType dtype) {
  if (x.dtype == dtype && !x.value.type().pointer) return x;
  return {cast(x.value, dtype), dtype};
}
Content in_dtype(const TileArg& x, DType dtype) { return x.is_number() ? x.as(dtype) : converted(x.content, dtype); }

/// A result of a word on values of a stored type, which the word computes wide.
Content rounded(Value value, DType dtype) { return {is_compute_type(dtype) ? value : narrow(value, dtype), dtype}; }

/// The operand of a word for tiles alone.
const Content& tile_of(std::string_view word, const TileArg& x) {
  x.builder();
  if (!x.is_number()) return x.content;
  throw Error({.op = std::string(word), .got = "a number", .expected = "a tile", .where = x.where});
}

Value mask_of(std::string_view word, const TileArg& mask) {
  const Content content = mask.is_number() ? mask.as(boolean) : mask.content;
  if (content.dtype == boolean) return content.value;
  throw Error({.op = std::string(word),
               .got = "a mask of type " + to_string(content.value.type()),
               .expected = "a bool tile",
               .where = mask.where});
}

const Content& pointer_of(std::string_view word, const TileArg& pointer) {
  const Content& content = tile_of(word, pointer);
  if (content.value.type().pointer) return content;
  throw Error({.op = std::string(word),
               .got = to_string(content.value.type()),
               .expected = "a pointer, or a tile of pointers: the parameter + offsets",
               .where = pointer.where});
}

Value with_axis_gone(Value x, int axis, Axis kept) {
  if (kept == Axis::Keep) return x;
  Shape shape = x.shape();
  shape.erase(axis < 0 ? axis + shape.rank() : axis);
  return reshape(x, shape);
}

/// What sums and products are of: Triton widens narrow integers and bool.
Content widened(const Content& x) {
  if (is_float(x.dtype) || size_of(x.dtype) >= 4) return x;
  return converted(x, is_unsigned(x.dtype) ? u32 : i32);
}

Tile reduced(std::string_view word, const TileArg& x, int axis, Axis kept, Reduction kind) {
  Content content = tile_of(word, x);
  if (kind == Reduction::Sum || kind == Reduction::Prod) content = widened(content);
  else if (kind == Reduction::Any || kind == Reduction::All) content = converted(content, boolean);
  return said(rounded(with_axis_gone(reduce(content.value, axis, kind), axis, kept), content.dtype), x.where);
}

Tile position(std::string_view word, const TileArg& x, int axis, Axis kept, Reduction kind) {
  return said({with_axis_gone(arg_reduce(tile_of(word, x).value, axis, kind), axis, kept), i64}, x.where);
}

Tile extreme(Word word, const TileArg& a, const TileArg& b, Nan nan) {
  const Content both = language::two(word, a, b);
  if (nan == Nan::Propagate || !is_float(both.dtype)) return said(both, a.where);
  const Value x = in_dtype(a, both.dtype).value, y = in_dtype(b, both.dtype).value;
  const Value first = binary(word == Word::Max ? Word::Gt : Word::Lt, x, y) || unary(Word::IsNan, y);
  return said({select(first, x, y), both.dtype}, a.where);
}

void act(const TileArg& x) {
  if (language::Machine* const machine = language::Trace::current(x.where).machine()) machine->catch_up();
}

}  // namespace

TileArg::TileArg(const Tile& x, Line where) : where(language::Trace::said_at(where)) { content = x.get(this->where); }

Content TileArg::as(DType dtype) const {
  if (!is_number()) return converted(content, dtype);
  Builder& b = builder();
  const DType computed = compute_type(dtype);
  if (dtype == boolean) return {b.constant(std::int64_t{whole ? integer != 0 : real != 0}, boolean), boolean};
  return rounded(whole ? b.constant(integer, computed) : b.constant(real, computed), dtype);
}

Content TileArg::alone() const {
  if (!is_number()) return content;
  return as(is_bool ? boolean : whole ? i64 : f32);
}

namespace language {

Content two(Word word, const TileArg& a, const TileArg& b) {
  a.builder();
  if (is_pointer(a) || is_pointer(b)) {
    const Value x = a.is_number() ? a.as(i64).value : a.content.value, y = b.is_number() ? b.as(i64).value : b.content.value;
    return {binary(word, x, y), is_pointer(a) ? a.content.dtype : b.content.dtype};
  }
  const DType dtype = common_dtype(word, a, b);
  const Value result = binary(word, in_dtype(a, dtype).value, in_dtype(b, dtype).value);
  return is_comparison(word) ? Content{result, boolean} : rounded(result, dtype);
}

Content one(Word word, const TileArg& x) {
  x.builder();
  Content content = x.alone();
  const bool any_number = word == Word::Neg || word == Word::Abs || word == Word::Not;
  if (!any_number && !is_float(content.dtype)) content = converted(content, f32);
  const Value result = unary(word, content.value);
  return word == Word::IsNan ? Content{result, boolean} : rounded(result, content.dtype);
}

}  // namespace language

Tile maximum(TileArg a, TileArg b, Nan nan) { return extreme(Word::Max, a, b, nan); }
Tile minimum(TileArg a, TileArg b, Nan nan) { return extreme(Word::Min, a, b, nan); }
Tile clamp(TileArg x, TileArg low, TileArg high, Nan nan) {
  const language::Within line(x.where);
  const Tile clamped = minimum(maximum(x, low), high);
  return nan == Nan::Propagate ? where(isnan(x), x, clamped) : clamped;
}

Tile fma(TileArg a, TileArg b, TileArg c) {
  a.builder();
  const DType dtype = common_dtype(Word::Fma, said(language::two(Word::Mul, a, b), a.where), c);
  return said(rounded(fma(in_dtype(a, dtype).value, in_dtype(b, dtype).value, in_dtype(c, dtype).value), dtype), a.where);
}

Tile cdiv(TileArg a, TileArg b) {
  const language::Within line(a.where);
  return (a + b - 1) / b;
}

Tile fdiv(TileArg a, TileArg b) {
  const language::Within line(a.where);
  const auto real = [](const TileArg& x) { return kind(x) == Kind::Float ? x : TileArg(cast_to(x, f32), x.where); };
  return real(a) / real(b);
}

Tile umulhi(TileArg a, TileArg b) {
  a.builder();
  const DType dtype = common_dtype(Word::MulHi, a, b);
  if (!is_integer(dtype) || size_of(dtype) < 4) {
    throw Error({.op = "umulhi",
                 .got = std::string(name(dtype)),
                 .expected = "i32, i64, u32 or u64",
                 .advice = "cast the operands",
                 .where = a.where});
  }
  return said({binary(Word::MulHi, in_dtype(a, dtype).value, in_dtype(b, dtype).value), dtype}, a.where);
}

Tile popcount(TileArg x) {
  x.builder();
  const Content from = x.alone();
  if (!is_integer(from.dtype)) {
    throw Error(
        {.op = "popcount", .got = std::string(name(from.dtype)), .expected = "integers", .advice = "bitcast or cast it", .where = x.where});
  }
  // Narrow ones are computed wide, with their sign: its copies are not among their bits.
  Value bits = from.value;
  if (from.dtype == i8) bits = narrow(bits, u8);
  if (from.dtype == i16) bits = narrow(bits, u16);
  return said({unary(Word::Popcount, bits), from.dtype}, x.where);
}

Tile where(TileArg condition, TileArg a, TileArg b) {
  condition.builder();
  const Value choice = mask_of("where", condition);
  if (is_pointer(a) || is_pointer(b)) {
    throw Error({.op = "where", .got = "pointers", .expected = "values", .advice = "choose the offsets instead", .where = condition.where});
  }
  const DType dtype = common_dtype(Word::Select, a, b);
  return said({select(choice, in_dtype(a, dtype).value, in_dtype(b, dtype).value), dtype}, condition.where);
}

Tile softmax(TileArg x, int axis) {
  const language::Within line(x.where);
  const Tile e = exp(x - max(x, axis, Axis::Keep));
  return e / sum(e, axis, Axis::Keep);
}

Tile full_of(const Shape& shape, TileArg value, DType dtype) {
  const Content content = value.as(dtype);
  return said({broadcast(content.value, shape), dtype}, value.where);
}
Tile zeros_like(TileArg x) {
  const Content& like = tile_of("zeros_like", x);
  return full_of(like.value.shape(), TileArg(0, x.where), like.dtype);
}
Tile cast_to(TileArg x, DType dtype) {
  x.builder();
  return said(x.as(dtype), x.where);
}
Tile bitcast_to(TileArg x, DType dtype) {
  const Content& from = tile_of("bitcast", x);
  if (is_compute_type(from.dtype) && is_compute_type(dtype) && size_of(from.dtype) == size_of(dtype))
    return said({bitcast(from.value, dtype), dtype}, x.where);
  throw Error({.op = "bitcast",
               .got = std::string(name(from.dtype)) + " to " + std::string(name(dtype)),
               .expected = "two of f32, i32 and u32, or of f64, i64 and u64",
               .where = x.where});
}

Tile expand_dims(TileArg x, int axis) {
  const Content& from = tile_of("expand_dims", x);
  return said({expand_dims(from.value, axis), from.dtype}, x.where);
}
Tile broadcast_to(TileArg x, const Shape& shape) {
  x.builder();
  const Content from = x.alone();
  return said({broadcast(from.value, shape), from.dtype}, x.where);
}
Tile reshape(TileArg x, const Shape& shape) {
  const Content& from = tile_of("reshape", x);
  return said({reshape(from.value, shape), from.dtype}, x.where);
}
Tile ravel(TileArg x) { return reshape(x, {numel(tile_of("ravel", x).value.shape())}); }
Tile trans(TileArg x) {
  const Content& from = tile_of("trans", x);
  return said({transpose(from.value), from.dtype}, x.where);
}

Tile sum(TileArg x, int axis, Axis kept) { return reduced("sum", x, axis, kept, Reduction::Sum); }
Tile max(TileArg x, int axis, Axis kept) { return reduced("max", x, axis, kept, Reduction::Max); }
Tile min(TileArg x, int axis, Axis kept) { return reduced("min", x, axis, kept, Reduction::Min); }
Tile prod(TileArg x, int axis, Axis kept) { return reduced("prod", x, axis, kept, Reduction::Prod); }
Tile any(TileArg x, int axis, Axis kept) { return reduced("any", x, axis, kept, Reduction::Any); }
Tile all(TileArg x, int axis, Axis kept) { return reduced("all", x, axis, kept, Reduction::All); }
Tile argmax(TileArg x, int axis, Axis kept) { return position("argmax", x, axis, kept, Reduction::Max); }
Tile argmin(TileArg x, int axis, Axis kept) { return position("argmin", x, axis, kept, Reduction::Min); }
Tile cumsum(TileArg x, int axis) {
  const Content from = widened(tile_of("cumsum", x));
  return said(rounded(scan(from.value, axis, Reduction::Sum), from.dtype), x.where);
}
Tile cumprod(TileArg x, int axis) {
  const Content from = widened(tile_of("cumprod", x));
  return said(rounded(scan(from.value, axis, Reduction::Prod), from.dtype), x.where);
}
Tile sort(TileArg x, int axis, Order order) {
  const Content& from = tile_of("sort", x);
  return said({sort(from.value, axis, order == Order::Descending), from.dtype}, x.where);
}
Tile argsort(TileArg x, int axis, Order order) {
  return said({argsort(tile_of("argsort", x).value, axis, order == Order::Descending), i64}, x.where);
}

Tile load(TileArg pointer, AccessHints hints) {
  const Content& from = pointer_of("load", pointer);
  return said({pointer.builder().load(hints, from.value, {}, {}, pointer.where), from.dtype}, pointer.where);
}
Tile load(TileArg pointer, TileArg mask, AccessHints hints) {
  const Content& from = pointer_of("load", pointer);
  return said({pointer.builder().load(hints, from.value, mask_of("load", mask), {}, pointer.where), from.dtype}, pointer.where);
}
Tile load(TileArg pointer, TileArg mask, TileArg other, AccessHints hints) {
  const Content& from = pointer_of("load", pointer);
  const Value beside = in_dtype(other, from.dtype).value;
  return said({pointer.builder().load(hints, from.value, mask_of("load", mask), beside, pointer.where), from.dtype}, pointer.where);
}

namespace {

void write(const TileArg& pointer, const TileArg& value, const TileArg* mask, const AccessHints& hints) {
  const Content& to = pointer_of("store", pointer);
  const Value what = in_dtype(value, to.dtype).value, where_to = mask ? mask_of("store", *mask) : Value();
  pointer.builder().store(hints, to.value, what, where_to, pointer.where);
  act(pointer);
}

Tile change(AtomicKind kind, std::string_view name, const TileArg& pointer, const TileArg& value, const TileArg* mask,
            const TileArg* compare, const AtomicOptions& options) {
  const Content& to = pointer_of(name, pointer);
  const bool replaces = kind == AtomicKind::Exchange || kind <= AtomicKind::Min;
  if (to.dtype == boolean || (is_float(to.dtype) && !replaces)) {
    throw Error({.op = std::string(name),
                 .got = to_string(to.value.type()),
                 .expected = to.dtype == boolean ? "a pointer to numbers" : "a pointer to integers",
                 .advice = to.dtype == boolean ? "use a tensor of u8" : "add, max, min and xchg take floats",
                 .where = pointer.where});
  }
  const Value what = in_dtype(value, to.dtype).value, where_to = mask ? mask_of(name, *mask) : Value();
  const Value compared = compare ? in_dtype(*compare, to.dtype).value : Value();
  const Content old{pointer.builder().atomic({kind, options.sem, options.scope}, to.value, what, where_to, compared, pointer.where),
                    to.dtype};
  return said(old, pointer.where);  // which acts, where the kernel runs at once
}

}  // namespace

void store(TileArg pointer, TileArg value, AccessHints hints) { write(pointer, value, nullptr, hints); }
void store(TileArg pointer, TileArg value, TileArg mask, AccessHints hints) { write(pointer, value, &mask, hints); }
// clang-format off: one word a line
Tile atomic_add(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Add, "atomic_add", p, x, nullptr, nullptr, o); }
Tile atomic_add(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Add, "atomic_add", p, x, &mask, nullptr, o); }
Tile atomic_max(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Max, "atomic_max", p, x, nullptr, nullptr, o); }
Tile atomic_max(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Max, "atomic_max", p, x, &mask, nullptr, o); }
Tile atomic_min(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Min, "atomic_min", p, x, nullptr, nullptr, o); }
Tile atomic_min(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Min, "atomic_min", p, x, &mask, nullptr, o); }
Tile atomic_and(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::And, "atomic_and", p, x, nullptr, nullptr, o); }
Tile atomic_and(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::And, "atomic_and", p, x, &mask, nullptr, o); }
Tile atomic_or(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Or, "atomic_or", p, x, nullptr, nullptr, o); }
Tile atomic_or(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Or, "atomic_or", p, x, &mask, nullptr, o); }
Tile atomic_xor(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Xor, "atomic_xor", p, x, nullptr, nullptr, o); }
Tile atomic_xor(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Xor, "atomic_xor", p, x, &mask, nullptr, o); }
Tile atomic_xchg(TileArg p, TileArg x, AtomicOptions o) { return change(AtomicKind::Exchange, "atomic_xchg", p, x, nullptr, nullptr, o); }
Tile atomic_xchg(TileArg p, TileArg x, TileArg mask, AtomicOptions o) { return change(AtomicKind::Exchange, "atomic_xchg", p, x, &mask, nullptr, o); }
Tile atomic_cas(TileArg p, TileArg compare, TileArg x, AtomicOptions o) { return change(AtomicKind::CompareAndSwap, "atomic_cas", p, x, nullptr, &compare, o); }
// clang-format on

// clang-format off: one word a line
Tile load(TileArg pointer) { return load(pointer, AccessHints{}); }
Tile load(TileArg pointer, TileArg mask) { return load(pointer, mask, AccessHints{}); }
Tile load(TileArg pointer, TileArg mask, TileArg other) { return load(pointer, mask, other, AccessHints{}); }
// clang-format on

namespace {

Tile random_word(const TileArg& seed, const TileArg& offsets, int word) {
  seed.builder();
  const Value place = in_dtype(offsets, i64).value * 4 + word;
  return said({random_bits(in_dtype(seed, i64).value, place), i32}, seed.where);
}

/// Triton's: -1 - x instead of |x|, which of the least integer is none.
Tile uniform(const Tile& bits) { return cast<float>(where(bits < 0, -1 - bits, bits)) * 4.6566127342e-10; }

}  // namespace

Tile randint(TileArg seed, TileArg offsets) { return random_word(seed, offsets, 0); }
std::vector<Tile> randint4x(TileArg seed, TileArg offsets) {
  std::vector<Tile> words;
  words.reserve(4);
  for (int word = 0; word < 4; ++word) words.push_back(random_word(seed, offsets, word));
  return words;
}
Tile rand(TileArg seed, TileArg offsets) {
  const language::Within line(seed.where);
  return uniform(random_word(seed, offsets, 0));
}
Tile randn(TileArg seed, TileArg offsets) {
  const language::Within line(seed.where);
  const Tile u = maximum(uniform(random_word(seed, offsets, 0)), 1e-7), v = uniform(random_word(seed, offsets, 1));
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void device_assert(TileArg condition, std::string sentence) { device_assert(condition, TileArg(0, condition.where), std::move(sentence)); }
void device_assert(TileArg condition, TileArg value, std::string sentence) {
  condition.builder().check(mask_of("device_assert", condition), in_dtype(value, i64).value, std::move(sentence), condition.where);
  act(condition);
}

void device_print(std::string label, TileArg x) {
  Builder& b = x.builder();
  if (language::Machine* const machine = language::Trace::current(x.where).machine()) return machine->print(label, x.alone(), x.where);
  b.print(std::move(label), x.alone().value, x.where);
}

void debug_barrier(Line where) { language::Trace::current(where).builder(where).barrier(); }

}  // namespace tegula::tile
