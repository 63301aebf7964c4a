// Attention layers and transformers: against numbers from PyTorch, and by their documentation. scripts/differential.py compares every option.

#include "tegula/nn/sequences/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tegula/tegula.h"
#include "tests/support/fixed_weights.h"
#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

TEST(TransformerEncoderLayer, GivesPyTorchsNumbers) {
  nn::TransformerEncoderLayer layer(8, 2,
                                    {.dim_feedforward = 12,
                                     .dropout = 0,
                                     .activation = nn::FeedForwardActivation::Gelu,
                                     .batch_first = true,
                                     .norm_first = true,
                                     .dtype = f64});
  const Parameters list = with_formula_weights(layer);
  const Tensor hidden = tensor({false, false, false, false, false, true}, {2, 3});
  expect_as_pytorch(layer(formula_data({2, 3, 8}, 1), {.src_key_padding_mask = hidden}), list,
                    {{-0.377984839279, -0.357110748846, 0.552836421069, -0.123633642092, 0.067727681181, 0.00464109275749},
                     6.5393916569524,
                     {5.26238325527, 8.99646381668, 16.3391594526, 18.7653300451, 2.21666699801, 2.0401037622, 1.60084540892, 2.06967580704,
                      6.1071889463, 9.41891392184, 16.2778621504, 23.5140773138}});
}

TEST(TransformerDecoderLayer, GivesPyTorchsNumbers) {
  nn::TransformerDecoderLayer layer(8, 2, {.dim_feedforward = 12, .dropout = 0, .dtype = f64});
  const Parameters list = with_formula_weights(layer);
  expect_as_pytorch(layer(formula_data({3, 2, 8}, 1), formula_data({4, 2, 8}, 2), {.tgt_is_causal = true}), list,
                    {{-0.0296129834955, 0.307245649801, -0.0550903498936, -0.15, 0.385055078932, 0.233678963537},
                     3.5275055951366,
                     {2.56036626524, 3.74511360815, 7.14680482064, 6.23466687091, 2.12331555141, 2.2298890862, 3.77518959998, 4.6354388166,
                      3.78968579538, 3.1686099975, 6.84133604563, 5.62483021713, 21.3389956916, 21.2897998495, 0.796375626412, 1.2418843291,
                      1.12345367118, 1.91851722769}});
}

TEST(MultiheadAttention, GivesPyTorchsNumbersAndWeights) {
  nn::MultiheadAttention layer(8, 2, {.add_bias_kv = true, .add_zero_attn = true, .kdim = 5, .vdim = 3, .dtype = f64});
  const Parameters list = with_formula_weights(layer);
  const auto y = layer(formula_data({3, 2, 8}, 1), formula_data({4, 2, 5}, 2), formula_data({4, 2, 3}, 3), {.need_weights = true});
  expect_as_pytorch(
      y.output, list,
      {{-0.236661105025, 0.138692629771, -0.0342926264337, -0.234719773343, 0.20786267095, -0.0755418297677},
       1.5177674499988,
       {0.0411291641985, 1.01199593211, 4.42759516658, 0.0593491250477, 14.6018953424, 8.0096960789, 0.103225294366, 0.98593247357}});
  EXPECT_EQ(y.weights.shape(), (Shape{2, 3, 6}));
  const auto weights = y.weights.to_host<double>();
  const double expected[] = {0.163659132407, 0.163688379932, 0.176845222241, 0.172313342305, 0.159744833118, 0.163749089996};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights[i], expected[i], 1e-11);
}

TEST(MultiheadAttention, HasPyTorchsNamesAndBeginsAsItsDoes) {
  nn::MultiheadAttention layer(6, 3);
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(layer)) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
  EXPECT_EQ(layer.in_proj_weight.shape(), (Shape{18, 6}));
  const double bound = std::sqrt(6.0 / 24);
  for (double w : layer.in_proj_weight.to_host<double>()) EXPECT_LE(std::abs(w), bound);
  EXPECT_EQ(sum(abs(layer.in_proj_bias)).item(), 0);
  EXPECT_EQ(sum(abs(layer.out_proj.bias)).item(), 0);
}

TEST(MultiheadAttention, DropsWeightsWhileTraining) {
  nn::MultiheadAttention layer(8, 2, {.dropout = 0.5});
  const Tensor x = normal({5, 2, 8});
  eval(x);
  const auto run = [&] { return layer(x, x, x).output.to_host(); };
  EXPECT_NE(run(), run());
  eval(layer);
  EXPECT_EQ(run(), run());
}

