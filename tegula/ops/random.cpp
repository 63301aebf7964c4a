#include "tegula/ops/random.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/allowed.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/ops/rows/search.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

using tile::Value;
using tile::Word;

// Formulas over words, generic over how words are written: tile values, or doubles holding the word as unsigned.
Value low_bits(Value word, int shift, std::int64_t mask) {
  Value shifted = shift == 0 ? word : tile::binary(Word::Shr, word, tile::number(shift, word));
  return shifted & tile::number(static_cast<double>(mask), word);
}
double low_bits(double word, int shift, std::int64_t mask) { return static_cast<double>(static_cast<std::int64_t>(word) >> shift & mask); }
Value to_float(Value x, DType dtype) { return tile::cast(x, dtype); }
double to_float(double x, DType) { return x; }
Value root(Value x) { return tile::unary(Word::Sqrt, x); }
double root(double x) { return std::sqrt(x); }
Value logarithm(Value x) { return tile::unary(Word::Log, x); }
double logarithm(double x) { return std::log(x); }
double cosine_of_turns(double v) { return std::cos(v * (2 * std::numbers::pi)); }
/// cos(2 pi v) for 0 <= v < 1. In f32 as sin(2 pi b) with b = |v - 1/2| - 1/4, without rounding: odd, of degree 11, 2e-11 off the sine. A
/// sine's argument reduction would be most of the code of a kernel that draws numbers.
Value cosine_of_turns(Value v) {
  if (v.dtype() == DType::f64) return tile::unary(Word::Cos, v * (2 * std::numbers::pi));
  constexpr double coefficients[] = {-14.381388962608371, 42.007796870152674, -76.70417023819527,
                                     81.60522368982073,   -41.3417020969235,  6.283185307046686};
  const Value b = tile::unary(Word::Abs, v - 0.5) - 0.25, square = b * b;
  Value sum = tile::number(coefficients[0], v);
  for (const double c : std::span(coefficients).subspan(1)) sum = tile::fma(sum, square, tile::number(c, v));
  return b * sum;
}

constexpr double kTwoToMinus24 = 0x1p-24, kTwoToMinus32 = 0x1p-32, kTwoToMinus53 = 0x1p-53;

/// A number in [0, 1).
template <class T>
T uniform24(T word) {
  return to_float(low_bits(word, 8, 0xffffff), DType::f32) * kTwoToMinus24;
}
template <class T>
T uniform53(T first, T second) {
  return (to_float(low_bits(first, 5, 0x7ffffff), DType::f64) * 0x1p26 + to_float(low_bits(second, 6, 0x3ffffff), DType::f64)) *
         kTwoToMinus53;
}
/// The reference rounds these sums as f32 does: near 1 the logarithm sees little else.
Value as_f32(Value x) { return x; }
double as_f32(double x) { return static_cast<float>(x); }
/// A number in (0, 1], all 32 bits: the tail reaches 6.8 deviations.
template <class T>
T uniform32(T word) {
  const T whole = as_f32(to_float(low_bits(word, 16, 0xffff), DType::f32) * 65536.0 + to_float(low_bits(word, 0, 0xffff), DType::f32));
  return as_f32(whole + 0.5) * kTwoToMinus32;
}
template <class T>
T box_muller(T u, T v) {
  return root(logarithm(u) * -2.0) * cosine_of_turns(v);
}

enum class Kind : std::uint8_t { Bits, Uniform, Normal };

std::int64_t words_per_element(Kind kind, DType dtype) {
  const std::int64_t wide = dtype == DType::f64 ? 2 : 1;
  return kind == Kind::Bits ? 1 : kind == Kind::Uniform ? wide : 2 * wide;
}

