// Random valid programs: the executor leaves the interpreter's bits in memory, whatever the programs do.

#include <map>

#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

constexpr DType kCompute[] = {f64, f32, i64, i32, u64, u32, boolean};
constexpr std::int64_t kMargin = 8;  // elements around an instance's region

class Fuzz {
 public:
  explicit Fuzz(unsigned seed) : random_(seed), b_("fuzz") {}

  ::testing::AssertionResult run() {
    choose_shape();
    make_parameters();
    for (int i = 0; i < 3; ++i) keep(load());
    const int words = 4 + pick(20);
    for (int i = 0; i < words; ++i) add_word(2);
    const int stores = 1 + pick(3);
    for (int i = 0; i < stores; ++i) store(any_tile());
    RunOptions options;
    options.grids = {{grid_, 1, 1}};
    return agrees(b_.finish(), arguments_, options);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }

  void choose_shape() {
    switch (pick(4)) {
      case 0: shape_ = {1 + pick(140)}; break;
      case 1:
      case 2: shape_ = {1 + pick(9), 1 + pick(40)}; break;
      default: shape_ = {1 + pick(4), 1 + pick(5), 1 + pick(19)};
    }
    region_ = 3 * numel(shape_) + 2 * kMargin;
    grid_ = 1 + pick(3);
  }

  void make_parameters() {
    const std::size_t count = static_cast<std::size_t>(region_ * grid_);
    for (const DType dtype : kAllDTypes) {
      inputs_.push_back(b_.pointer("in_" + std::string(name(dtype)), dtype, false));
      arguments_.push_back(TestArgument::filled(dtype, count, [&](std::size_t) {
        return dtype == boolean ? pick(2) : is_unsigned(dtype) ? pick(9) : (pick(65) - 32) / (is_float(dtype) ? 4.0 : 1.0);
      }));
    }
    for (int i = 0; i < 4; ++i) {
      const DType dtype = kAllDTypes[pick(static_cast<int>(std::size(kAllDTypes)))];
      const auto values = TestArgument::filled(dtype, count, [&](std::size_t) { return dtype == boolean ? pick(2) : pick(5); });
      outputs_.push_back(b_.pointer("out", dtype, true));
      arguments_.push_back(values);
      if (chance(50)) {  // the same memory as an input: in-place results
        inputs_.push_back(b_.pointer("same", dtype, false));
        arguments_.push_back({.dtype = dtype, .same_as = static_cast<int>(arguments_.size()) - 1});
      }
    }
    for (const DType dtype : kCompute) {
      scalars_.push_back(b_.scalar("s", dtype));
      arguments_.push_back(TestArgument::scalar(dtype == boolean ? pick(2) : pick(5)));
    }
    one_ = b_.scalar("one", i64);
    arguments_.push_back(TestArgument::scalar(1));
    trips_ = b_.scalar("trips", i64);
    arguments_.push_back(TestArgument::scalar(pick(4)));
    for (int axis = 0; axis < shape_.rank(); ++axis) {
      Value i = b_.arange(0, shape_[axis]);
      for (int other = 0; other < shape_.rank(); ++other) {
        if (other != axis) i = expand_dims(i, other);
      }
      axes_.push_back(i);
    }
    base_ = b_.program_id(0) * region_;
    for (const Value axis : axes_) tiles_.push_back(broadcast(axis, shape_));
  }

