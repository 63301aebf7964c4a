#include "tegula/nn/sequences/recurrent.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn::detail {
namespace {

using ops::refuse;

Tensor projected(const Tensor& x, const Tensor& weight, const Variable& bias) {
  return bias.defined() ? linear(x, weight, bias.read()) : linear(x, weight);
}

void refuse_choice(Recurrence kind, const RecurrentOptions& options, std::string_view op, const Line& where) {
  if (options.nonlinearity != Nonlinearity::Tanh && kind != Recurrence::RNN)
    refuse(op, "nonlinearity Relu", "none: only an RNN has a choice", where);
  if (options.cell_clip != 0 && (kind != Recurrence::LSTM || !(options.cell_clip > 0)))
    refuse(op, "cell_clip " + number_text(options.cell_clip), "0, or in an LSTM a positive number", where);
}

/// Its variables, as PyTorch draws them; `end` is what their names end with.
Direction drawn_direction(Recurrence kind, std::int64_t features, std::int64_t hidden, const RecurrentOptions& options,
                          const std::string& end, const Line& where) {
  const std::int64_t gates = (kind == Recurrence::LSTM ? 4 : kind == Recurrence::GRU ? 3 : 1) * hidden;
  const std::int64_t width = options.proj_size > 0 ? options.proj_size : hidden;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const auto drawn = [&](const Shape& shape) { return uniform(shape, -bound, bound, {.dtype = options.dtype}, where); };
  Direction one;
  one.names = {"weight_ih" + end, "weight_hh" + end, "bias_ih" + end, "bias_hh" + end, "weight_hr" + end};
  one.weight_ih = drawn({gates, features});
  one.weight_hh = drawn({gates, width});
  if (options.bias) one.bias_ih = drawn({gates}), one.bias_hh = drawn({gates});
  if (options.proj_size > 0) one.weight_hr = drawn({width, hidden});
  return one;
}

std::string_view name_of(Recurrence kind) { return kind == Recurrence::RNN ? "RNN" : kind == Recurrence::LSTM ? "LSTM" : "GRU"; }

/// The input's share of the gates, with the biases. A GRU's second bias stays with the recurrent share, of which the reset gate takes a part.
Tensor input_share(Recurrence kind, const Tensor& x, const Direction& one) {
  if (kind == Recurrence::GRU || !one.bias_ih.defined()) return projected(x, one.weight_ih.read(), one.bias_ih);
  return linear(x, one.weight_ih.read(), one.bias_ih.read() + one.bias_hh.read());
}

// gates (N, G): the input's share. state: h (N, H), and c (N, hidden) of an LSTM.
std::vector<Tensor> step(Recurrence kind, const RecurrentOptions& options, const Direction& one, const Tensor& gates,
                         const std::vector<Tensor>& state) {
  const Tensor& h = state[0];
  static const Variable none;
  const Tensor recurrent = projected(h, one.weight_hh.read(), kind == Recurrence::GRU ? one.bias_hh : none);  // (N, G)
  if (kind == Recurrence::RNN) {
    const Tensor z = gates + recurrent;
    return {options.nonlinearity == Nonlinearity::Tanh ? tanh(z) : relu(z)};
  }
  if (kind == Recurrence::GRU) {
    const auto x = chunk(gates, 3, 1), y = chunk(recurrent, 3, 1);
    const Tensor reset = sigmoid(x[0] + y[0]), update = sigmoid(x[1] + y[1]);
    const Tensor fresh = tanh(x[2] + reset * y[2]);
    return {fresh + update * (h - fresh)};
  }
  const auto z = chunk(gates + recurrent, 4, 1);
  Tensor c = sigmoid(z[1]) * state[1] + sigmoid(z[0]) * tanh(z[2]);
  if (options.cell_clip > 0) c = clamp(c, -options.cell_clip, options.cell_clip);
  const Tensor next = sigmoid(z[3]) * tanh(c);
  return {one.weight_hr.defined() ? linear(next, one.weight_hr.read()) : next, c};
}

}  // namespace