/// (seed (), position (), index pattern) -> random numbers. The pattern already counts in words.
class RandomOp final : public ElementwiseOp {
 public:
  /// `dtype`: of the numbers, which decides how many words each takes.
  RandomOp(Kind kind, DType dtype) : kind_(kind), dtype_(dtype) {}
  std::string_view name() const override {
    constexpr std::string_view names[] = {"random_bits", "uniform", "normal"};
    return names[static_cast<int>(kind_)];
  }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    if (const Signature* node = a.made_for()) dtype_ = node->results[0].dtype;
  }
  Numerics numerics() const override { return Numerics::Full; }  // the same numbers at every precision
  Value emit(tile::Builder&, std::span<const Value> x, DType) const override {
    const Value position = x[2] + x[1];
    return compute<Value>([&](std::int64_t i) { return tile::random_bits(x[0], i == 0 ? position : position + i); });
  }
  double reference(std::span<const double> x) const override {
    const auto seed = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[0]));
    const auto position = static_cast<std::uint64_t>(static_cast<std::int64_t>(x[1] + x[2]));
    if (kind_ == Kind::Bits) return static_cast<double>(static_cast<std::int32_t>(philox_word(seed, position)));
    return compute<double>(
        [&](std::int64_t i) { return static_cast<double>(philox_word(seed, position + static_cast<std::uint64_t>(i))); });
  }

 private:
  template <class T, class F>
  T compute(F&& word) const {
    if (kind_ == Kind::Bits) return word(0);
    if (kind_ == Kind::Uniform) return dtype_ == DType::f64 ? uniform53(word(0), word(1)) : uniform24(word(0));
    if (dtype_ == DType::f64) return box_muller(1.0 - uniform53(word(0), word(1)), uniform53(word(2), word(3)));
    return box_muller(uniform32(word(0)), uniform24(word(1)));
  }
  Kind kind_;
  DType dtype_;
};

Tensor numbers_at(Kind kind, const Tensor& seed, const Tensor& position, const Shape& shape, DType dtype, const Line& where) {
  Layout pattern = Layout::dense(shape);
  for (auto& stride : pattern.strides) stride *= words_per_element(kind, dtype);
  return make_node(Ref<const Op>(new RandomOp(kind, dtype)), {seed, position, graph::index(pattern, where)}, shape, dtype, where);
}

Tensor draw(Kind kind, const Shape& shape, DType dtype, Generator* generator, const Line& where) {
  if (kind != Kind::Bits && !is_float(dtype)) {
    ops::refuse("random", "dtype " + std::string(name(dtype)), "a float type", where, "randint and bernoulli draw integers and booleans");
  }
  const DType computed = dtype == DType::f64 || kind == Kind::Bits ? dtype : DType::f32;
  Generator& from = generator ? *generator : default_generator();
  const Tensor position = from.draw(words_per_element(kind, computed) * numel(shape), where);
  return graph::cast(numbers_at(kind, from.seed(where), position, shape, computed, where), dtype, where);
}

/// (number, how many weights are above 0, how many must be) -> number. The count is -1 where a weight is none.
class CheckWeightsOp final : public ElementwiseOp {
 public:
  std::string_view name() const override { return "multinomial"; }
  bool has_check() const override { return true; }
  Value emit(tile::Builder& builder, std::span<const Value> x, DType) const override {
    builder.check(x[1] >= x[2], x[1], 0);
    return x[0];
  }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::string check_message(std::int64_t, std::int64_t positive) const override {
    if (positive < 0) return "a weight that is negative, infinite or NaN, expected weights of at least 0";
    return std::to_string(positive) + " weights above 0, expected at least one, and without replacement one for each number drawn";
  }
};

/// rows of weights, f64 (rows, n) -> (rows, count): where a point of the line that the weights make falls. A weight of 0 has no length: its end is
/// that of the ones before it, also where a sum in parts is rounded otherwise.
Tensor drawn_again(const Tensor& w, std::int64_t count, Generator* generator, const Line& where) {
  const double none = -std::numeric_limits<double>::infinity();
  const Tensor ends = cummax(tegula::where(w > 0, cumsum(w, 1), none), 1);
  const Tensor u = draw(Kind::Uniform, {w.shape()[0], count}, DType::f64, generator, where);
  return searchsorted(ends, u * slice(ends, 1, {-1, {}}), Side::Right);
}