TEST(TransformerEncoderLayer, TakesSwiGlu) {
  nn::TransformerEncoderLayer layer(8, 2,
                                    {.dim_feedforward = 12, .dropout = 0, .activation = nn::FeedForwardActivation::SwiGLU, .dtype = f64});
  EXPECT_EQ(layer.linear1.weight.shape(), (Shape{24, 8}));
  const Tensor x = normal({3, 2, 8}, 0, 1, {.dtype = f64});
  eval(x);
  const Tensor y = layer.norm1(x + layer.self_attn(x, x, x).output), both = layer.linear1(y);
  const Tensor gate = slice(both, 2, {0, 12}), up = slice(both, 2, {12, {}});
  expect_close(layer(x), layer.norm2(y + layer.linear2(gate * sigmoid(gate) * up)).to_host<double>(), 1e-12);
}

TEST(TransformerEncoderLayer, TakesTheTanhFormOfGelu) {
  nn::TransformerEncoderLayer layer(8, 2,
                                    {.dim_feedforward = 12, .dropout = 0, .activation = nn::FeedForwardActivation::GeluTanh, .dtype = f64});
  const Tensor x = normal({3, 2, 8}, 0, 1, {.dtype = f64});
  eval(x);
  const Tensor y = layer.norm1(x + layer.self_attn(x, x, x).output);
  const Tensor expected = layer.norm2(y + layer.linear2(gelu(layer.linear1(y), Approximate::Tanh)));
  expect_close(layer(x), expected.to_host<double>(), 1e-12);
}

TEST(AdditiveAttention, IsBahdanausFormula) {
  nn::AdditiveAttention attention(3, 4, 5, {.dtype = f64});
  const Tensor q = normal({2, 2, 3}, 0, 1, {.dtype = f64}), k = normal({2, 6, 4}, 0, 1, {.dtype = f64});
  eval(q, k);
  const auto got = attention(q, k, {}, {.lengths = tensor<std::int64_t>({6, 2})});
  const auto wq = matmul(q, transpose(attention.query_layer.weight)).to_host<double>();
  const auto wk = matmul(k, transpose(attention.key_layer.weight)).to_host<double>(), keys = k.to_host<double>();
  const auto v = attention.energy_layer.weight.to_host<double>();
  std::vector<double> weights, context;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t m = 0; m < 2; ++m) {
      const std::size_t length = n == 0 ? 6 : 2;
      std::vector<double> e(6);
      double total = 0;
      for (std::size_t s = 0; s < length; ++s) {
        double score = 0;
        for (std::size_t h = 0; h < 5; ++h) score += v[h] * std::tanh(wq[(n * 2 + m) * 5 + h] + wk[(n * 6 + s) * 5 + h]);
        total += e[s] = std::exp(score);
      }
      for (double& x : e) weights.push_back(x / total);
      for (std::size_t f = 0; f < 4; ++f) {
        double sum = 0;
        for (std::size_t s = 0; s < 6; ++s) sum += e[s] / total * keys[(n * 6 + s) * 4 + f];
        context.push_back(sum);
      }
    }
  }
  expect_close(got.weights, weights, 1e-12);
  expect_close(got.context, context, 1e-12);
  // The keys' part may be computed once.
  expect_close(attention.with_projected(q, attention.project(k), k, {.lengths = tensor<std::int64_t>({6, 2})}).context, context, 1e-12);
}

TEST(GeneralAttention, IsLuongsFormula) {
  nn::GeneralAttention attention(3, 4, f64);
  const Tensor q = normal({2, 2, 3}, 0, 1, {.dtype = f64}), k = normal({2, 6, 4}, 0, 1, {.dtype = f64}),
               v = normal({2, 6, 7}, 0, 1, {.dtype = f64});
  eval(q, k, v);
  const auto got = attention(q, k, v);
  const Tensor weights = softmax(matmul(matmul(q, attention.key_layer.weight), transpose(k)));
  expect_close(got.weights, weights.to_host<double>(), 1e-12);
  expect_close(got.context, matmul(weights, v).to_host<double>(), 1e-12);
}

