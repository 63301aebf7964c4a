#include "tests/property/shrink.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tests/property/ops.h"
#include "tests/property/reference_host.h"

namespace tegula::property {
namespace {

class Shrinking {
 public:
  Shrinking(Program program, const std::function<bool(const Program&)>& fails, double seconds)
      : program_(std::move(program)),
        fails_(fails),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds))) {}

  Program run() {
    bool smaller = true;
    while (smaller && !late()) {
      smaller = false;
      for (auto pass : {&Shrinking::drop, &Shrinking::keep_less, &Shrinking::cut, &Shrinking::bypass, &Shrinking::simplify,
                        &Shrinking::resize, &Shrinking::plain_dtypes, &Shrinking::plain_knobs, &Shrinking::plain_leaves}) {
        smaller = (this->*pass)() || smaller;
      }
    }
    return program_;
  }

 private:
  bool late() const { return std::chrono::steady_clock::now() > end_; }

  bool take(Program candidate) {
    candidate = without_dead(candidate);
    for (Instruction& one : candidate) {  // a Variable that begins with an input's value
      if (one.op != "variable" || one.inputs.empty()) continue;
      one.shape = candidate[static_cast<std::size_t>(one.inputs[0])].shape;
      one.dtype = candidate[static_cast<std::size_t>(one.inputs[0])].dtype;
    }
    if (late() || candidate.empty() || to_string(candidate) == to_string(program_) || !fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  /// Tries a change at every instruction, from the last to the first.
  template <class F>
  bool at_each(F&& change) {
    bool any = false;
    for (std::size_t i = program_.size(); i-- > 0;) {
      if (i >= program_.size()) continue;
      Program candidate = program_;
      if (change(candidate, i)) any = take(std::move(candidate)) || any;
    }
    return any;
  }

  bool drop() {  // statements, and targets of gradients
    bool any = at_each([](Program& p, std::size_t i) {
      if (p[i].op != "write" && p[i].op != "look" && p[i].op != "gradients") return false;
      p.erase(p.begin() + static_cast<std::ptrdiff_t>(i));
      for (Instruction& one : p) {
        for (int& input : one.inputs) input -= input > static_cast<int>(i) ? 1 : 0;
      }
      return true;
    });
    for (std::size_t t = 0; t < 8; ++t) {
      any = at_each([&](Program& p, std::size_t i) {
              if (p[i].op != "gradients" || p[i].inputs.size() < 2 || t >= p[i].inputs.size()) return false;
              p[i].inputs.erase(p[i].inputs.begin() + static_cast<std::ptrdiff_t>(t));
              return true;
            }) ||
            any;
    }
    return any;
  }
  bool keep_less() {
    return at_each([](Program& p, std::size_t i) {
      const bool was = p[i].kept;
      p[i].kept = false;
      return was;
    });
  }
  /// Becomes an input with the shape and dtype of its value.
  bool cut() {
    return at_each([](Program& p, std::size_t i) {
      if (p[i].is_leaf() || p[i].is_statement()) return false;
      ReferenceHost host(p, 0);
      Walk walk(p, host);
      try {
        for (int n = 0; n <= static_cast<int>(i); ++n) walk.step(n);
      } catch (const Error&) { return false; } catch (const Unfit&) {
        return false;
      }
      Cell::settle_later();
      const Tensor t = walk.value(static_cast<int>(i));
      p[i] = {.op = "input", .kept = false, .dtype = t.dtype(), .shape = t.shape(), .seed = i + 1};
      return true;
    });
  }
  /// Its users take its operand.
  bool bypass() {
    bool any = false;
    for (std::size_t operand = 0; operand < 3; ++operand) {
      any = at_each([&](Program& p, std::size_t i) {
              if (p[i].is_leaf() || p[i].is_statement() || p[i].op == "read" || operand >= p[i].inputs.size()) return false;
              const int instead = p[i].inputs[operand];
              if (p[static_cast<std::size_t>(instead)].op == "variable") return false;
              for (std::size_t j = i + 1; j < p.size(); ++j) {
                for (int& input : p[j].inputs) input = input == static_cast<int>(i) ? instead : input;
              }
              if (p[i].kept && !p[static_cast<std::size_t>(instead)].is_leaf()) p[static_cast<std::size_t>(instead)].kept = true;
              p[i].kept = false;
              return true;
            }) ||
            any;
    }
    return any;
  }
  bool simplify() {
    bool any = false;
    for (const char* plain : {"neg", "add", "sum", "mul"}) {
      any = at_each([&](Program& p, std::size_t i) {
              static const std::set<std::string> plainest{"neg", "add", "sum", "mul", "read", "gradient"};
              if (p[i].is_leaf() || p[i].is_statement() || plainest.contains(p[i].op)) return false;
              if (graph_op(plain).inputs != static_cast<int>(p[i].inputs.size())) return false;
              p[i].op = plain;
              return true;
            }) ||
            any;
    }
    return any;
  }
  bool resize() {
    std::set<std::int64_t> sizes;
    for (const Instruction& one : program_) sizes.insert(one.shape.begin(), one.shape.end());
    bool any = false;
    const auto replace = [&](std::int64_t size, std::int64_t by) {
      Program candidate = program_;
      for (Instruction& one : candidate) {
        for (auto& each : one.shape) each = each == size ? by : each;
      }
      return take(std::move(candidate));
    };
    for (auto size : sizes) {
      if (size < 2) continue;
      any = replace(size, 1) || (size > 2 && (replace(size, 2) || replace(size, size / 2) || replace(size, size - 1))) || any;
    }
    // An axis of one leaf goes.
    return at_each([](Program& p, std::size_t i) {
             if (!p[i].is_leaf() || !p[i].inputs.empty() || p[i].shape.rank() == 0) return false;
             p[i].shape.erase(p[i].shape.rank() - 1);
             return true;
           }) ||
           any;
  }
  bool plain_dtypes() {
    return at_each([](Program& p, std::size_t i) {
      if (!p[i].is_leaf() || p[i].dtype == f64) return false;
      p[i].dtype = f64;
      return true;
    });
  }
  bool plain_leaves() {
    return at_each([](Program& p, std::size_t i) {
      if (p[i].op != "weight") return false;
      p[i].op = "input";
      return true;
    });
  }
  bool plain_knobs() {
    bool any = false;
    for (std::size_t k = 0; k < 4; ++k) {
      any = at_each([&](Program& p, std::size_t i) {
              if (p[i].knobs[k] == 0 || p[i].is_leaf()) return false;
              p[i].knobs[k] = 0;
              return true;
            }) ||
            any;
    }
    return any;
  }

  Program program_;
  const std::function<bool(const Program&)>& fails_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, double seconds) {
  return Shrinking(std::move(program), fails, seconds).run();
}

}  // namespace tegula::property