/// Each number waits for an exponential time with its weight as the rate; the first to come is drawn first.
Tensor drawn_once(const Tensor& w, std::int64_t count, Generator* generator, const Line& where) {
  const Tensor times = -log1p(-draw(Kind::Uniform, w.shape(), DType::f64, generator, where));
  const Tensor never = graph::scalar(std::numeric_limits<double>::infinity(), DType::f64, where);
  return topk(tegula::where(w > 0, times / w, never), count, 1, Order::Ascending).indices;
}

double largest_number(DType dtype) {
  if (dtype == DType::f64) return std::numeric_limits<double>::max();
  return dtype == DType::f16 ? 65504 : dtype == DType::bf16 ? 0x1.fep127 : 0x1.fffffep127;
}

Tensor whole_number(std::uint64_t value) { return tensor({static_cast<std::int64_t>(value)}, Shape{}); }

/// Made when it is first needed, which may be before main (a layer at namespace scope) and inside of a trace, where no other Variable can be made. Lives as long
/// as the process.
const Generator& first_generator() {
  static const Generator& instance = []() -> const Generator& {
    const Trace::Pause outside;
    return *new Generator(0);
  }();
  return instance;
}

}  // namespace

Tensor ops::uniform_at(const Tensor& seed, const Tensor& position, const Shape& shape, const Line& where) {
  return numbers_at(Kind::Uniform, seed, position, shape, f32, where);
}

Generator::Generator(std::uint64_t seed, Line where) : seed_(whole_number(seed), where), counter_(whole_number(0), where) {}

void Generator::manual_seed(std::uint64_t seed, Line where) {
  seed_.assign(whole_number(seed), where);
  counter_.assign(whole_number(0), where);
}

Tensor Generator::draw(std::int64_t words, Line where) {
  const Tensor position = counter_.read(where);
  // Whole blocks of four, so that a draw never shares one with the next.
  counter_.assign(Arg(position, where) + Arg((words + 3) / 4 * 4, where), where);
  return position;
}

Generator& default_generator() {
  thread_local Generator generator = first_generator().fork();
  return generator;
}

Generator Generator::fork() const {
  Generator copy{Empty{}};
  copy.seed_ = seed_;
  copy.counter_ = counter_;
  return copy;
}

void manual_seed(std::uint64_t seed, Line where) { default_generator().manual_seed(seed, where); }

Tensor random_bits(const Shape& shape, Generator* generator, Line where) { return draw(Kind::Bits, shape, DType::i32, generator, where); }

Tensor uniform(const Shape& shape, double low, double high, const RandomOptions& options, Line where) {
  const In frame("uniform", where);
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) {
    ops::refuse("uniform", "bounds " + number_text(low) + " and " + number_text(high), "finite numbers, low <= high", where);
  }
  const Tensor u = draw(Kind::Uniform, shape, options.dtype, options.generator, where);
  if (low == 0 && high == 1) return u;
  return high - low <= largest_number(options.dtype) ? u * (high - low) + low : u * high + (1.0 - u) * low;
}

Tensor normal(const Shape& shape, double mean, double deviation, const RandomOptions& options, Line where) {
  const In frame("normal", where);
  if (!(deviation >= 0)) ops::refuse("normal", "deviation " + number_text(deviation), "a number of at least 0", where);
  const Tensor z = draw(Kind::Normal, shape, options.dtype, options.generator, where);
  return mean == 0 && deviation == 1 ? z : z * deviation + mean;
}

Tensor truncated_normal(const Shape& shape, double mean, double deviation, double low, double high, const RandomOptions& options,
                        Line where) {
  const In frame("truncated_normal", where);
  if (!(low < high) || !(deviation > 0)) {
    ops::refuse("truncated_normal", "deviation " + number_text(deviation) + " and bounds " + number_text(low) + ", " + number_text(high),
                "a positive deviation and low < high", where);
  }
  const auto cumulative = [&](double x) { return std::erf((x - mean) / (deviation * std::numbers::sqrt2)); };  // 2 Phi - 1
  const double least = cumulative(low), greatest = cumulative(high);
  // In f64, where erf has values up to eight deviations; a number of f32 stands for the middle of its interval, so that no draw is at the end of an
  // infinite tail, which would become the bound.
  const bool fine = options.dtype == DType::f64;
  const Tensor drawn = draw(Kind::Uniform, shape, fine ? DType::f64 : DType::f32, options.generator, where);
  const Tensor u = fine ? drawn : graph::cast(drawn, DType::f64, where) + kTwoToMinus24 / 2;
  const Tensor place = clamp(u * (greatest - least) + least, -1 + kTwoToMinus53, 1 - kTwoToMinus53);
  return ops::narrow(clamp(erfinv(place) * (deviation * std::numbers::sqrt2) + mean, low, high), options.dtype);
}