  /// Element offsets inside the instance's region. Injective ones hit no place twice.
  Value offsets(bool injective) {
    std::vector<int> order(static_cast<std::size_t>(shape_.rank()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    if (chance(40)) std::shuffle(order.begin(), order.end(), random_);
    Value sum = base_ + pick(static_cast<int>(kMargin));
    std::int64_t stride = chance(25) ? 2 : 1;
    const bool backwards = chance(15);
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
      const auto axis = static_cast<std::size_t>(*i);
      if (injective || !chance(15)) {
        Value step = b_.constant(stride, i64);
        if (chance(20)) step = step * one_;
        Value index = axes_[axis];
        if (backwards && chance(50)) index = (shape_[*i] - 1) - index;
        sum = sum + index * step;
      }
      stride *= shape_[*i];
    }
    return broadcast(sum, shape_);
  }

  Value mask() {
    switch (pick(6)) {
      case 0: return broadcast(scalar(boolean), shape_);
      case 1: return tile(boolean);
      default: {
        Value m;
        for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
          if (chance(40)) continue;
          const std::int64_t size = shape_[static_cast<int>(axis)];
          Value limit = b_.constant(std::int64_t{pick(static_cast<int>(size) + 3) - 1}, i64);
          if (chance(50)) limit = limit * one_;
          constexpr Word kWords[] = {Word::Lt, Word::Le, Word::Gt, Word::Ge, Word::Lt, Word::Eq, Word::Lt};
          const Value index = chance(20) ? axes_[axis] * (chance(50) ? 2 : -1) : axes_[axis];
          const Value one = binary(kWords[pick(7)], index, limit);
          m = m ? m && one : one;
        }
        return m ? broadcast(m, shape_) : b_.full(shape_, 1, boolean);
      }
    }
  }

  Value pointer(Value parameter, bool injective) {
    if (!injective && chance(20)) {  // a gather: offsets that are computed
      Value index = cast(tile(i32), i64);
      index = binary(Word::Rem, unary(Word::Abs, index), b_.constant(std::int64_t{5}, i64));
      if (chance(50) && shape_.rank() > 1) index = reduce(index, shape_.rank() - 1, Reduction::Max) + axes_.back();
      return parameter + (broadcast(index, shape_) + base_);
    }
    if (chance(20)) {  // a pointer that is moved twice
      return (broadcast(parameter + base_, shape_) + (offsets(injective) - base_));
    }
    return parameter + offsets(injective);
  }

  Value load() {
    const Value parameter = inputs_[static_cast<std::size_t>(pick(static_cast<int>(inputs_.size())))];
    const Value place = pointer(parameter, false);
    if (chance(40)) return b_.load(place);
    const Value on = mask();
    if (chance(50)) return b_.load(place, on);
    const DType dtype = compute_type(parameter.dtype());
    return b_.load(place, on, chance(50) ? scalar(dtype) : tile(dtype));
  }

  void store(Value value) {
    const Value to = outputs_[static_cast<std::size_t>(pick(static_cast<int>(outputs_.size())))];
    const DType dtype = compute_type(to.dtype());
    value = converted(value, dtype);
    if (chance(10) && dtype != boolean) {
      b_.atomic_add(pointer(to, false), value, mask());
      return;
    }
    const Value place = pointer(to, true);
    if (chance(50)) b_.store(place, value);
    else b_.store(place, value, mask());
  }

  void keep(Value value) { (value.shape().empty() ? scalars_ : tiles_).push_back(value); }
  Value any_tile() { return tiles_[static_cast<std::size_t>(pick(static_cast<int>(tiles_.size())))]; }

  /// A cast that loses nothing that the two sides could see differently.
  Value converted(Value x, DType dtype) {
    if (x.dtype() == dtype) return x;
    if (is_float(x.dtype()) && is_integer(dtype)) {
      x = select(binary(Word::Eq, x, x), x, number(0, x));
      x = binary(Word::Max, binary(Word::Min, x, number(1000, x)), number(-1000, x));
    }
    return cast(x, dtype);
  }

  Value tile(DType dtype) {
    if (chance(8)) return broadcast(scalar(dtype), shape_);
    if (chance(8) && dtype == i64) return broadcast(axes_[static_cast<std::size_t>(pick(shape_.rank()))] * 3 + base_, shape_);
    return broadcast(converted(any_tile(), dtype), shape_);
  }
  Value scalar(DType dtype) {
    std::vector<Value> fit;
    for (const Value s : scalars_) {
      if (s.dtype() == dtype) fit.push_back(s);
    }
    if (chance(30)) return b_.constant(std::int64_t{dtype == boolean ? pick(2) : pick(7) - 3}, dtype);
    return fit[static_cast<std::size_t>(pick(static_cast<int>(fit.size())))];
  }
  Value operand(DType dtype) {
    if (chance(20)) return scalar(dtype);
    if (chance(25) && shape_.rank() > 1) {
      Value x = tile(dtype);
      const int axis = pick(shape_.rank());
      return reduce(x, axis, dtype == boolean ? Reduction::Any : chance(50) ? Reduction::Max : Reduction::Min);
    }
    return tile(dtype);
  }

