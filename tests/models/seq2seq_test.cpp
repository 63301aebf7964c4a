// The recurrent translator against its equations as loops over doubles, values and gradients; it learns a task, and its generator solves it.

#include "tegula/models/text/seq2seq.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tegula/models/text/beam.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using Values = std::vector<double>;
using Tokens = std::vector<std::int64_t>;
using models::Alignment;

constexpr Alignment kAlignments[]{Alignment::Additive, Alignment::General, Alignment::Dot};

models::Seq2SeqOptions tiny(Alignment alignment, std::int64_t layers) {
  return {.source_vocabulary = 7,
          .target_vocabulary = 6,
          .embedding = 3,
          .hidden = 2,
          .layers = layers,
          .dropout = 0,
          .alignment = alignment,
          .dtype = f64};
}

/// The net in loops, over weights by name.
struct Loops {
  models::Seq2SeqOptions o;
  std::map<std::string, Values> w;
  std::size_t E() const { return static_cast<std::size_t>(o.embedding); }
  std::size_t H() const { return static_cast<std::size_t>(o.hidden); }

  /// weight · x + bias.
  Values affine(const std::string& name, const Values& x, const std::string& bias = "") const {
    const Values& m = w.at(name);
    Values y = bias.empty() ? Values(m.size() / x.size(), 0.0) : w.at(bias);
    for (std::size_t r = 0; r < y.size(); ++r)
      for (std::size_t k = 0; k < x.size(); ++k) y[r] += m[r * x.size() + k] * x[k];
    return y;
  }
  Values row(const std::string& name, std::int64_t i) const {
    const auto from = w.at(name).begin() + i * o.embedding;
    return {from, from + o.embedding};
  }
  static Values joined(std::initializer_list<Values> parts) {
    Values out;
    for (const Values& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }
  /// i, f, g, o of two products.
  static void cell(const Values& a, const Values& b, Values& h, Values& c) {
    const auto sigma = [](double x) { return 1 / (1 + std::exp(-x)); };
    const std::size_t n = h.size();
    for (std::size_t k = 0; k < n; ++k) {
      const auto z = [&](std::size_t gate) { return a[gate * n + k] + b[gate * n + k]; };
      c[k] = sigma(z(1)) * c[k] + sigma(z(0)) * std::tanh(z(2));
      h[k] = sigma(z(3)) * std::tanh(c[k]);
    }
  }
  static Values tanh_of(Values x) {
    for (double& v : x) v = std::tanh(v);
    return x;
  }

  std::vector<Values> weights;  // for the last sentence, per step

  /// The scores of all tokens at each step.
  std::vector<Values> operator()(const Tokens& source, const Tokens& target) {
    std::vector<Values> sequence;
    for (const auto token : source) sequence.push_back(row("source_embedding.weight", token));
    std::vector<Values> h0, c0;
    for (std::int64_t layer = 0; layer < o.layers; ++layer) {
      std::vector<Values> next(sequence.size(), Values(2 * H()));
      Values last_h, last_c;
      for (const bool back : {false, true}) {
        const std::string end = "_l" + std::to_string(layer) + (back ? "_reverse" : ""), name = "encoder.";
        Values h(H()), c(H());
        for (std::size_t k = 0; k < sequence.size(); ++k) {
          const std::size_t t = back ? sequence.size() - 1 - k : k;
          cell(affine(name + "weight_ih" + end, sequence[t], name + "bias_ih" + end),
               affine(name + "weight_hh" + end, h, name + "bias_hh" + end), h, c);
          std::copy(h.begin(), h.end(), next[t].begin() + (back ? o.hidden : 0));
        }
        last_h = joined({last_h, h}), last_c = joined({last_c, c});
      }
      h0.push_back(tanh_of(affine("bridge_h.weight", last_h, "bridge_h.bias")));
      c0.push_back(affine("bridge_c.weight", last_c, "bridge_c.bias"));
      sequence = next;
    }
    const auto context = [&](const Values& query) {
      Values e;
      double total = 0;
      for (const Values& annotation : sequence) {
        double score = 0;
        if (o.alignment == Alignment::Additive) {
          Values q = affine("additive.query_layer.weight", query, "additive.query_layer.bias"),
                 k = affine("additive.key_layer.weight", annotation, "additive.key_layer.bias");
          for (std::size_t i = 0; i < q.size(); ++i) score += w.at("additive.energy_layer.weight")[i] * std::tanh(q[i] + k[i]);
        } else if (o.alignment == Alignment::General) {
          const Values k = affine("general.key_layer.weight", annotation);
          for (std::size_t i = 0; i < k.size(); ++i) score += query[i] * k[i];
        } else {
          for (std::size_t i = 0; i < H(); ++i) score += query[i] * (annotation[i] + annotation[H() + i]);
        }
        e.push_back(std::exp(score));
        total += e.back();
      }
      Values out(2 * H());
      for (std::size_t s = 0; s < e.size(); ++s) {
        e[s] /= total;
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += e[s] * sequence[s][i];
      }
      weights.push_back(e);
      return out;
    };
    weights.clear();
    Values fed(E());
    std::vector<Values> scores;
    for (const auto token : target) {
      const Values word = row("target_embedding.weight", token);
      Values seen, in;
      const bool additive = o.alignment == Alignment::Additive;
      if (additive) seen = context(h0.back()), in = joined({word, seen});
      else in = joined({word, fed});
      for (std::size_t layer = 0; layer < h0.size(); ++layer) {
        const std::string name = "decoder." + std::to_string(layer) + ".";
        cell(affine(name + "weight_ih", in, name + "bias_ih"), affine(name + "weight_hh", h0[layer], name + "bias_hh"), h0[layer],
             c0[layer]);
        in = h0[layer];
      }
      if (!additive) seen = context(in);
      fed = tanh_of(affine("combine.weight", additive ? joined({in, seen, word}) : joined({in, seen}), "combine.bias"));
      scores.push_back(affine("target_embedding.weight", fed));
    }
    return scores;
  }
};

const std::vector<Tokens> kSources{{1, 4, 6, 2, 5}, {3, 2}};
const std::vector<Tokens> kTargets{{1, 3, 5, 4}, {1, 2, 2, 3}};

/// Scores times fixed numbers, added up.
double sum_of(Loops& loops) {
  double sum = 0, factor = 0.3;
  for (std::size_t n = 0; n < 2; ++n) {
    for (const Values& step : loops(kSources[n], kTargets[n]))
      for (const double score : step) sum += score * (factor = std::fmod(factor * 1.7 + 0.4, 1.0));
  }
  return sum;
}

class Seq2SeqLoops : public ::testing::TestWithParam<std::pair<Alignment, int>> {};

TEST_P(Seq2SeqLoops, ValuesWeightsAndGradients) {
  manual_seed(4);
  const auto [alignment, layers] = GetParam();
  const models::Seq2Seq net(tiny(alignment, layers));
  Parameters all = parameters(const_cast<models::Seq2Seq&>(net));
  Loops loops{net.options(), {}, {}};
  for (const Parameter& parameter : all) {
    parameter.assign(parameter.read() * 1.5);
    loops.w[parameter.name] = parameter.read().to_host<double>();
  }
  const Tensor source = tensor<std::int64_t>({1, 4, 6, 2, 5, 3, 2, 6, 1, 0}, {2, 5}), lengths = tensor<std::int64_t>({5, 2});
  const Tensor target = tensor<std::int64_t>({1, 3, 5, 4, 1, 2, 2, 3}, {2, 4});
  const Tensor scores = net(source, target, lengths);  // (2, 4, 6)
  const auto values = scores.to_host<double>(), weights = net.attention(source, target, lengths).to_host<double>();
  for (std::size_t n = 0; n < 2; ++n) {
    const auto expected = loops(kSources[n], kTargets[n]);
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t v = 0; v < 6; ++v) ASSERT_NEAR(values[(n * 4 + t) * 6 + v], expected[t][v], 1e-12) << n << " " << t << " " << v;
      for (std::size_t s = 0; s < 5; ++s)
        ASSERT_NEAR(weights[(n * 4 + t) * 5 + s], s < loops.weights[t].size() ? loops.weights[t][s] : 0, 1e-12);
    }
  }
  Values factors;
  double factor = 0.3;
  for (int i = 0; i < 48; ++i) factors.push_back(factor = std::fmod(factor * 1.7 + 0.4, 1.0));
  const auto gradients = grad(sum(scores * tensor(factors, {2, 4, 6})), all);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const auto got = gradients[p].to_host<double>();
    Values& w = loops.w[all[p].name];
    for (std::size_t i = 0; i < w.size(); i += 1 + w.size() / 12) {
      const double before = w[i], step = 1e-5;
      w[i] = before + step;
      const double above = sum_of(loops);
      w[i] = before - step;
      const double below = sum_of(loops);
      w[i] = before;
      ASSERT_NEAR(got[i], (above - below) / (2 * step), 1e-7 * std::max(1.0, std::abs(got[i]))) << all[p].name << " " << i;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Seq2SeqLoops,
                         ::testing::Values(std::pair(Alignment::Additive, 1), std::pair(Alignment::Additive, 2),
                                           std::pair(Alignment::General, 1), std::pair(Alignment::General, 2),
                                           std::pair(Alignment::Dot, 1)));