Tensor rand_like(Arg x, Generator* generator) {
  const Tensor like = x.tensor("rand_like");
  return uniform(like.shape(), 0, 1, {.dtype = is_float(like.dtype()) ? like.dtype() : f32, .generator = generator}, x.loc);
}
Tensor randn_like(Arg x, Generator* generator) {
  const Tensor like = x.tensor("randn_like");
  return normal(like.shape(), 0, 1, {.dtype = is_float(like.dtype()) ? like.dtype() : f32, .generator = generator}, x.loc);
}
Tensor exponential(const Shape& shape, double rate, const RandomOptions& options, Line where) {
  const In frame("exponential", where);
  if (!(rate > 0)) ops::refuse("exponential", "rate " + number_text(rate), "a number above 0", where);
  const DType dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Tensor u = draw(Kind::Uniform, shape, dtype, options.generator, where);
  return ops::narrow((0.0 - log1p(-u)) * (1 / rate), options.dtype);  // the difference has no -0
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator* generator, Line where) {
  const In frame("randint", where);
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (low >= high || static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) > kMost) {
    ops::refuse("randint", "bounds " + std::to_string(low) + " and " + std::to_string(high), "low < high, at most 2^53 apart", where);
  }
  // u < 1 with 53 bits: the product never rounds up to the range.
  const Tensor u = draw(Kind::Uniform, shape, DType::f64, generator, where);
  return cast(u * static_cast<double>(high - low), DType::i64) + low;
}

Tensor bernoulli(Arg p, const Shape& shape, Generator* generator) {
  const In frame("bernoulli", p.loc);
  Tensor share = ops::float_tensor("bernoulli", p);
  if (p.is_number()) {
    if (!(p.value().real() >= 0 && p.value().real() <= 1))
      ops::refuse("bernoulli", "p = " + number_text(p.value().real()), "a probability in [0, 1]", p.loc);
  } else {
    share = ops::check_allowed("bernoulli", share, share, ops::Allowed::Probability, "probability", "", p.loc);
  }
  return draw(Kind::Uniform, shape, DType::f32, generator, p.loc) < graph::expand(share, shape, p.loc);
}

Tensor bernoulli(Arg p, Generator* generator) { return bernoulli(p, p.tensor("bernoulli").shape(), generator); }

Tensor permutation(std::int64_t n, Generator* generator, Line where) {
  const In frame("permutation", where);
  if (n < 0) ops::refuse("permutation", "n = " + std::to_string(n), "at least 0", where);
  return argsort(draw(Kind::Uniform, {n}, DType::f64, generator, where), 0);
}

Tensor shuffle(Arg x, Generator* generator) {
  const In frame("shuffle", x.loc);
  const Tensor t = x.tensor("shuffle");
  if (t.rank() == 0) ops::refuse("shuffle", "shape ()", "at least one axis", x.loc);
  return take(t, permutation(t.shape()[0], generator, x.loc), 0);
}

