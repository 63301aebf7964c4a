// RNN, GRU and LSTM with all that ONNX lets them have: gate orders, peepholes, activations, lengths, both directions.

#include <algorithm>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

/// The node's activations by name; alphas and betas belong to those that take one, in their order.
class Activations {
 public:
  Activations(const Call& call, std::vector<std::string> otherwise, std::size_t directions)
      : call_(call),
        alphas_(call.numbers("activation_alpha")),
        betas_(call.numbers("activation_beta")) {
    std::vector<std::string> names = call.texts("activations");
    if (names.empty())
      for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), otherwise.begin(), otherwise.end());
    if (names.size() != directions * otherwise.size())
      call.refuse(std::to_string(names.size()) + " activations", std::to_string(directions * otherwise.size()));
    for (std::string& name : names) {
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      functions_.push_back(named(name));
    }
  }
  const Function& at(std::size_t i) const { return functions_[i]; }

 private:
  Function named(const std::string& name) {
    if (name == "relu") return [](const Tensor& x) { return relu(x); };
    if (name == "tanh") return [](const Tensor& x) { return tanh(x); };
    if (name == "sigmoid") return [](const Tensor& x) { return sigmoid(x); };
    if (name == "softsign") return [](const Tensor& x) { return softsign(x); };
    if (name == "softplus") return [](const Tensor& x) { return softplus(x, 1, 40); };
    if (name == "leakyrelu") return [a = alpha(0.01)](const Tensor& x) { return leaky_relu(x, a); };
    if (name == "elu") return [a = alpha(1)](const Tensor& x) { return elu(x, a); };
    if (name == "thresholdedrelu") return [a = alpha(1)](const Tensor& x) { return where(x > a, x, 0.0); };
    if (name == "hardsigmoid") return [a = alpha(0.2), b = beta(0.5)](const Tensor& x) { return clamp(x * a + b, 0.0, 1.0); };
    if (name == "affine") return [a = alpha(1), b = beta(0)](const Tensor& x) { return x * a + b; };
    if (name == "scaledtanh") return [a = alpha(1), b = beta(1)](const Tensor& x) { return tanh(x * b) * a; };
    call_.refuse("the activation " + name, "one of ONNX's");
  }
  double alpha(double otherwise) { return next_alpha_ < alphas_.size() ? static_cast<double>(alphas_[next_alpha_++]) : otherwise; }
  double beta(double otherwise) { return next_beta_ < betas_.size() ? static_cast<double>(betas_[next_beta_++]) : otherwise; }

  const Call& call_;
  std::vector<float> alphas_, betas_;
  std::size_t next_alpha_ = 0, next_beta_ = 0;
  std::vector<Function> functions_;
};

/// The weights of one direction.
struct Weights {
  Tensor input, recurrent;  // (gates * H, I), (gates * H, H)
  Tensor input_bias, recurrent_bias;  // (gates * H)
  Tensor peepholes;  // (3 * H), empty without
};

/// A step: its share of the input (B, gates * H) and the carried values to the next ones, the first of which is the output.
using Step = std::function<std::vector<Tensor>(const Weights& w, const Tensor& x, const std::vector<Tensor>& carry, std::size_t direction)>;

Tensor gate(const Tensor& all, std::int64_t i, std::int64_t hidden) { return slice(all, -1, {i * hidden, (i + 1) * hidden}); }

/// x (T, B, …) with the first lengths[b] steps of each sample in the opposite order.
Tensor reversed(const Tensor& x, const Tensor& lengths) {
  Shape shape = Dims::filled(x.rank(), 1);
  shape[0] = x.size(0), shape[1] = x.size(1);
  const Tensor step = iota(shape, 0), length = along(cast(lengths, i64), 1, x.rank());
  return take_along_axis(x, where(step < length, length - 1 - step, step), 0);
}

struct Sides {
  bool has_forward = true, has_backward = false;
  std::size_t count() const { return has_forward && has_backward ? 2 : 1; }
};