TEST(Seq2Seq, LearnsToTurnSequencesAround) {
  for (const Alignment alignment : kAlignments) {
    manual_seed(1);
    models::Seq2Seq net(
        {.source_vocabulary = 12, .target_vocabulary = 12, .embedding = 24, .hidden = 24, .dropout = 0, .alignment = alignment});
    optim::Adam adam(parameters(net), {.lr = 1e-2});
    auto step = jit([&](Tensor source) {  // (N, 5) of 3 … 11; 1 begins a target and 2 ends it
      const std::int64_t n = source.size(0);
      const Tensor target = concat({ones({n, 1}, i64), flip(source, {1}), full({n, 1}, 2)}, 1);
      const Tensor scores = net(source, slice(target, 1, {0, -1}));
      const Tensor loss = cross_entropy(reshape(scores, {n * 6, 12}), reshape(slice(target, 1, {1, {}}), {n * 6}));
      adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
      return loss;
    });
    float loss = 9;
    for (int i = 0; i < 300; ++i) loss = step(randint(3, 12, {64, 5})).item();
    EXPECT_LT(loss, 0.2f) << static_cast<int>(alignment);
    eval(net);
    const Tensor test = randint(3, 12, {6, 5});
    const auto host = test.to_host<std::int64_t>();
    std::vector<Tokens> sources, expected;
    for (std::ptrdiff_t i = 0; i < 6; ++i) {
      sources.emplace_back(host.begin() + 5 * i, host.begin() + 5 * i + 5);
      expected.emplace_back(sources.back().rbegin(), sources.back().rend());
    }
    for (const std::int64_t beams : {1, 4}) {
      models::Seq2SeqGenerator translate(net, 6, 6, {.beams = beams, .max_new_tokens = 10});
      const auto got = translate(sources);
      int right = 0;
      for (std::size_t i = 0; i < 6; ++i) right += got[i].tokens == expected[i];
      EXPECT_GE(right, 5) << beams << " beams";
      EXPECT_EQ(translate({sources[3]})[0].tokens, got[3].tokens);
    }
  }
}

