// GPT-2, Llama and BERT with numbers that PyTorch gave for the same nets.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/models/text/bert.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/llama.h"
#include "tegula/tegula.h"
#include "tests/support/fixed_weights.h"
#include "tests/support/occurrences.h"

namespace tegula {
namespace {

const Tensor& tokens() {
  static const Tensor t = tensor<std::int64_t>({1, 5, 12, 0, 7, 3, 3, 9, 2, 11}, {2, 5});
  return t;
}

TEST(Gpt2, GivesPyTorchsNumbers) {
  models::Gpt2 net({.vocabulary = 13, .width = 8, .layers = 2, .heads = 2, .context = 8, .dtype = f64});
  const Parameters list = with_formula_weights(net);
  EXPECT_EQ(list[0].name, "h.0.attn.c_attn.bias");
  expect_as_pytorch(net(tokens()), list,
                    {{-0.0197634792523, 0.0898228783557, 0.229823020112, 0.262492410639, 0.0389199828001, -0.0607141912865},
                     2.4184558851409,
                     {2.75170101299, 2.97977303609, 6.62079522849, 7.22353014296,  0.813916655137, 0.396224218932, 2.3197522094,
                      1.39789759822, 7.02896341171, 5.67043639144, 6.85311828706,  17.7975472155,  3.51715267025,  6.04191207849,
                      7.07601361283, 6.84046518201, 1.05718718959, 0.807390601218, 1.93224423781,  1.37346483887,  7.05051626078,
                      6.48364392586, 6.57766717131, 10.0352908717, 21.8143457497,  14.4056706507,  6.54825949717,  46.0983941202}});
}

TEST(Gpt2, HasTheSizeOfThePublishedModel) { EXPECT_EQ(num_parameters(models::Gpt2()), 124439808); }

TEST(Gpt2, TakesTheNamesOfHuggingFace) {
  models::Gpt2 net({.vocabulary = 13, .width = 8, .layers = 1, .heads = 2, .context = 8});
  StateDict state;
  for (const NamedTensor& one : state_dict(net)) {
    eval(one.value);  // else the first call computes it as well, and may round otherwise
    state.push_back({"transformer." + one.name, one.value});
  }
  state.push_back({"transformer.h.0.attn.bias", Tensor(0.0f)});
  state.push_back({"lm_head.weight", net.wte.weight});
  models::Gpt2 other(net.options());
  load(other, models::gpt2_state(state));
  EXPECT_EQ(other(tokens()).to_host(), net(tokens()).to_host());
}

TEST(Gpt2, ComputesLayersAgainInsteadOfKeepingThem) {
  models::Gpt2Options options{.vocabulary = 13, .width = 16, .layers = 4, .heads = 2, .context = 8, .dropout = 0.2};
  const models::Gpt2 kept(options);
  options.checkpoint_layers = true;
  models::Gpt2 again(options);
  load(again, state_dict(kept));
  const auto step = [](const models::Gpt2& net, std::string* memory) {
    manual_seed(7);  // the same dropout
    auto compiled = jit([&](const Tensor& t) { return grad(mean(square(net(t))), parameters(net)); });
    std::vector<std::vector<float>> values;
    for (const Tensor& gradient : compiled(tokens())) values.push_back(gradient.to_host());
    *memory = compiled.print_graph();
    return values;
  };
  std::string graph, graph_again;
  const auto expected = step(kept, &graph), got = step(again, &graph_again);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    for (std::size_t k = 0; k < got[i].size(); ++k) ASSERT_NEAR(got[i][k], expected[i][k], 1e-5 * (1 + std::abs(expected[i][k]))) << i;
  }
  EXPECT_GT(test::occurrences(graph_again, "matmul"), test::occurrences(graph, "matmul"))
      << "forward products stand in the backward pass, too";
}

TEST(Gpt2, KeepsTheResidualStreamInHalf) {
  models::Gpt2Options options{.vocabulary = 13, .width = 8, .layers = 2, .heads = 2, .context = 8, .residual = bf16};
  const models::Gpt2 net(options);
  const auto rounded = [](const Tensor& x) { return cast(cast(x, bf16), f32); };
  Tensor x = rounded(net.wte(tokens()) + slice(net.wpe.weight, 0, {0, 5}));
  for (const auto& block : net.h) {
    x = rounded(x + block.attn(block.ln_1(x), nullptr, 0));
    x = rounded(x + block.mlp(block.ln_2(x)));
  }
  const auto got = net.hidden(tokens()).to_host(), want = net.ln_f(x).to_host();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
  // Gradients reach everything, about as in f32.
  options.residual = std::nullopt;
  models::Gpt2 whole(options);
  load(whole, state_dict(net));
  const auto gradients = [](const models::Gpt2& one) {
    std::vector<std::vector<float>> out;
    for (const Tensor& g : grad(sum(sin(one.hidden(tokens()) * 3.0)), parameters(one))) out.push_back(g.to_host());
    return out;
  };
  const auto half = gradients(net), full = gradients(whole);
  double difference = 0, size = 0;
  for (std::size_t p = 0; p < half.size(); ++p) {
    for (std::size_t i = 0; i < half[p].size(); ++i) {
      difference += std::pow(half[p][i] - full[p][i], 2), size += std::pow(full[p][i], 2);
    }
  }
  EXPECT_GT(difference, 0);
  EXPECT_LT(std::sqrt(difference / size), 0.03);
  EXPECT_THROW(models::Gpt2({.width = 8, .heads = 2, .residual = i64}), Error);
}

TEST(Llama, GivesPyTorchsNumbers) {
  models::Llama net({.vocabulary = 13, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 12, .context = 8, .dtype = f64});
  const Parameters list = with_formula_weights(net);
  EXPECT_EQ(list[0].name, "lm_head.weight");
  EXPECT_EQ(list[2].name, "model.layers.0.input_layernorm.weight");
  expect_as_pytorch(net(tokens()), list,
                    {{0.0785470011032, 0.224056792121, 0.178912776796, -0.194635276443, -0.237447452983, -0.0402436357887},
                     2.2755036589917,
                     {36.9318886185,   28.9180954798,  4.45966078815,   0.550812259147, 0.834055456025,  0.742602548277, 0.685465427589,
                      0.0607795617657, 15.7672584161,  0.0939977143879, 11.6795977692,  3.11234005181,   0.703825686197, 0.7368499131,
                      0.881758493796,  0.563900405094, 0.0266524931371, 6.62821154721,  0.0182888076355, 7.94082603984,  22.9303715641}});
}

TEST(Bert, GivesPyTorchsNumbers) {
  models::BertForMaskedLM net(
      {.vocabulary = 13, .width = 8, .layers = 2, .heads = 2, .hidden = 12, .context = 8, .dropout = 0, .dtype = f64});
  const Parameters list = with_formula_weights(net);
  EXPECT_EQ(list[0].name, "bert.embeddings.LayerNorm.bias");
  const models::BertInput input{.lengths = tensor<std::int64_t>({5, 3}),
                                .token_types = tensor<std::int64_t>({0, 0, 1, 1, 1, 0, 1, 1, 0, 0}, {2, 5})};
  expect_as_pytorch(
      net(tokens(), input), list,
      {{-0.202086304344, 0.210632924724, -0.00914784620755, -0.0926369999856, 0.0746591388377, -0.241033920092},
       3.2168970854544,
       {0.0431169863787,   0.0394694822871, 0.0191787713706,   0.0179472376428,   53.097129685,      0.217907023354,    0.217299935274,
        0.0431916834131,   0.0646294367039, 2.31345873719e-20, 2.08441156501e-05, 2.25613766377e-05, 2.85126607149e-05, 0.0128437685494,
        0.0148471465407,   0.0676949484319, 0.0869964315197,   0.451888853628,    0.42357050492,     0.213611074586,    0.185034772818,
        0.910576311554,    0.752289346669,  0.454838851153,    0.585442216023,    7.67623608449e-20, 7.56900694748e-06, 4.48738532587e-06,
        6.69905554698e-06, 0.257246683664,  0.383922324101,    0.435582587853,    0.585876100293,    2.17161899934,     1.92866316795,
        0.88707103744,     0.900193722017,  34.2180790803,     9.64777525532,     8.03260273658,     3.78153355199,     6.52211267361}});
}

TEST(Bert, HasTheSizeOfThePublishedModel) { EXPECT_EQ(num_parameters(models::Bert()), 109482240); }

TEST(Bert, ClassifiesWholeSequences) {
  models::BertForSequenceClassification net({.vocabulary = 13, .width = 8, .layers = 1, .heads = 2, .hidden = 12, .context = 8}, 3);
  eval(net);
  EXPECT_EQ(net(tokens()).shape(), (Shape{2, 3}));
  // Tokens after the length have no effect.
  const Tensor lengths = tensor<std::int64_t>({5, 3}), other = tensor<std::int64_t>({1, 5, 12, 0, 7, 3, 3, 9, 8, 8}, {2, 5});
  const auto a = net(tokens(), {.lengths = lengths}).to_host(), b = net(other, {.lengths = lengths}).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
}

TEST(Bert, TakesTheNamesOfPublishedFiles) {
  const models::BertOptions options{.vocabulary = 13, .width = 8, .layers = 1, .heads = 2, .hidden = 12, .context = 8};
  models::BertForMaskedLM net(options), other(options);
  StateDict state;
  for (NamedTensor one : state_dict(net)) {
    const bool norm = one.name.find("LayerNorm") != std::string::npos;
    if (norm && one.name.ends_with(".weight")) one.name.replace(one.name.size() - 6, 6, "gamma");
    if (norm && one.name.ends_with(".bias")) one.name.replace(one.name.size() - 4, 4, "beta");
    state.push_back(one);
  }
  for (const char* name :
       {"bert.embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "cls.seq_relationship.weight"})
    state.push_back({name, Tensor(0.0f)});
  const auto expect_same = [](const StateDict& a, const StateDict& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].value.to_host(), b[i].value.to_host()) << a[i].name;
  };
  load(other, models::bert_state(state));
  expect_same(state_dict(other), state_dict(net));

  models::Bert bare(options, models::Bert::Pooling::No);
  load(bare, models::bert_state(state, ""));
  expect_same(state_dict(bare), state_dict(net.bert));
  models::BertForMaskedLM headless(options);
  EXPECT_EQ(load(headless, models::bert_state(state_dict(bare)), Strict::No).missing.size(), state_dict(net.cls).size());
}

}  // namespace
}  // namespace tegula