TEST(DotAttention, IsTheTransformersWithItsScale) {
  const Tensor q = normal({2, 3, 4}, 0, 1, {.dtype = f64}), k = normal({2, 6, 4}, 0, 1, {.dtype = f64}),
               v = normal({2, 6, 5}, 0, 1, {.dtype = f64});
  eval(q, k, v);
  const Tensor lengths = tensor<std::int64_t>({6, 2}), mask = iota({3, 6}, 1) != iota({3, 6}, 0);
  const auto got = nn::dot_attention(q, k, v, {.lengths = lengths, .mask = mask}, 0.5);
  expect_close(
      got.context,
      scaled_dot_product_attention(unsqueeze(q, 1), unsqueeze(k, 1), unsqueeze(v, 1), {.mask = mask, .lengths = lengths}).to_host<double>(),
      1e-12);
  expect_close(nn::dot_attention(q, k, v).weights, softmax(matmul(q, transpose(k)), -1).to_host<double>(), 1e-12);
}

TEST(SequenceAttention, SeesWhatMaskAndLengthsShow) {
  nn::AdditiveAttention additive(3, 3, 4, {.dtype = f64});
  nn::GeneralAttention general(3, 3, f64);
  const Tensor q = normal({2, 2, 3}, 0, 1, {.dtype = f64}), k = normal({2, 5, 3}, 0, 1, {.dtype = f64});
  eval(q, k);
  const Tensor lengths = tensor<std::int64_t>({4, 0}), mask = iota({2, 1, 5}, 2) != full({2, 1, 5}, 1);  // not the second
  for (const auto& attend : {std::function([&](const nn::Attendable& seen) { return additive(q, k, {}, seen); }),
                             std::function([&](const nn::Attendable& seen) { return general(q, k, {}, seen); }),
                             std::function([&](const nn::Attendable& seen) { return nn::dot_attention(q, k, k, seen); })}) {
    const auto all = attend({}).weights.to_host<double>(), some = attend({.lengths = lengths, .mask = mask}).weights.to_host<double>();
    for (std::size_t row = 0; row < 4; ++row) {
      double seen = 0;
      for (const std::size_t s : {0, 2, 3}) seen += all[row * 5 + s];
      for (std::size_t s = 0; s < 5; ++s) {
        const bool visible = row < 2 && (s == 0 || s == 2 || s == 3);
        EXPECT_NEAR(some[row * 5 + s], visible ? all[row * 5 + s] / seen : 0, 1e-12) << row << " " << s;
      }
    }
    // A query that sees nothing gets zeros, and finite gradients.
    expect_close(select(attend({.lengths = lengths}).context, 0, 1), std::vector<double>(6, 0.0), 2e-6);
    for (const double d : grad(sum(square(attend({.lengths = lengths}).context)), k).to_host<double>()) EXPECT_TRUE(std::isfinite(d));
  }
  check_gradients([&](const std::vector<Tensor>& x) { return additive(x[0], x[1], {}, {.lengths = lengths, .mask = mask}).context; },
                  {q, k});
}

TEST(SequenceAttention, RefusesMasksAndLengthsThatDoNotFit) {
  nn::AdditiveAttention additive(3, 3, 4);
  nn::GeneralAttention general(3, 3);
  const Tensor q = ones({2, 2, 3}), k = ones({2, 5, 3});
  EXPECT_HAS_MESSAGE(additive(q, k, {}, {.lengths = tensor<std::int64_t>({5, 6})}).context.to_host(),
                     "a length of 6, expected 0 to the 5 keys");
  EXPECT_HAS_MESSAGE(general(q, k, {}, {.lengths = tensor<std::int64_t>({-1, 5})}).context.to_host(), "a length of -1");
  EXPECT_HAS_MESSAGE(general(q, k, {}, {.lengths = ones({3}, i64)}),
                     "lengths of shape (3,) and dtype i64, expected integers of shape (2,)");
  EXPECT_HAS_MESSAGE(additive(q, k, {}, {.lengths = ones({2})}), "dtype f32");
  EXPECT_HAS_MESSAGE(additive(q, k, {}, {.mask = cast(ones({2, 4}), boolean)}), "a mask of shape (2, 4)");
  EXPECT_HAS_MESSAGE(general(q, k, {}, {.mask = ones({5})}), "booleans that broadcast to (2, 2, 5)");
  EXPECT_HAS_MESSAGE(additive(q, k, ones({2, 4, 3})), "queries, keys and values");
  EXPECT_HAS_MESSAGE(nn::dot_attention(q, ones({2, 5, 4}), k), "(2, 5, 4)");
  EXPECT_HAS_MESSAGE(masked_softmax(ones({5})), "floats (…, M, N)");
}

