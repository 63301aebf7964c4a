#include "tests/property/generate.h"

#include <algorithm>
#include <cmath>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tests/property/ops.h"
#include "tests/property/reference_host.h"

namespace tegula::property {
namespace {

/// Small: many ops, and a fraction of a millisecond by the reference. Large: steps that are worth several threads.
struct Bounds {
  std::int64_t leaf, value;
  int ops;
};
constexpr Bounds kSmall{1100, 4000, 12}, kLarge{60'000, 200'000, 5};

class Generation {
 public:
  Generation(std::uint64_t seed, const Bounds& bounds, Weights weights)
      : random_(seed),
        bounds_(bounds),
        host_(program_, 0),
        walk_(program_, host_) {
    const int wanted = 3 + random_.below(random_.chance(0.15) ? 2 * bounds_.ops : bounds_.ops);
    products_ = random_.chance(0.08);
    for (int n = 2 + random_.below(3); n > 0; --n) sizes_.push_back(size());
    const double d = random_.uniform();
    dtype_ = d < 0.55 ? f64 : d < 0.82 ? f32 : d < 0.91 ? f16 : bf16;
    const bool drawn = random_.chance(0.4);
    if (weights == Weights::Some || (weights == Weights::Drawn && drawn)) steady_part();
    leaves();
    for (int made = 0, tried = 0; made < wanted && tried < 400; ++tried) made += instruction() ? 1 : 0;
    finish();
  }
  Program program() && { return std::move(program_); }

 private:
  std::int64_t size() {
    constexpr std::int64_t large[] = {1, 2, 64, 100, 256, 300};
    if (bounds_.leaf == kLarge.leaf) return large[random_.below(6)];
    constexpr std::int64_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 16, 33};
    if (products_) return 32;  // at this size a product is a call of the device, below it often a sum in a tile program
    return random_.chance(0.02) ? 0 : sizes[random_.below(12)];
  }

  Shape shape() {
    for (;;) {
      Shape shape;
      constexpr int ranks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4};
      for (int rank = ranks[random_.below(11)]; rank > 0; --rank) {
        shape.push_back(random_.chance(0.2) ? 1 : sizes_[static_cast<std::size_t>(random_.below(static_cast<int>(sizes_.size())))]);
      }
      if (numel(shape) <= bounds_.leaf) return shape;
    }
  }

  /// Weights, and a few values made of them alone, which a jit-ed function may compute once; often written over at once.
  void steady_part() {
    for (int n = 1 + random_.below(3); n > 0; --n) push({.op = "weight", .dtype = dtype_, .shape = shape(), .seed = small()});
    for (int made = 0, wanted = 1 + random_.below(4), tried = 0; made < wanted && tried < 60; ++tried) made += drawn_instruction() ? 1 : 0;
    for (int n = random_.below(3); n > 0; --n) push(over(random_.chance(0.7) ? "write_slice" : "write_places"));
  }

  void leaves() {
    for (int n = 1 + random_.below(3); n > 0; --n) {
      push({.op = "input",
            .dtype = random_.chance(0.1)    ? i64
                     : random_.chance(0.05) ? boolean
                                            : dtype_,
            .shape = shape(),
            .seed = small()});
    }
    if (random_.chance(0.5)) return;
    for (int n = 1 + random_.below(2); n > 0; --n) {
      Instruction one{.op = "variable", .dtype = dtype_, .shape = shape(), .seed = small()};
      const auto input = std::ranges::find(program_, "input", &Instruction::op);
      const int at = static_cast<int>(input - program_.begin());
      if (random_.chance(0.3) && is_float(input->dtype))
        one = {.op = "variable", .inputs = {at}, .dtype = input->dtype, .shape = input->shape};
      variables_.push_back(static_cast<int>(program_.size()));
      written_.push_back(false);
      push(one);
    }
  }

  std::uint64_t small() { return static_cast<std::uint64_t>(random_.below(1000)); }
  Knobs knobs() {
    return {static_cast<std::uint32_t>(random_.below(64)), static_cast<std::uint32_t>(random_.below(64)),
            static_cast<std::uint32_t>(random_.below(64)), static_cast<std::uint32_t>(random_.below(64))};
  }

  /// Most often one of the last.
  int value() {
    const auto count = static_cast<int>(values_.size());
    if (random_.chance(0.55)) return values_[static_cast<std::size_t>(count - 1 - random_.below(std::min(count, 4)))];
    return values_[static_cast<std::size_t>(random_.below(count))];
  }

  bool push(Instruction one) {
    program_.push_back(std::move(one));
    const int number = static_cast<int>(program_.size()) - 1;
    bool good = true;
    try {
      walk_.step(number);
      if (!program_.back().is_statement()) good = moderate(walk_.value(number));
    } catch (const Error&) { good = false; } catch (const Unfit&) {
      good = false;
    }
    if (!good) program_.pop_back();
    else if (!program_.back().is_statement()) values_.push_back(number);
    return good;
  }

