#include "tests/differential/parameters.h"

namespace differential {
namespace {

nn::RecurrentOptions recurrent_options(const Tensors& x, const Attributes& a) {
  return {.layers = static_cast<int>(whole(a, "layers", 1)),
          .bias = flag(a, "with_bias"),
          .batch_first = flag(a, "batch_first"),
          .bidirectional = flag(a, "bidirectional"),
          .nonlinearity = flag(a, "relu") ? nn::Nonlinearity::Relu : nn::Nonlinearity::Tanh,
          .proj_size = whole(a, "proj_size", 0),
          .dtype = x[0].dtype()};
}

template <class Layer>
void add_recurrent(Registry& r, const char* name) {
  const auto first = [](const Attributes& a) { return 1u + flag(a, "h") + flag(a, "c") + flag(a, "lengths"); };
  const auto make = [=](const Tensors& x, const Attributes& a) {
    Layer layer(x[0].size(-1), whole(a, "hidden", 1), recurrent_options(x, a));
    fill_by_name(layer, x, a, first(a));
    return layer;
  };
  add_layer(r, name, make, [](const Layer& layer, const Tensors& x, const Attributes& a) {
    nn::RecurrentState state;
    std::size_t next = 1;
    if (flag(a, "h")) state.h = x.at(next++);
    if (flag(a, "c")) state.c = x.at(next++);
    if (flag(a, "lengths")) state.lengths = x.at(next++);
    const nn::Recurrent y = layer(x[0], state);
    return with_parameter_gradients(layer, y.c.defined() ? Tensors{y.output, y.h, y.c} : Tensors{y.output, y.h});
  });
}

template <class Layer>
void add_cell(Registry& r, const char* name) {
  const auto make = [](const Tensors& x, const Attributes& a) {
    Layer layer(x[0].size(-1), whole(a, "hidden", 1), recurrent_options(x, a));
    fill_by_name(layer, x, a, x.size() - a.at("names").size());
    return layer;
  };
  add_layer(r, name, make, [](const Layer& layer, const Tensors& x, const Attributes& a) {
    const bool given = flag(a, "h");
    if constexpr (std::is_same_v<Layer, nn::LSTMCell>) {
      const auto y = layer(x[0], given ? nn::detail::CellState{x[1], x[2]} : nn::detail::CellState{});
      return with_parameter_gradients(layer, {y.h, y.c});
    } else {
      return with_parameter_gradients(layer, {layer(x[0], given ? x[1] : Tensor())});
    }
  });
}

/// h' = tanh(h · u + x · w): the last and all of them; y reads slices of a step's sum.
Tensors scanned(const Tensors& x, const Attributes& a) {
  const Tensor &xs = x[0], &start = x[1], &w = x[2], &u = x[3];
  const ScanBody body = [&](const Tensors& carry, const Tensors& now) {
    const auto parts = chunk(matmul(now[0], w) + matmul(carry[0], u), 2, 1);
    const Tensor h = tanh(parts[0]) * sigmoid(parts[1]) + carry[0] * 0.5;
    return Scanned{{h}, {h, sum(parts[1] * carry[0])}};
  };
  const ScanOptions options{.reverse = flag(a, "reverse")};
  const Scanned all = flag(a, "chunks") ? scan_in_chunks(body, {start}, {xs}, options) : scan(body, {start}, {xs}, options);
  return {all.carry[0], all.ys[0], all.ys[1]};
}

}  // namespace

void add_sequences(Registry& r) {
  add_recurrent<nn::RNN>(r, "nn.RNN");
  add_recurrent<nn::LSTM>(r, "nn.LSTM");
  add_recurrent<nn::GRU>(r, "nn.GRU");
  add_cell<nn::RNNCell>(r, "nn.RNNCell");
  add_cell<nn::LSTMCell>(r, "nn.LSTMCell");
  add_cell<nn::GRUCell>(r, "nn.GRUCell");
  r["scan"] = scanned;
  r["dynamic_slice"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{dynamic_slice(x[0], x[1], whole(a, "size", 1), static_cast<int>(whole(a, "axis", 0)))};
  };
  r["update_slice"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{update_slice(x[0], x[1], x[2], static_cast<int>(whole(a, "axis", 0)))};
  };
  r["linear_cross_entropy"] = [](const Tensors& x, const Attributes& a) {
    LinearCrossEntropyOptions options{.reduction = reduction(a), .chunk = whole(a, "chunk", 4096)};
    if (x.size() > 3) options.bias = x[3];
    if (a.contains("ignore_index")) options.ignore_index = whole(a, "ignore_index", 0);
    return Tensors{linear_cross_entropy(x[0], x[1], x[2], options)};
  };
  r["var_mean"] = [](const Tensors& x, const Attributes& a) {
    const Dims axes = dims(a, "axes");
    const VarMean y = var_mean(x[0], axes.rank() == 0 ? Axes() : Axes(axes), {.correction = real(a, "correction", 1), .keep = keep(a)});
    return Tensors{y.var, y.mean};
  };
  r["masked_softmax"] = [](const Tensors& x, const Attributes& a) {
    MaskedSoftmaxOptions options;
    std::size_t next = 1;
    if (flag(a, "mask")) options.mask = x.at(next++);
    if (flag(a, "lengths")) options.lengths = x.at(next++);
    return Tensors{masked_softmax(x[0], options)};
  };
}

}  // namespace differential