TEST(SinusoidalPositions, AreSinesAndCosines) {
  const auto table = nn::sinusoidal_positions(50, 8, f64).to_host<double>();
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      const double angle = static_cast<double>(i) / std::pow(10000.0, 2.0 * static_cast<double>(k) / 8);
      EXPECT_NEAR(table[i * 8 + 2 * k], std::sin(angle), 1e-13);
      EXPECT_NEAR(table[i * 8 + 2 * k + 1], std::cos(angle), 1e-13);
    }
  }
  const nn::SinusoidalPositions add(50, 8);
  const auto sums = add(zeros({2, 3, 8})).to_host<double>();
  for (std::size_t i = 0; i < 48; ++i) EXPECT_NEAR(sums[i], table[i % 24], 1e-7);
}

TEST(Rotary, MakesProductsDependOnDistancesAlone) {
  for (const bool interleaved : {false, true}) {
    const nn::Rotary rotary(8, {.interleaved = interleaved});
    const Tensor q = normal({1, 1, 2, 8}, 0, 1, {.dtype = f64}), k = normal({1, 1, 2, 8}, 0, 1, {.dtype = f64});
    eval(q, k);
    const auto product = [&](std::int64_t i, std::int64_t j) {
      return sum(rotary(q, tensor<std::int64_t>({i})) * rotary(k, tensor<std::int64_t>({j})), -1).to_host<double>();
    };
    const auto near = product(7, 4), far = product(507, 504), other = product(7, 5);
    for (std::size_t h = 0; h < 2; ++h) {
      EXPECT_NEAR(near[h], far[h], 1e-10);
      EXPECT_GT(std::abs(near[h] - other[h]), 1e-4);
    }
    expect_close(rotary(q, tensor<std::int64_t>({0})), q.to_host<double>(), 1e-15);
  }
}

TEST(Rotary, FrequenciesAreScaledAsLlama31s) {
  const nn::Rotary rotary(16, {.scaling = {.factor = 8, .original_context = 64}});  // values of Transformers 5.23
  const std::vector<double> expected{1.0,
                                     0.24438458681106567,
                                     0.013042256236076355,
                                     0.0039528473280370235,
                                     0.0012499999720603228,
                                     0.00039528473280370235,
                                     0.0001250000059371814,
                                     3.9528473280370235e-05};
  const auto got = rotary.frequencies().to_host<double>();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-7 * expected[i]) << i;
  const nn::Rotary linear(16, {.scaling = {.factor = 4}}), plain(16);
  expect_close(linear.frequencies() * 4.0, plain.frequencies().to_host<double>(), 1e-15);
  EXPECT_THROW(nn::Rotary(16, {.scaling = {.factor = 0}}), Error);
  EXPECT_THROW(nn::Rotary(16, {.scaling = {.factor = 8, .original_context = 64, .low_freq_factor = 4}}), Error);
}

TEST(Alibi, HasThePublishedSlopes) {
  const auto eight = nn::alibi_slopes(8).to_host<double>();
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(eight[k], std::exp2(-static_cast<double>(k + 1)), 1e-15);
  // The values of the authors' get_slopes(12).
  const double twelve[] = {0.5,
                           0.25,
                           0.125,
                           0.0625,
                           0.03125,
                           0.015625,
                           0.0078125,
                           0.00390625,
                           0.7071067811865476,
                           0.35355339059327384,
                           0.17677669529663692,
                           0.08838834764831849};
  const auto got = nn::alibi_slopes(12).to_host<double>();
  for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(got[k], twelve[k], 1e-15);
  EXPECT_EQ(nn::alibi_bias(4, 7).shape(), (Shape{4, 1, 7}));
}

TEST(LearnedPositions, RefuseSequencesThatAreTooLong) {
  const nn::LearnedPositions positions(4, 6);
  EXPECT_EQ(positions(zeros({2, 4, 6})).shape(), (Shape{2, 4, 6}));
  EXPECT_THROW(positions(zeros({2, 5, 6})), Error);
}

}  // namespace
}  // namespace tegula