void Direction::visit(Visitor& visitor, const Path& path) {
  visit_fields(visitor, path,
               {{names[0], &weight_ih}, {names[1], &weight_hh}, {names[2], &bias_ih}, {names[3], &bias_hh}, {names[4], &weight_hr}});
}

RecurrentLayers::RecurrentLayers(Recurrence kind, std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options,
                                 const Line& where)
    : kind_(kind),
      input_size_(input_size),
      hidden_size_(hidden_size),
      options_(options),
      dropout_(options.dropout, nullptr, where) {
  const In frame(name_of(kind), where);
  require_positive(name_of(kind), {{"input_size", input_size}, {"hidden_size", hidden_size}, {"layers", options.layers}}, where);
  if (options.proj_size != 0 && (kind != Recurrence::LSTM || options.proj_size < 0 || options.proj_size >= hidden_size))
    refuse(name_of(kind), "proj_size " + std::to_string(options.proj_size), "0, or in an LSTM a size below hidden_size", where);
  refuse_choice(kind, options, name_of(kind), where);
  const std::int64_t width = options.proj_size > 0 ? options.proj_size : hidden_size;
  const int count = options.bidirectional ? 2 : 1;
  for (int layer = 0; layer < options.layers; ++layer) {
    for (int d = 0; d < count; ++d) {
      const std::string end = "_l" + std::to_string(layer) + (d == 1 ? "_reverse" : "");
      directions_.push_back(drawn_direction(kind, layer == 0 ? input_size : count * width, hidden_size, options, end, where));
    }
  }
}

Cell::Cell(Recurrence kind, std::int64_t input_size, std::int64_t hidden_size, const RecurrentOptions& options, const Line& where)
    : kind_(kind),
      options_(options) {
  const std::string cell = std::string(name_of(kind)) + "Cell";
  const In frame(cell, where);
  require_positive(cell, {{"input_size", input_size}, {"hidden_size", hidden_size}}, where);
  if (options.layers != 1 || options.bidirectional || options.proj_size != 0 || options.dropout != 0)
    refuse(cell, "layers, directions, a projection or dropout", "options of one step: bias, nonlinearity, cell_clip, dtype", where);
  refuse_choice(kind, options, cell, where);
  one_ = drawn_direction(kind, input_size, hidden_size, options, "", where);
}

CellState Cell::run(const Arg& arg, const CellState& state) const {
  const std::string cell = std::string(name_of(kind_)) + "Cell";
  const In frame(cell, arg.loc);
  const Tensor x = arg.tensor(cell);
  if (x.rank() != 2) refuse(cell, "an input of shape " + to_string(x.shape()), "(N, features)", arg.loc);
  require_dtype(cell, x, options_.dtype, arg.loc);
  require_features(cell, x, -1, one_.weight_ih.shape()[1], "features", arg.loc);
  const Shape shape{x.shape()[0], one_.weight_hh.shape()[1]};
  const auto beginning = [&](const Tensor& given) {
    if (given.defined() && given.shape() != shape) refuse(cell, "a state of shape " + to_string(given.shape()), to_string(shape), arg.loc);
    return given.defined() ? given : zeros(shape, options_.dtype);
  };
  std::vector<Tensor> from{beginning(state.h)};
  if (kind_ == Recurrence::LSTM) from.push_back(beginning(state.c));
  const auto next = step(kind_, options_, one_, input_share(kind_, x, one_), from);
  return {next[0], next.size() > 1 ? next[1] : Tensor()};
}

void RecurrentLayers::visit(Visitor& visitor, const Path& path) {
  for (Direction& one : directions_) one.visit(visitor, path);
  dropout_.visit(visitor, path);
}

Direction& RecurrentLayers::direction(int layer, int direction) {
  return directions_.at(static_cast<std::size_t>(layer * (options_.bidirectional ? 2 : 1) + direction));
}