  bool moderate(const Tensor& t) {
    if (t.numel() > bounds_.value || t.rank() > 6) return false;
    const double most = is_narrow_float(t.dtype()) ? 50 : is_float(t.dtype()) ? 1e3 : t.dtype() == u8 || t.dtype() == i8 ? 100 : 1e6;
    const auto& all = host_.value(t).elements;
    const bool fine = std::all_of(all.begin(), all.end(), [&](double x) { return std::fabs(x) <= most; });
    return fine || (is_float(t.dtype()) && random_.chance(0.01));
  }

  bool instruction() {
    const double d = random_.uniform();
    const auto variable = [&] { return static_cast<std::size_t>(random_.below(static_cast<int>(variables_.size()))); };
    if (!variables_.empty() && d < 0.08) return push({.op = "read", .inputs = {variables_[variable()]}});
    if (!variables_.empty() && d < 0.16) {
      const std::size_t which = variable();
      const bool good = push({.op = "write", .inputs = {variables_[which], value()}, .knobs = knobs()});
      if (good) written_[which] = true;
      return good;
    }
    if (d < 0.22) return push({.op = "look", .inputs = {value()}, .knobs = knobs()});
    if (d < 0.26) return push({.op = "gradient", .inputs = {value(), target()}, .knobs = knobs(), .kept = random_.chance(0.5)});
    return drawn_instruction();
  }
  bool drawn_instruction() { return push(over(drawn().name)); }
  Instruction over(const std::string& op) {
    Instruction one{.op = op, .knobs = knobs(), .kept = random_.chance(0.25)};
    for (int i = 0; i < graph_op(op).inputs; ++i) one.inputs.push_back(value());
    return one;
  }

  const GraphOp& drawn() {
    static const double total = [] {
      double sum = 0;
      for (const GraphOp& op : graph_ops()) sum += op.weight;
      return sum;
    }();
    double left = random_.uniform() * total;
    for (const GraphOp& op : graph_ops()) {
      left -= op.weight;
      if (left < 0) return op;
    }
    return graph_ops().back();
  }

  /// A target of differentiation: a value, or a Variable that still holds its initial value (jit refuses others).
  int target() {
    if (!variables_.empty() && random_.chance(0.3)) {
      const auto which = static_cast<std::size_t>(random_.below(static_cast<int>(variables_.size())));
      if (!written_[which]) return variables_[which];
    }
    return values_[static_cast<std::size_t>(random_.below(static_cast<int>(values_.size())))];
  }

  void finish() {
    std::vector<bool> used(program_.size());
    for (const Instruction& one : program_) {
      for (int input : one.inputs) used[static_cast<std::size_t>(input)] = true;
    }
    // An unused value is a result.
    for (std::size_t i = 0; i < program_.size(); ++i) {
      Instruction& one = program_[i];
      if (!used[i] && !one.is_leaf() && !one.is_statement()) one.kept = true;
    }
    program_ = without_dead(program_);
    if (random_.chance(0.15)) return;
    std::vector<int> candidates;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      const Instruction& one = program_[i];
      const auto number = static_cast<int>(i);
      if (one.op == "variable") {
        const bool written = std::any_of(program_.begin(), program_.end(),
                                         [&](const Instruction& other) { return other.op == "write" && other.inputs[0] == number; });
        if (!written) candidates.push_back(number);
      } else if (one.is_leaf() ? is_float(one.dtype) : !one.is_statement() && random_.chance(0.25)) {
        candidates.push_back(number);
      }
    }
    // Candidates that no path reaches, or that are no floats, are left out.
    Instruction last{.op = "gradients", .inputs = {}, .knobs = {1, 0, 0, 0}};
    for (int candidate : candidates) {
      last.inputs.push_back(candidate);
      if (!works(last)) last.inputs.pop_back();
    }
    if (last.inputs.empty()) return;
    last.knobs[0] = 2;
    if (random_.chance(0.4) || !works(last)) last.knobs[0] = 1;
    program_.push_back(last);
  }

  bool works(const Instruction& last) const {
    Program whole = program_;
    whole.push_back(last);
    try {
      ReferenceHost host(whole, 0);
      carry_out(whole, host);
      return true;
    } catch (const Error&) { return false; } catch (const Unfit&) {
      return false;
    }
  }

  Random random_;
  const Bounds& bounds_;
  Program program_;
  std::vector<std::int64_t> sizes_;
  DType dtype_ = f64;
  bool products_ = false;
  std::vector<int> values_, variables_;
  std::vector<bool> written_;
  ReferenceHost host_;
  Walk walk_;
};

}  // namespace

Program generate(std::uint64_t seed, Size size, Weights weights) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Program program = Generation(seed + (attempt << 40), size == Size::Small ? kSmall : kLarge, weights).program();
    Cell::settle_later();
    try {
      reference_outcomes(program, has_state(program) ? 2 : 1, 0);
      if (!program.empty()) return program;
    } catch (const Error&) {
    } catch (const Unfit&) {}
    Cell::settle_later();
  }
}

}  // namespace tegula::property