Sides sides_of(const Call& call) {
  const std::string direction = call.text("direction", "forward");
  if (direction == "forward") return {};
  if (direction == "reverse") return {false, true};
  if (direction == "bidirectional") return {true, true};
  call.refuse("direction " + direction, "forward, reverse or bidirectional");
}

/// All steps of all directions. `gates`: weights of so many gates lie one after the other; `states`: carried values. Results: Y (T, D, B, H), then each state (D, B, H).
Results recurrent(const Call& call, std::int64_t gates, std::size_t states, const Step& step) {
  const bool is_batch_first = call.integer("layout", 0) == 1;
  Tensor x = call[0];
  if (x.rank() != 3 || call[2].rank() != 3)
    call.refuse("x of shape " + to_string(x.shape()) + ", weights of shape " + to_string(call[2].shape()),
                "(T, B, I) and (directions, gates * H, H)");
  if (is_batch_first) x = transpose(x, 0, 1);
  const Sides sides = sides_of(call);
  const std::int64_t batch = x.size(1), hidden = call[2].shape().back();
  if (call[1].rank() != 3 || call[1].size(0) != static_cast<std::int64_t>(sides.count()) || call[1].size(1) != gates * hidden ||
      call[1].size(2) != x.size(2) || call[2].shape() != Shape{call[1].size(0), gates * hidden, hidden})
    call.refuse("weights of shapes " + to_string(call[1].shape()) + " and " + to_string(call[2].shape()),
                "(directions, " + std::to_string(gates) + " * H, I) and (directions, " + std::to_string(gates) + " * H, H)");
  const Tensor lengths = call.maybe(4);
  std::vector<Tensor> outputs;
  std::vector<std::vector<Tensor>> last(states);
  for (std::size_t d = 0; d < sides.count(); ++d) {
    const auto of_direction = [&](const Tensor& all) { return select(all, 0, static_cast<std::int64_t>(d)); };
    Weights w{of_direction(call[1]), of_direction(call[2]), {}, {}, {}};
    if (call.has(3)) {
      const Tensor bias = of_direction(call[3]);
      w.input_bias = slice(bias, 0, {0, gates * hidden}), w.recurrent_bias = slice(bias, 0, {gates * hidden, std::nullopt});
    } else {
      w.input_bias = w.recurrent_bias = zeros({gates * hidden}, x.dtype());
    }
    if (call.has(7)) w.peepholes = of_direction(call[7]);
    std::vector<Tensor> start;
    for (std::size_t s = 0; s < states; ++s) {
      const Tensor given = call.maybe(5 + s);
      if (!given.defined()) start.push_back(zeros({batch, hidden}, x.dtype()));
      else start.push_back(of_direction(is_batch_first ? transpose(given, 0, 1) : given));
    }
    const bool is_backward = d == 1 || !sides.has_forward;
    const Tensor ordered = is_backward && lengths.defined() ? reversed(x, lengths) : x;
    std::vector<Tensor> xs{matmul(ordered, transpose(w.input)) + w.input_bias};
    if (lengths.defined()) xs.push_back(arange(x.size(0)));
    const auto body = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& in) {
      std::vector<Tensor> next = step(w, in[0], carry, d);
      if (!lengths.defined()) return Scanned{next, {next[0]}};
      const Tensor is_alive = reshape(in[1] < cast(lengths, i64), {batch, 1});
      const Tensor y = where(is_alive, next[0], 0.0);
      for (std::size_t s = 0; s < states; ++s) next[s] = where(is_alive, next[s], carry[s]);
      return Scanned{next, {y}};
    };
    const Scanned out = scan(body, start, xs, {.reverse = is_backward && !lengths.defined()}, call.where());
    outputs.push_back(is_backward && lengths.defined() ? reversed(out.ys[0], lengths) : out.ys[0]);
    for (std::size_t s = 0; s < states; ++s) last[s].push_back(out.carry[s]);
  }
  const Tensor y = stack(outputs, 1);
  Results results(is_batch_first ? permute(y, {2, 0, 1, 3}) : y);
  for (const auto& one : last) results.emplace_back(stack(one, is_batch_first ? 1 : 0));
  return results;
}