  Value arithmetic() {
    const DType dtype = kCompute[pick(7)];
    if (dtype == boolean) {
      constexpr Word kWords[] = {Word::And, Word::Or, Word::Xor, Word::Eq, Word::Ne};
      return chance(20) ? unary(Word::Not, operand(boolean)) : binary(kWords[pick(5)], operand(boolean), operand(boolean));
    }
    switch (pick(6)) {
      case 0: {
        constexpr Word kFloat[] = {Word::Neg,   Word::Abs,   Word::Sign, Word::Floor, Word::Ceil,
                                   Word::Round, Word::Trunc, Word::Sqrt, Word::IsNan, Word::IsInf};
        constexpr Word kInteger[] = {Word::Neg, Word::Abs, Word::Sign, Word::Not};
        return unary(is_float(dtype) ? kFloat[pick(10)] : kInteger[pick(4)], operand(dtype));
      }
      case 1: {
        constexpr Word kWords[] = {Word::Eq, Word::Ne, Word::Lt, Word::Le, Word::Gt, Word::Ge};
        return binary(kWords[pick(6)], operand(dtype), operand(dtype));
      }
      case 2: return select(operand(boolean), operand(dtype), operand(dtype));
      case 3: return select(binary(chance(50) ? Word::Gt : Word::Le, operand(dtype), operand(dtype)), operand(dtype), operand(dtype));
      default: {
        constexpr Word kBoth[] = {Word::Add, Word::Sub, Word::Mul, Word::Div, Word::Rem, Word::Min, Word::Max};
        constexpr Word kInteger[] = {Word::And, Word::Or, Word::Xor};
        if (!is_float(dtype) && chance(20)) return binary(kInteger[pick(3)], operand(dtype), operand(dtype));
        const Word word = kBoth[pick(7)];
        if (word == Word::Div && dtype == f32) return binary(word, tile(dtype), tile(dtype));  // by a scalar it may differ in the last bit
        return binary(word, operand(dtype), operand(dtype));
      }
    }
  }

  /// Sums of small whole numbers are exact in any order.
  Value small(Value x) {
    if (x.dtype() == boolean) return x;
    if (!is_float(x.dtype())) return binary(Word::Rem, x, number(9, x));
    x = select(binary(Word::Eq, x, x), x, number(1, x));
    return unary(Word::Floor, binary(Word::Max, binary(Word::Min, x, number(9, x)), number(-9, x)));
  }

  Value across() {
    const DType dtype = kCompute[pick(7)];
    const int axis = pick(shape_.rank());
    const Value x = small(tile(dtype));
    constexpr Reduction kNumbers[] = {Reduction::Sum, Reduction::Min, Reduction::Max};
    const Reduction kind = dtype == boolean ? chance(50) ? Reduction::Any : Reduction::All : kNumbers[pick(3)];
    switch (pick(5)) {
      case 0: return dtype == boolean ? scan(x, axis, kind) : arg_reduce(x, axis, chance(50) ? Reduction::Min : Reduction::Max);
      case 1: return scan(x, axis, kind);
      case 2:
        if (dtype == boolean) return scan(x, axis, kind);
        return chance(50) ? sort(x, axis, chance(50)) : argsort(x, axis, chance(50));
      default: return reduce(x, axis, kind);
    }
  }