TEST(BestCandidates, AreThoseOfTheWholeVocabulary) {
  manual_seed(5);
  for (const std::int64_t vocabulary : {7, 100, 2048, 2500, 4001}) {
    const Tensor scores = normal({3, vocabulary}, 0, 3);
    eval(scores);
    for (const std::int64_t count : {2, 10}) {
      const models::Candidates best = models::best_candidates(scores, count);
      const auto [values, tokens] = topk(log_softmax(scores, 1), std::min(count, vocabulary), 1);
      EXPECT_EQ(best.tokens.to_host<std::int64_t>(), tokens.to_host<std::int64_t>()) << vocabulary << " " << count;
      const auto got = best.values.to_host(), want = values.to_host();
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
    }
  }
  // Scores of -inf are candidates like others where nothing else is left.
  const Tensor one = where(iota({1, 3009}, 1) == full({1, 3009}, 3008), 0.0, -std::numeric_limits<double>::infinity());
  const auto tokens = models::best_candidates(one, 2).tokens.to_host<std::int64_t>();
  EXPECT_EQ(tokens[0], 3008);
  EXPECT_LT(tokens[1], 3009);
}

TEST(Seq2Seq, OnePlanHoldsOneStep) {
  if (default_device().number() != 0) GTEST_SKIP() << "a GPU compiles so short loops written out";
  const models::Seq2Seq net(tiny(Alignment::Additive, 1));
  auto forward = jit([&](Tensor source, Tensor target) { return net(source, target); });
  forward(ones({2, 40}, i64), ones({2, 30}, i64));
  const std::string plan = forward.print_plan();
  EXPECT_NE(plan.find("scan [40 x "), std::string::npos) << plan;
  EXPECT_NE(plan.find("scan [30 x "), std::string::npos) << plan;
}

TEST(Seq2Seq, RefusesWhatDoesNotFit) {
  const models::Seq2Seq net(tiny(Alignment::Additive, 1));
  const Tensor source = ones({2, 5}, i64), target = ones({2, 3}, i64);
  EXPECT_HAS_MESSAGE(net(source, target, tensor<std::int64_t>({5, 6})).to_host(), "LSTM: got a length of 6, expected 0 to the 5 steps");
  EXPECT_HAS_MESSAGE(net(source, target, ones({3}, i64)), "lengths of shape (3,)");
  EXPECT_HAS_MESSAGE(net(ones({5}, i64), target), "integers (batch, length)");
  EXPECT_HAS_MESSAGE(net(full({2, 5}, 7), target).to_host(), "7");
  EXPECT_HAS_MESSAGE(models::Seq2Seq({.hidden = 0}), "hidden");
  EXPECT_HAS_MESSAGE(models::Seq2Seq({.source_vocabulary = 9, .target_vocabulary = 8, .tied = models::Tied::All}),
                     "one, for one embedding");
  models::Seq2SeqGenerator translate(net, 2, 4);
  EXPECT_HAS_MESSAGE(translate({{1, 2, 3, 4, 5}}), "a source of 5 tokens");
  EXPECT_HAS_MESSAGE(translate({{}}), "a source of 0 tokens");
  EXPECT_HAS_MESSAGE(translate({{1}, {1}, {1}}), "3 sources");
}

}  // namespace
}  // namespace tegula