Tensor multinomial(Arg weights, std::int64_t count, Replacement replacement, Generator* generator) {
  const In frame("multinomial", weights.loc);
  const auto& where = weights.loc;
  const Tensor given = ops::float_tensor("multinomial", weights);
  const bool again = replacement == Replacement::Yes;
  if ((given.rank() != 1 && given.rank() != 2) || given.shape().back() == 0) {
    ops::refuse("multinomial", "weights of shape " + to_string(given.shape()), "(n) or (rows, n), n at least 1", where);
  }
  const std::int64_t n = given.shape().back(), rows = given.numel() / n;
  if (count < 0 || (!again && count > n)) {
    ops::refuse("multinomial", "count " + std::to_string(count) + " of " + std::to_string(n) + " weights",
                again ? "at least 0" : "at most as many as weights without Replacement::Yes", where);
  }
  const Tensor w = graph::stop_gradient(graph::reshape(graph::cast(given, DType::f64, where), {rows, n}, where), where);
  const Tensor fine = all(w >= 0.0 && isfinite(w), 1, Keep::Yes);
  const Tensor positive = tegula::where(fine, count_nonzero(w, 1, Keep::Yes), -1);
  const Tensor needed = graph::scalar(again ? std::min<std::int64_t>(count, 1) : count, DType::i64, where);
  const Tensor numbers = again ? drawn_again(w, count, generator, where) : drawn_once(w, count, generator, where);
  const Shape shape{rows, count};
  const Tensor checked =
      make_node(make<const CheckWeightsOp>(), {numbers, graph::expand(positive, shape, where), graph::expand(needed, shape, where)}, shape,
                DType::i64, where);
  return given.rank() == 1 ? graph::reshape(checked, {count}, where) : checked;
}

std::vector<OpCase> random_cases() {
  using Inputs = std::vector<Tensor>;
  std::vector<OpCase> cases;
  // The input only says the shape and dtype wanted; each draw is the first of a generator of its own.
  const auto add = [&](const std::string& op, const std::vector<DType>& dtypes, Tensor (*draw)(const Tensor& like, Generator*)) {
    cases.push_back({.op = op,
                     .function =
                         [=](const Inputs& x) {
                           Generator generator(2011);
                           return draw(x[0], &generator);
                         },
                     .inputs = {{.shape = {1023}, .low = 0, .high = 1}},
                     .dtypes = dtypes,
                     .more_shapes = {{{7, 33}}, {{0, 3}}, {{1}}},
                     .gradient = false,
                     .tolerance = 64});
  };
  add("random_bits", {i32}, [](const Tensor& x, Generator* g) { return random_bits(x.shape(), g); });
  add("uniform", kFloats, [](const Tensor& x, Generator* g) { return uniform(x.shape(), -1, 3, {x.dtype(), g}); });
  add("normal", kFloats, [](const Tensor& x, Generator* g) { return normal(x.shape(), 1, 2, {x.dtype(), g}); });
  add("truncated_normal", kFloats, [](const Tensor& x, Generator* g) { return truncated_normal(x.shape(), 0, 1, -1, 2, {x.dtype(), g}); });
  add("exponential", kFloats, [](const Tensor& x, Generator* g) { return exponential(x.shape(), 0.5, {x.dtype(), g}); });
  add("randint", {i64}, [](const Tensor& x, Generator* g) { return randint(-5, 1000, x.shape(), g); });
  add("bernoulli", kFloats, [](const Tensor& x, Generator* g) { return bernoulli(x, g); });
  add("permutation", {i64}, [](const Tensor& x, Generator* g) { return permutation(x.numel(), g); });
  add("shuffle", kEverything, [](const Tensor& x, Generator* g) { return shuffle(x, g); });
  cases.back().gradient = true;
  for (const Replacement replacement : {Replacement::Yes, Replacement::No}) {
    cases.push_back({.op = "multinomial",
                     .function =
                         [=](const Inputs& x) {
                           Generator generator(2011);
                           return multinomial(x[0], 5, replacement, &generator);
                         },
                     .inputs = {{.shape = {7, 33}, .low = 0.125, .high = 1}},
                     .dtypes = {f64, f32},
                     .more_shapes = {{{9}}, {{3, 5}}, {{2, 1023}}},
                     .gradient = false,
                     .jumps = true});
  }
  return cases;
}

void add_random_ops(OpTable& table) {
  for (const Kind kind : {Kind::Bits, Kind::Uniform, Kind::Normal})
    table.add_class<RandomOp>(std::string(RandomOp(kind, f32).name()), 3, kind, f32);
  table.add_class<CheckWeightsOp>("multinomial", 3);
}

}  // namespace tegula