  Value shaped() {
    const Value x = any_tile();
    switch (pick(4)) {
      case 0: {
        std::int64_t size = numel(x.shape());
        return x.shape() == shape_ ? reshape(reshape(x, {size}), shape_) : x;
      }
      case 1:
        if (x.shape() == shape_ && shape_.rank() == 2 && x.dtype() != boolean) return transpose(transpose(x) + number(1, x));
        return x;
      case 2: {
        Value y = x;
        for (int axis = 0; axis < y.shape().rank(); ++axis) y = reduce(y, axis, y.dtype() == boolean ? Reduction::All : Reduction::Max);
        return reshape(y, {});
      }
      default: return b_.emit(Word::RandomBits, {i32, false, shape_}, {scalar(i64).id(), tile(i64).id()});
    }
  }

  Value loop(int depth) {
    const DType dtype = kCompute[pick(6)];
    const Value place = broadcast(inputs_[chance(50) ? 0 : 6], shape_) + offsets(false);
    std::vector<Value> initial{tile(dtype), scalar(dtype), place, tile(i64), broadcast(axes_[0], shape_), tile(dtype)};
    const std::size_t tiles = tiles_.size(), scalars = scalars_.size();
    const auto results = b_.for_(
        b_.constant(std::int64_t{0}, i64), trips_, one_, initial, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
          tiles_.push_back(carried[0]), tiles_.push_back(carried[3]), tiles_.push_back(carried[4]), tiles_.push_back(carried[5]);
          scalars_.push_back(carried[1]), scalars_.push_back(i);
          keep(b_.load(carried[2]));
          for (int k = 0; k < 3; ++k) add_word(depth - 1);
          if (chance(30)) store(any_tile());
          std::vector<Value> next{tile(dtype), scalar(dtype),  carried[2] + (chance(80) ? b_.constant(std::int64_t{1}, i64) : i),
                                  tile(i64),   carried[4] + 1, carried[0]};
          if (chance(50)) std::swap(next[0], next[5]);
          tiles_.resize(tiles), scalars_.resize(scalars);
          return next;
        });
    for (const std::size_t k : {1, 3, 4, 5}) keep(results[k]);
    return results[0];
  }

  Value branch(int depth) {
    const DType dtype = kCompute[pick(7)], other = kCompute[pick(7)];
    const std::size_t tiles = tiles_.size(), scalars = scalars_.size();
    const auto side = [&]() -> std::vector<Value> {
      for (int k = 0; k < 2; ++k) add_word(depth - 1);
      const std::vector<Value> next{tile(dtype), scalar(other)};
      tiles_.resize(tiles), scalars_.resize(scalars);
      return next;
    };
    const auto results = b_.if_(scalar(boolean), side, side);
    keep(results[1]);
    return results[0];
  }

  void add_word(int depth) {
    // clang-format off: one word a line
    switch (pick(12)) {
      case 0: case 1: keep(load()); return;
      case 2: keep(across()); return;
      case 3: keep(shaped()); return;
      case 4: if (depth > 0) { keep(loop(depth)); return; } [[fallthrough]];
      case 5: if (depth > 0 && chance(50)) { keep(branch(depth)); return; } [[fallthrough]];
      case 6: if (chance(40)) { store(any_tile()); return; } [[fallthrough]];
      default: keep(arithmetic());
    }
    // clang-format on
  }

  std::mt19937 random_;
  Builder b_;
  Shape shape_;
  std::int64_t region_ = 0, grid_ = 1;
  std::vector<Value> inputs_, outputs_, scalars_, tiles_, axes_;
  Value one_, trips_, base_;
  std::vector<TestArgument> arguments_;
};

TEST(ExecutorFuzz, RandomProgramsAgreeWithTheInterpreter) {
  const char* from = std::getenv("TEGULA_FUZZ_SEED");
  const char* count = std::getenv("TEGULA_FUZZ_RUNS");
  const unsigned first = from ? static_cast<unsigned>(std::atoi(from)) : 0, runs = count ? static_cast<unsigned>(std::atoi(count)) : 400;
  for (unsigned seed = first; seed < first + runs; ++seed) { ASSERT_TRUE(Fuzz(seed).run()) << "seed " << seed; }
}

}  // namespace
}  // namespace tegula::host
