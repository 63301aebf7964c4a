// Recurrent layers against their equations, written as loops over doubles.

#include "tegula/nn/sequences/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tegula/tegula.h"

namespace tegula {
namespace {

using Values = std::vector<double>;

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

/// weight (rows, x.size()) · x + bias.
Values affine(const Variable& weight, const Variable& bias, const Values& x) {
  const Values w = weight.read().to_host<double>();
  Values y = bias.defined() ? bias.read().to_host<double>() : Values(static_cast<std::size_t>(weight.shape()[0]), 0.0);
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t k = 0; k < x.size(); ++k) y[r] += w[r * x.size() + k] * x[k];
  return y;
}

enum class Kind { RNN, LSTM, GRU };

/// One step of one sample; h and c change.
void reference_step(Kind kind, const nn::RecurrentOptions& options, const nn::detail::Direction& one, const Values& x, Values& h,
                    Values& c) {
  const Values a = affine(one.weight_ih, one.bias_ih, x), b = affine(one.weight_hh, one.bias_hh, h);
  const std::size_t n = a.size() / (kind == Kind::LSTM ? 4 : kind == Kind::GRU ? 3 : 1);
  Values next(n);
  for (std::size_t k = 0; k < n; ++k) {
    if (kind == Kind::RNN) next[k] = options.nonlinearity == nn::Nonlinearity::Relu ? std::max(a[k] + b[k], 0.0) : std::tanh(a[k] + b[k]);
    if (kind == Kind::GRU) {
      const double r = sigma(a[k] + b[k]), z = sigma(a[n + k] + b[n + k]), fresh = std::tanh(a[2 * n + k] + r * b[2 * n + k]);
      next[k] = (1 - z) * fresh + z * h[k];
    }
    if (kind == Kind::LSTM) {
      c[k] = sigma(a[n + k] + b[n + k]) * c[k] + sigma(a[k] + b[k]) * std::tanh(a[2 * n + k] + b[2 * n + k]);
      if (options.cell_clip > 0) c[k] = std::clamp(c[k], -options.cell_clip, options.cell_clip);
      next[k] = sigma(a[3 * n + k] + b[3 * n + k]) * std::tanh(c[k]);
    }
  }
  h = one.weight_hr.defined() ? affine(one.weight_hr, Variable(), next) : next;
}

struct Case {
  Kind kind;
  nn::RecurrentOptions options;
  bool state = false, lengths = false;
};

constexpr std::int64_t kSteps = 5, kBatch = 3, kFeatures = 4, kHidden = 6;

template <class Layer>
void check_layer(const Case& one) {
  nn::RecurrentOptions options = one.options;
  options.dtype = f64;
  Layer layer(kFeatures, kHidden, options);
  const int count = options.bidirectional ? 2 : 1;
  const std::int64_t width = options.proj_size > 0 ? options.proj_size : kHidden, all = options.layers * count;
  const auto drawn = [](const Shape& shape) {
    const Tensor t = normal(shape, 0, 1, {.dtype = f64});
    eval(t);
    return t;
  };
  const Tensor x = drawn({kSteps, kBatch, kFeatures});
  nn::RecurrentState state;
  if (one.state) {
    state.h = drawn({all, kBatch, width});
    if (one.kind == Kind::LSTM) state.c = drawn({all, kBatch, kHidden});
  }
  const std::vector<std::int64_t> lengths = one.lengths ? std::vector<std::int64_t>{5, 2, 0} : std::vector<std::int64_t>(3, kSteps);
  if (one.lengths) state.lengths = tensor(lengths, {kBatch});
  const auto got = layer(options.batch_first ? transpose(x, 0, 1) : x, state);

  const auto index = [](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t nj, std::int64_t nk) {
    return static_cast<std::size_t>((i * nj + j) * nk + k);
  };
  const Values host = x.to_host<double>(),
               h0 = one.state ? state.h.to_host<double>() : Values(static_cast<std::size_t>(all * kBatch * width)),
               c0 = one.state && state.c.defined() ? state.c.to_host<double>() : Values(static_cast<std::size_t>(all * kBatch * kHidden));
  Values output(static_cast<std::size_t>(kSteps * kBatch * count * width)), hn(h0.size()), cn(c0.size());
  for (std::int64_t n = 0; n < kBatch; ++n) {
    std::vector<Values> sequence;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const auto from = host.begin() + static_cast<std::ptrdiff_t>(index(t, n, 0, kBatch, kFeatures));
      sequence.emplace_back(from, from + kFeatures);
    }
    const std::int64_t length = lengths[static_cast<std::size_t>(n)];
    for (int l = 0; l < options.layers; ++l) {
      std::vector<Values> next(kSteps, Values(static_cast<std::size_t>(count * width)));
      for (int d = 0; d < count; ++d) {
        const std::int64_t at = l * count + d;
        const auto h_at = h0.begin() + static_cast<std::ptrdiff_t>(index(at, n, 0, kBatch, width));
        const auto c_at = c0.begin() + static_cast<std::ptrdiff_t>(index(at, n, 0, kBatch, kHidden));
        Values h(h_at, h_at + width), c(c_at, c_at + kHidden);
        for (std::int64_t k = 0; k < length; ++k) {
          const auto t = static_cast<std::size_t>(d == 1 ? length - 1 - k : k);
          reference_step(one.kind, options, layer.direction(l, d), sequence[t], h, c);
          std::copy(h.begin(), h.end(), next[t].begin() + d * width);
        }
        std::copy(h.begin(), h.end(), hn.begin() + static_cast<std::ptrdiff_t>(index(at, n, 0, kBatch, width)));
        std::copy(c.begin(), c.end(), cn.begin() + static_cast<std::ptrdiff_t>(index(at, n, 0, kBatch, kHidden)));
      }
      sequence = next;
    }
    for (std::int64_t t = 0; t < kSteps; ++t)
      std::copy(sequence[static_cast<std::size_t>(t)].begin(), sequence[static_cast<std::size_t>(t)].end(),
                output.begin() + static_cast<std::ptrdiff_t>(index(t, n, 0, kBatch, count * width)));
  }
  const auto expect = [](const Tensor& tensor, const Values& want, const char* what) {
    const Values values = tensor.to_host<double>();
    ASSERT_EQ(values.size(), want.size()) << what;
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], want[i], 1e-12) << what << " " << i;
  };
  expect(options.batch_first ? transpose(got.output, 0, 1) : got.output, output, "output");
  expect(got.h, hn, "h");
  if (one.kind == Kind::LSTM) expect(got.c, cn, "c");
  else EXPECT_FALSE(got.c.defined());

  // Gradients by the input and by every parameter, against central differences.
  const auto loss = [&](const Tensor& input) {
    const auto out = layer(options.batch_first ? transpose(input, 0, 1) : input, state);
    return sum(sin(out.output)) + sum(out.h * out.h) + (out.c.defined() ? sum(out.c * 0.5) : Tensor(0.0));
  };
  check_gradients([&](const std::vector<Tensor>& in) { return loss(in[0]); }, {x}, {.most_elements = 8});
  const auto value = [](const Tensor& t) { return t.to_host<double>()[0]; };
  for (const Parameter& parameter : parameters(layer)) {
    const Tensor was = parameter.read();
    const double analytic = value(sum(grad(loss(x), Parameters{parameter})[0])), step = 1e-5;
    parameter.assign(was + step);
    const double up = value(loss(x));
    parameter.assign(was - step);
    const double down = value(loss(x));
    parameter.assign(was);
    EXPECT_NEAR((up - down) / (2 * step), analytic, 1e-6 * std::max(1.0, std::fabs(analytic))) << parameter.name;
  }
}

