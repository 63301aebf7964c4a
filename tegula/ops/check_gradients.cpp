#include "tegula/ops/check_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string index_text(std::int64_t position, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return to_string(index);
}

/// Numbers in [-1, 1), from a counter: the same on every machine.
Values weights_for(std::int64_t count, std::uint64_t seed) {
  Values out(static_cast<std::size_t>(count));
  std::uint64_t state = seed;
  for (double& w : out) {  // splitmix64 (Steele et al. 2014)
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    w = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
  }
  return out;
}

struct Worst {
  double excess = 1;  // error over the tolerance; reported above 1
  int input = 0;
  std::int64_t position = 0;
  double gradient = 0, difference = 0;
};

class Check {
 public:
  using Function = std::function<Tensor(const std::vector<Tensor>&)>;

  Check(const Function& f, const std::vector<Tensor>& inputs, const GradientCheck& options, const Line& where)
      : f_(f),
        options_(options),
        where_(where) {
    for (const Tensor& x : inputs) {
      inputs_.push_back(is_float(x.dtype(where)) ? tensor<double>(x.to_host<double>(where), x.shape(), where) : x);
    }
  }

  void run() {
    const Tensor y = f_(inputs_);
    if (!is_float(y.dtype(where_))) {
      throw Error({.op = "check_gradients",
                   .got = "a function with a result of dtype " + std::string(name(y.dtype())),
                   .expected = "a float dtype",
                   .where = origin_at(where_).where});
    }
    weights_ = weights_for(y.numel(), options_.seed);
    std::vector<int> checked = options_.inputs;
    for (int i = 0; options_.inputs.empty() && i < static_cast<int>(inputs_.size()); ++i) {
      if (is_float(at(i).dtype())) checked.push_back(i);
    }
    std::vector<Wrt> wrt;
    for (int i : checked) wrt.emplace_back(at(i));
    Tensor weights = tensor<double>(weights_, y.shape(), where_);
    const auto gradients = vjp({y}, {graph_cast(weights, y.dtype())}, wrt, where_);
    for (std::size_t k = 0; k < checked.size(); ++k) check_input(checked[k], gradients[k].to_host<double>(where_));
    if (worst_.excess > 1) fail();
  }

 private:
  Tensor& at(int i) { return inputs_[static_cast<std::size_t>(i)]; }

  /// The weights in the result's dtype, as a leaf.
  Tensor graph_cast(const Tensor& weights, DType dtype) {
    if (dtype == f64) return weights;
    HostArray array = HostArray::empty(dtype, weights.shape());
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < weights_.size(); ++i) array.values<T>()[i] = from_double<T>(weights_[i]);
    });
    return from_array(array, where_);
  }

  double projected() {
    const Values y = f_(inputs_).to_host<double>(where_);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * weights_[i];
    return sum;
  }

  void check_input(int input, const Values& gradient) {
    const Tensor original = at(input);
    const Values values = original.to_host<double>(where_);
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t tried = std::min(count, options_.most_elements);
    for (std::int64_t n = 0; n < tried; ++n) {
      const std::int64_t position = n * count / tried;
      const double x = values[static_cast<std::size_t>(position)], step = options_.step * std::max(1.0, std::fabs(x));
      const auto shifted = [&](double by) {
        Values moved = values;
        moved[static_cast<std::size_t>(position)] = x + by;
        at(input) = tensor<double>(moved, original.shape(), where_);
        return projected();
      };
      const double difference = (shifted(step) - shifted(-step)) / (2 * step);
      note(input, position, gradient[static_cast<std::size_t>(position)], difference);
    }
    at(input) = original;
  }

  void note(int input, std::int64_t position, double gradient, double difference) {
    const double allowed = options_.absolute + options_.relative * std::max(std::fabs(gradient), std::fabs(difference));
    double excess = std::fabs(gradient - difference) / allowed;
    if (std::isnan(excess)) excess = HUGE_VAL;
    if (excess > worst_.excess) worst_ = {excess, input, position, gradient, difference};
  }

  [[noreturn]] void fail() {
    throw Error({.op = "check_gradients",
                 .got = "gradient " + number_text(worst_.gradient) + " of input " + std::to_string(worst_.input) + " at " +
                        index_text(worst_.position, at(worst_.input).shape()),
                 .expected = number_text(worst_.difference) + ", the central difference there (this is the worst element)",
                 .advice = "look at the derivative of the op, or whether the function has a kink near this input",
                 .where = origin_at(where_).where});
  }

  const Function& f_;
  const GradientCheck& options_;
  Line where_;
  std::vector<Tensor> inputs_;
  Values weights_;
  Worst worst_;
};

}  // namespace

void check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                     const GradientCheck& options, Line where) {
  Check(f, inputs, options, where).run();
}

}  // namespace tegula