Recurrent RecurrentLayers::run(const Arg& arg, const RecurrentState& state) const {
  const std::string_view layer_name = name_of(kind_);
  const In frame(layer_name, arg.loc);
  const Line& where = arg.loc;
  Tensor x = arg.tensor(layer_name);
  if (x.rank() != 2 && x.rank() != 3)
    refuse(layer_name, "an input of shape " + to_string(x.shape()), "(T, N, features), or (T, features)", where);
  require_dtype(layer_name, x, options_.dtype, where);
  require_features(layer_name, x, -1, input_size_, "features", where);
  const bool batched = x.rank() == 3;
  if (!batched) x = expand_dims(x, 1);
  else if (options_.batch_first) x = transpose(x, 0, 1);
  const std::int64_t length = x.shape()[0], batch = x.shape()[1];
  const int count = options_.bidirectional ? 2 : 1;
  const std::int64_t width = options_.proj_size > 0 ? options_.proj_size : hidden_size_;
  const auto beginning = [&](const Tensor& given, std::string_view what, std::int64_t features) {
    const Shape full{static_cast<std::int64_t>(directions_.size()), batch, features};
    if (!given.defined()) return zeros(full, options_.dtype);
    const Tensor t = batched ? given : expand_dims(given, 1);
    if (t.shape() != full) refuse(layer_name, std::string(what) + " of shape " + to_string(t.shape()), to_string(full), where);
    return t;
  };
  const Tensor h0 = beginning(state.h, "a state h", width);
  const Tensor c0 = kind_ == Recurrence::LSTM ? beginning(state.c, "a state c", hidden_size_) : Tensor();
  if (kind_ != Recurrence::LSTM && state.c.defined()) refuse(layer_name, "a state c", "none: only an LSTM has one", where);
  Tensor lengths = state.lengths;
  if (lengths.defined() && (lengths.shape() != Shape{batch} || !is_integer(lengths.dtype())))
    refuse(layer_name, "lengths of shape " + to_string(lengths.shape()) + " and dtype " + std::string(tegula::name(lengths.dtype())),
           "integers of shape " + to_string(Shape{batch}), where);
  if (lengths.defined()) {
    lengths = ops::check_lengths(layer_name, lengths, length, "steps", where);
    // The input after a sample's end may be NaN, which would reach gradients as 0 * NaN.
    const Tensor there = expand_dims(expand_dims(arange(length), 1) < lengths, 2);  // (T, N, 1)
    x = tegula::where(there, x, 0.0);
  }

  std::vector<Tensor> hs, cs;
  for (int layer = 0; layer < options_.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int d = 0; d < count; ++d) {
      const auto at = static_cast<std::size_t>(layer * count + d);
      const Direction& one = directions_[at];
      std::vector<Tensor> start{select(h0, 0, static_cast<std::int64_t>(at))};
      if (kind_ == Recurrence::LSTM) start.push_back(select(c0, 0, static_cast<std::int64_t>(at)));
      // The input's share of all steps is one product.
      std::vector<Tensor> xs{input_share(kind_, x, one)};
      if (lengths.defined()) xs.push_back(arange(length));
      const Scanned scanned = scan(
          [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& in) {
            std::vector<Tensor> next = step(kind_, options_, one, in[0], carry);
            if (!lengths.defined()) return Scanned{next, {next[0]}};
            const Tensor inside = expand_dims(in[1] < lengths, 1);  // (N, 1)
            const Tensor y = tegula::where(inside, next[0], 0.0);
            for (std::size_t k = 0; k < next.size(); ++k) next[k] = tegula::where(inside, next[k], carry[k]);
            return Scanned{next, {y}};
          },
          start, xs, {.reverse = d == 1}, where);
      outputs.push_back(scanned.ys[0]);
      hs.push_back(scanned.carry[0]);
      if (kind_ == Recurrence::LSTM) cs.push_back(scanned.carry[1]);
    }
    x = count == 1 ? outputs[0] : concat(outputs, 2, where);
    if (layer + 1 < options_.layers && options_.dropout > 0) x = dropout_(x);
  }
  Recurrent out{x, stack(hs, 0, where), cs.empty() ? Tensor() : stack(cs, 0, where)};
  if (!batched) {
    out.output = squeeze(out.output, 1), out.h = squeeze(out.h, 1);
    if (out.c.defined()) out.c = squeeze(out.c, 1);
  } else if (options_.batch_first) {
    out.output = transpose(out.output, 0, 1);
  }
  return out;
}

}  // namespace tegula::nn::detail