class Recurrent : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Options, Recurrent,
                         testing::Values(Case{Kind::RNN, {}},
                                         Case{
                                             Kind::RNN, {.layers = 2, .bidirectional = true, .nonlinearity = nn::Nonlinearity::Relu}, true},
                                         Case{Kind::RNN, {.bias = false, .batch_first = true}, true, true}, Case{Kind::LSTM, {}},
                                         Case{Kind::LSTM, {.layers = 2, .batch_first = true, .bidirectional = true}, true},
                                         Case{Kind::LSTM, {.layers = 2, .bidirectional = true, .proj_size = 3}, true},
                                         Case{Kind::LSTM, {.bidirectional = true}, true, true},
                                         Case{Kind::LSTM, {.bidirectional = true, .proj_size = 3, .cell_clip = 0.2}, true, true},
                                         Case{Kind::GRU, {}}, Case{Kind::GRU, {.layers = 2, .bias = false, .bidirectional = true}, true},
                                         Case{Kind::GRU, {.layers = 2, .bidirectional = true}, true, true}));

TEST_P(Recurrent, IsItsEquations) {
  const Case& one = GetParam();
  if (one.kind == Kind::RNN) check_layer<nn::RNN>(one);
  if (one.kind == Kind::LSTM) check_layer<nn::LSTM>(one);
  if (one.kind == Kind::GRU) check_layer<nn::GRU>(one);
}

TEST(Lstm, ClippedCellsStayWithinTheirBounds) {
  manual_seed(3);
  nn::LSTM lstm(3, 5, {.cell_clip = 0.1});
  const Tensor x = normal({9, 4, 3}, 0, 5);
  const auto out = lstm(x);
  double greatest = 0;
  for (const double value : out.c.to_host<double>()) greatest = std::max(greatest, std::fabs(value));
  EXPECT_NEAR(greatest, 0.1, 1e-7);  // some are at the bound
  nn::LSTMCell cell(3, 5, {.cell_clip = 0.1});
  for (const double value : cell(normal({4, 3}, 0, 9), {zeros({4, 5}), full({4, 5}, 3.0)}).c.to_host<double>())
    EXPECT_LE(std::fabs(value), 0.1f);
}