Function clipped(const Call& call) {
  const double clip = call.number("clip", 0);
  if (clip <= 0) return [](const Tensor& x) { return x; };
  return [clip](const Tensor& x) { return clamp(x, -clip, clip); };
}

Results rnn(const Call& call) {
  const Activations activations(call, {"tanh"}, sides_of(call).count());
  const Function clip = clipped(call);
  return recurrent(call, 1, 1, [&](const Weights& w, const Tensor& x, const std::vector<Tensor>& carry, std::size_t d) {
    return std::vector<Tensor>{activations.at(d)(clip(x + matmul(carry[0], transpose(w.recurrent)) + w.recurrent_bias))};
  });
}

/// Gates z, r, h.
Results gru(const Call& call) {
  const Activations activations(call, {"sigmoid", "tanh"}, sides_of(call).count());
  const Function clip = clipped(call);
  const bool resets_behind = call.flag("linear_before_reset");
  return recurrent(call, 3, 1, [&](const Weights& w, const Tensor& x, const std::vector<Tensor>& carry, std::size_t d) {
    const std::int64_t hidden = carry[0].shape().back();
    const Function &f = activations.at(2 * d), &g = activations.at(2 * d + 1);
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
      return std::pair(transpose(slice(w.recurrent, 0, {begin * hidden, end * hidden})),
                       slice(w.recurrent_bias, 0, {begin * hidden, end * hidden}));
    };
    const auto [gates_w, gates_b] = rows(0, 2);
    const auto [candidate_w, candidate_b] = rows(2, 3);
    const Tensor gates = matmul(carry[0], gates_w) + gates_b + slice(x, -1, {0, 2 * hidden});
    const Tensor z = f(clip(gate(gates, 0, hidden))), r = f(clip(gate(gates, 1, hidden)));
    const Tensor past = resets_behind ? r * (matmul(carry[0], candidate_w) + candidate_b) : matmul(r * carry[0], candidate_w) + candidate_b;
    const Tensor candidate = g(clip(gate(x, 2, hidden) + past));
    return std::vector<Tensor>{(1 - z) * candidate + z * carry[0]};
  });
}

/// Gates i, o, f, c; peepholes i, o, f.
Results lstm(const Call& call) {
  const Activations activations(call, {"sigmoid", "tanh", "tanh"}, sides_of(call).count());
  const Function clip = clipped(call);
  const bool is_coupled = call.flag("input_forget");
  return recurrent(call, 4, 2, [&](const Weights& w, const Tensor& x, const std::vector<Tensor>& carry, std::size_t d) {
    const std::int64_t hidden = carry[0].shape().back();
    const Function &f = activations.at(3 * d), &g = activations.at(3 * d + 1), &h = activations.at(3 * d + 2);
    const Tensor all = x + matmul(carry[0], transpose(w.recurrent)) + w.recurrent_bias;
    const auto looked_through = [&](std::int64_t i, const Tensor& cell) {
      const Tensor sums = gate(all, i, hidden);
      return clip(w.peepholes.defined() ? sums + gate(w.peepholes, i, hidden) * cell : sums);
    };
    const Tensor in = f(looked_through(0, carry[1]));
    const Tensor forget = is_coupled ? 1 - in : f(looked_through(2, carry[1]));
    const Tensor cell = forget * carry[1] + in * g(clip(gate(all, 3, hidden)));
    return std::vector<Tensor>{f(looked_through(1, cell)) * h(cell), cell};
  });
}

constexpr std::string_view kAttributes =
    "activation_alpha activation_beta activations clip direction hidden_size input_forget layout linear_before_reset output_sequence";

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"RNN", [](Call& c) -> Results { return rnn(c); }, kAttributes},
    {"GRU", [](Call& c) -> Results { return gru(c); }, kAttributes},
    {"LSTM", [](Call& c) -> Results { return lstm(c); }, kAttributes},
};
// clang-format on

}  // namespace

Operators recurrent_operators() { return kOperators; }

}  // namespace tegula::onnx