TEST(Lstm, HasPyTorchsNamesAndTakesSequencesWithoutABatch) {
  nn::LSTM lstm(3, 5, {.layers = 2, .bidirectional = true});
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(lstm)) names.push_back(parameter.name);
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(names[0], "weight_ih_l0");
  EXPECT_EQ(names[3], "bias_hh_l0");
  EXPECT_EQ(names[4], "weight_ih_l0_reverse");
  EXPECT_EQ(names[12], "weight_ih_l1_reverse");
  const Tensor x = normal({7, 3});
  const auto one = lstm(x), batch = lstm(expand_dims(x, 1));
  EXPECT_EQ(one.output.shape(), (Shape{7, 10}));
  EXPECT_EQ(one.h.shape(), (Shape{4, 5}));
  EXPECT_EQ(one.output.to_host(), batch.output.to_host());
  EXPECT_EQ(one.c.to_host(), batch.c.to_host());
}

TEST(Cells, AreOneStepOfTheirLayers) {
  const Tensor x = normal({1, 3, 4}), h = normal({3, 6}), c = normal({3, 6});
  const auto same = [](nn::detail::Direction& of, const Parameters& parameters) {
    of.weight_ih = parameters[0].read(), of.weight_hh = parameters[1].read();
    of.bias_ih = parameters[2].read(), of.bias_hh = parameters[3].read();
  };
  const auto expect_equal = [](const Tensor& a, const Tensor& b) {
    const auto p = a.to_host(), q = b.to_host();
    ASSERT_EQ(p.size(), q.size());
    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(p[i], q[i], 1e-6);
  };
  nn::LSTMCell lstm_cell(4, 6);
  nn::LSTM lstm(4, 6);
  EXPECT_EQ(parameters(lstm_cell)[0].name, "weight_ih");
  same(lstm.direction(0), parameters(lstm_cell));
  const auto next = lstm_cell(squeeze(x, 0), {h, c});
  const auto all = lstm(x, {.h = expand_dims(h, 0), .c = expand_dims(c, 0)});
  expect_equal(next.h, all.h), expect_equal(next.c, all.c);
  nn::GRUCell gru_cell(4, 6);
  nn::GRU gru(4, 6);
  same(gru.direction(0), parameters(gru_cell));
  expect_equal(gru_cell(squeeze(x, 0)), gru(x).h);
  nn::RNNCell rnn_cell(4, 6, {.nonlinearity = nn::Nonlinearity::Relu});
  nn::RNN rnn(4, 6, {.nonlinearity = nn::Nonlinearity::Relu});
  same(rnn.direction(0), parameters(rnn_cell));
  expect_equal(rnn_cell(squeeze(x, 0), h), rnn(x, {.h = expand_dims(h, 0)}).h);
}

TEST(Lstm, DropsBetweenItsLayersWhileTraining) {
  nn::LSTM lstm(3, 16, {.layers = 2, .dropout = 0.5});
  const Tensor x = normal({4, 2, 3});
  eval(x);
  EXPECT_NE(lstm(x).output.to_host(), lstm(x).output.to_host());
  eval(lstm);
  EXPECT_EQ(lstm(x).output.to_host(), lstm(x).output.to_host());
}

TEST(Lstm, LearnsToRememberTheFirstOfASequence) {
  manual_seed(5);
  struct Net {
    nn::LSTM lstm{1, 16};
    nn::Linear head{16, 2};
    Tensor operator()(Tensor x) const { return head(select(lstm(x).output, 0, -1)); }
  } net;
  optim::Adam adam(parameters(net), {.lr = 0.02});
  auto step = jit([&](Tensor x, Tensor labels) {
    const Tensor loss = cross_entropy(net(x), labels);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  float last = 1;
  for (int i = 0; i < 250; ++i) {
    const Tensor x = normal({6, 64, 1});
    last = step(x, cast(select(select(x, 2, 0), 0, 0) > 0, i64)).item();
  }
  EXPECT_LT(last, 0.3f);
}

TEST(Recurrent, WhatLiesBehindALengthHasNoSayInGradientsEither) {
  manual_seed(4);
  const nn::GRU gru(3, 4, {.layers = 2, .bidirectional = true});
  const Tensor x = normal({5, 3, 3}), lengths = tensor<std::int64_t>({5, 2, 0});
  const Tensor there = unsqueeze(unsqueeze(arange(5), 1) < lengths, 2);
  const auto results = [&](double behind) {
    const Tensor given = where(there, x, behind);
    const Tensor y = gru(given, {.lengths = lengths}).output;
    std::vector<Tensor> out{y, grad(sum(square(y)), given)};
    for (const Tensor& one : grad(sum(square(y)), parameters(gru))) out.push_back(one);
    return out;
  };
  const auto expected = results(0);
  for (const double behind : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto got = results(behind);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host(), expected[i].to_host()) << i << ", " << behind;
  }
}

}  // namespace
}  // namespace tegula
