// Ranks that share out layers compute the values of a single process.

#include "tegula/nn/tensor_parallel.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/dist/collectives/partition.h"
#include "tests/dist/small_gpt.h"
#include "tests/dist/trainings.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

using dist::ColwiseParallel;
using dist::Placement;
using dist::RowwiseParallel;
using dist::SequenceParallel;
using dist::Steps;
using dist::VocabularyParallel;
using test::Gpt;
using test::kWords;
using test::loss_of_words;
using test::plan_of_gpt;
using test::sentences;

std::vector<double> doubles(const Tensor& x) { return cast(x, f64).to_host<double>(); }

/// The results of a network, its loss, and the whole gradients of that, by the names of the parameters; "x" is the input's.
using Results = std::map<std::string, std::vector<double>>;

template <class Net>
Results results_of(Net& net, const Tensor& x, bool jitted) {
  const auto pass = [&](const Tensor& in) {
    const Tensor y = net(in);
    const Tensor loss = sum(y * y * (iota(y.shape(), -1) + 1));
    std::vector<Wrt> wrt;
    if (is_float(in.dtype())) wrt.emplace_back(in);
    for (const Parameter& parameter : parameters(net)) wrt.emplace_back(parameter);
    std::vector<Tensor> out = grad(loss, wrt);
    out.push_back(y);
    return out;
  };
  auto fast = jit(pass);
  std::vector<Tensor> all = jitted ? fast(x) : pass(x);
  Results results{{"y", doubles(all.back())}};
  std::size_t i = 0;
  if (is_float(x.dtype())) results["x"] = doubles(all[i++]);
  for (const Parameter& parameter : parameters(net)) {
    const auto& partition = parameter.cell->partition();
    results[parameter.name] = doubles(partition ? partition->whole(all[i], {}) : all[i]);
    ++i;
  }
  return results;
}

/// The same values and gradients on every rank as in one process, in plain code and jit-ed. Ranks begin with other weights: rank 0's count.
template <class Make>
void expect_like_one_process(const Make& make, const Shape& input, const dist::TensorPlan& plan, const std::vector<int>& sizes) {
  const auto run = [&](const dist::Group& group, int seed, bool jitted) {
    manual_seed(3);
    const Tensor x = normal(input, 0, 1, {.dtype = f64});
    eval(x);
    manual_seed(static_cast<std::uint64_t>(seed));
    auto net = make();
    EXPECT_GE(dist::tensor_parallel(net, plan, {.group = group}), static_cast<int>(plan.size()));
    return results_of(net, x, jitted);
  };
  const Results alone = run({}, 7, false);
  for (const int size : sizes) {
    for (const bool jitted : {false, true}) {
      for (const auto& results : test::on_ranks<Results>(size, [&](int rank) { return run(dist::world(), 7 + rank, jitted); })) {
        for (const auto& [name, values] : alone) expect_near(results.at(name), values, 1e-9, name);
      }
    }
  }
}

struct Mlp {
  nn::LayerNorm norm{6, {.dtype = f64}};
  nn::Linear in{6, 12, {.dtype = f64}}, out{12, 6, {.dtype = f64}};
  nn::LayerNorm last{6, {.dtype = f64}};
  Tensor operator()(const Tensor& x) { return last(x + out(relu(in(norm(x))))); }
};

TEST(TensorParallel, ColumnsThenRows) {
  expect_like_one_process([] { return Mlp(); }, {3, 6}, {{"in", ColwiseParallel{}}, {"out", RowwiseParallel{}}}, {2, 3});
}
TEST(TensorParallel, EachLayerByItself) {
  expect_like_one_process(
      [] { return Mlp(); }, {3, 6},
      {{"in", ColwiseParallel{.output = Placement::Replicated}}, {"out", RowwiseParallel{.input = Placement::Replicated}}}, {2});
}
TEST(TensorParallel, StepsBetweenLayersAreSharedOut) {
  struct Net {
    nn::LayerNorm first{6, {.dtype = f64}};
    Mlp mlp;
    Tensor operator()(const Tensor& x) { return mlp(first(x)); }
  };
  expect_like_one_process([] { return Net(); }, {3, 4, 6},
                          {{"first", SequenceParallel{.input = Placement::Replicated}},
                           {"mlp.norm", SequenceParallel{}},
                           {"mlp.in", ColwiseParallel{.input = Placement::Sequence}},
                           {"mlp.out", RowwiseParallel{.output = Placement::Sequence}},
                           {"mlp.last", SequenceParallel{.output = Placement::Replicated}}},
                          {2, 4});
}

struct Encoder {
  nn::TransformerEncoderLayer layer;
  explicit Encoder(nn::FeedForwardActivation activation)
      : layer(8, 4, {.dim_feedforward = 12, .dropout = 0, .activation = activation, .batch_first = true, .dtype = f64}) {}
  Tensor operator()(const Tensor& x) { return layer(x, {.is_causal = true}); }
  static constexpr auto fields = nn::fields<&Encoder::layer>;
};
TEST(TensorParallel, HeadsOfAttention) {
  for (const auto activation : {nn::FeedForwardActivation::Gelu, nn::FeedForwardActivation::SwiGLU}) {
    expect_like_one_process([&] { return Encoder(activation); }, {2, 5, 8},
                            {{"layer.self_attn", ColwiseParallel{}},
                             {"layer.self_attn.out_proj", RowwiseParallel{}},
                             {"layer.linear1", ColwiseParallel{}},
                             {"layer.linear2", RowwiseParallel{}}},
                            {2, 4});
  }
}
TEST(TensorParallel, HeadsOfAttentionToSomethingElse) {
  struct Net {
    nn::MultiheadAttention attention{8, 4, {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .batch_first = true, .dtype = f64}};
    Tensor operator()(const Tensor& x) {
      const Tensor keys = slice(x, 2, {0, 3}), hidden = iota({8, 5, 5}, 2) > iota({8, 5, 5}, 1) + 2;
      const auto [y, weights] = attention(x, keys, x, {.attn_mask = hidden, .need_weights = true});
      return y + sum(weights * weights, -1, Keep::Yes);
    }
  };
  expect_like_one_process([] { return Net(); }, {2, 5, 8}, {{"attention", ColwiseParallel{}}, {"attention.out_proj", RowwiseParallel{}}},
                          {2});
}

struct Words {
  nn::Embedding table;
  explicit Words(std::int64_t padding) : table(11, 6, {.padding_idx = padding, .dtype = f64}) {}
  Tensor operator()(const Tensor& x) { return table.scores(table(tensor<std::int64_t>({0, 10, 5, 5, 1, 6, 4, 10}, {2, 4})) + mean(x)); }
  static constexpr auto fields = nn::fields<&Words::table>;
};
TEST(TensorParallel, AVocabularyThatTheRanksDoNotDivide) {
  const dist::TensorPlan plan{{"table", VocabularyParallel{.scores = Placement::Replicated}}};
  expect_like_one_process([] { return Words(10); }, {1}, plan, {2, 3});
  expect_like_one_process([] { return Words(5); }, {1}, plan, {4});
  expect_like_one_process([] { return Words(5); }, {1}, {{"table", ColwiseParallel{.output = Placement::Replicated}}}, {3});
}

TEST(TensorParallel, DropoutOfStepsIsThatOfOneProcess) {
  const auto run = [](const dist::Group& group) {
    manual_seed(5);
    nn::Sequential net{nn::Dropout{0.3}, nn::Dropout{0.5}};
    dist::tensor_parallel(
        net, {{"0", SequenceParallel{.input = Placement::Replicated}}, {"1", SequenceParallel{.output = Placement::Replicated}}},
        {.group = group});
    return net(ones({3, 8, 5})).to_host();
  };
  const auto alone = run({});
  for (const auto& values : test::on_ranks<std::vector<float>>(4, [&](int) { return run(dist::world()); })) EXPECT_EQ(values, alone);
}

TEST(TensorParallel, CrossEntropyOfClassesThatAreSharedOut) {
  struct Case {
    Shape shape;
    std::optional<std::int64_t> ignored;
    LossReduction reduction;
    double smoothing;
  };
  for (const Case& c : {Case{{6, 7}, {}, LossReduction::Mean, 0}, Case{{3, 8, 2}, 4, LossReduction::Mean, 0.1},
                        Case{{6, 11}, -1, LossReduction::Sum, 0.2}, Case{{6, 9}, {}, LossReduction::None, 0}}) {
    const std::int64_t classes = c.shape[1];
    const auto run = [&](const dist::Group& group, bool parts) {
      manual_seed(1);
      const Tensor all = normal(c.shape, 0, 30, {.dtype = f64});
      Shape labels_shape = c.shape;
      labels_shape.erase(1);
      Tensor labels = randint(0, classes, labels_shape);
      if (c.ignored) labels = where(iota(labels_shape, 0) == 1, *c.ignored, labels);
      eval(all, labels);
      const Tensor x = from_array(all.to_array());
      const dist::Shard own = dist::shard_of(classes, group.rank(), group.size());
      const Tensor loss =
          parts ? dist::cross_entropy(slice(x, 1, {own.begin, own.begin + own.size}), labels,
                                      {.group = group,
                                       .classes = classes,
                                       .ignore_index = c.ignored,
                                       .reduction = c.reduction,
                                       .label_smoothing = c.smoothing})
                : cross_entropy(x, labels, {.ignore_index = c.ignored, .reduction = c.reduction, .label_smoothing = c.smoothing});
      Tensor dx = grad(sum(loss * loss), x);
      if (parts) dx = dist::all_reduce(dx, group);  // zeros outside of this rank's part
      return Results{{"loss", doubles(loss)}, {"dx", doubles(dx)}};
    };
    const Results alone = run({}, false);
    for (const auto& results : test::on_ranks<Results>(3, [&](int) { return run(dist::world(), true); })) {
      expect_near(results.at("loss"), alone.at("loss"), 1e-10, "loss");
      expect_near(results.at("dx"), alone.at("dx"), 1e-12, "dx");
    }
  }
}

/// Loss and gradients of a language model, whole or with shared steps.
template <class Make>
void expect_gradients_of_one_process(const Make& make, const std::function<dist::TensorPlan(Steps)>& plan, const std::vector<int>& sizes) {
  const auto run = [&](const dist::Group& group, int seed, Steps steps) {
    manual_seed(static_cast<std::uint64_t>(seed));
    auto net = make();
    dist::tensor_parallel(net, plan(steps), {.group = group});
    const data::ArrayDataset three = sentences(3);
    data::Loader loader(three, {.batch = 3});
    const auto batch = loader.next();
    const Tensor loss = loss_of_words(group)({net(batch->x)}, {batch->y});
    Results results{{"loss", doubles(loss)}};
    const Parameters trained = parameters(net);
    const auto gradients = grad(loss, trained);
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const auto& partition = trained[i].cell->partition();
      results[trained[i].name] = doubles(partition ? partition->whole(gradients[i], {}) : gradients[i]);
    }
    return results;
  };
  const Results alone = run({}, 7, Steps::Whole);
  for (const int size : sizes) {
    for (const Steps steps : {Steps::Whole, Steps::Shared}) {
      for (const auto& results : test::on_ranks<Results>(size, [&](int rank) { return run(dist::world(), 7 + rank, steps); })) {
        for (const auto& [name, values] : alone) expect_near(results.at(name), values, 1e-10, name);
      }
    }
  }
}
TEST(TensorParallel, GradientsOfAGpt) {
  expect_gradients_of_one_process([] { return Gpt(f64); }, plan_of_gpt, {2, 4});
}
TEST(TensorParallel, GradientsOfALlama) {
  for (const bool tied : {false, true}) {
    const models::LlamaOptions options{
        .vocabulary = kWords, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 12, .context = 8, .tied = tied, .dtype = f64};
    expect_gradients_of_one_process([&] { return models::Llama(options); }, models::llama_plan, {2});
  }
}

TEST(TensorParallel, StateIsThatOfOneProcess) {
  manual_seed(1);
  Gpt whole;
  save(whole, "whole.safetensors");
  const auto bits = [](const Gpt& gpt) {
    std::map<std::string, std::vector<float>> out;
    for (const NamedTensor& one : state_dict(gpt)) out[one.name] = one.value.to_host();
    return out;
  };
  test::on_ranks<int>(3, [&](int rank) {
    manual_seed(2);
    Gpt gpt;
    dist::tensor_parallel(gpt, {{"net.wte", VocabularyParallel{}}, {"net.wpe", ColwiseParallel{}}}, {.group = dist::world().sub({rank})});
    EXPECT_EQ(gpt.net.wte.weight.shape(), (Shape{kWords, 16})) << "a group of one";
    dist::tensor_parallel(gpt, {{"net.wte", VocabularyParallel{}}});
    EXPECT_EQ(gpt.net.wte.weight.shape(), (Shape{rank == 2 ? 13 : 14, 16}));
    load(gpt, "whole.safetensors");
    EXPECT_EQ(bits(gpt), bits(whole));
    const Gpt copy = gpt;
    EXPECT_EQ(bits(copy), bits(whole));
    if (rank == 0) save(gpt, "again.safetensors");
    else state_dict(gpt);
    return 0;
  });
  Gpt again;
  load(again, "again.safetensors");
  EXPECT_EQ(bits(again), bits(whole));
}

TEST(TensorParallel, WhatCannotBeSharedOutIsAnError) {
  const auto failure = [](int ranks, const std::function<void()>& f) {
    std::string all;
    for (const std::string& one : test::failures_of(ranks, [&](int) { f(); })) all += one + "\n";
    return all;
  };
  const auto expect = [&](const std::string& text, int ranks, const std::function<void()>& f) {
    const std::string all = failure(ranks, f);
    EXPECT_NE(all.find(text), std::string::npos) << all;
    EXPECT_NE(all.find("tensor_parallel_test.cpp:"), std::string::npos) << all;
  };
  expect("net.h.0.attn.c_attn: 4 heads for 3 ranks", 3, [] {
    Gpt gpt;
    dist::tensor_parallel(gpt, plan_of_gpt(Steps::Whole));
  });
  expect("layer.self_attn: 4 heads for 3 ranks, expected a number that the ranks divide", 3, [] {
    Encoder net(nn::FeedForwardActivation::Relu);
    dist::tensor_parallel(net, {{"layer.self_attn", ColwiseParallel{}}});
  });
  expect("in: 12 features for 5 ranks", 5, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}});
  });
  expect("hidden.*: no layer of that name", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"hidden.*", ColwiseParallel{}}});
  });
  expect("in: SequenceParallel, expected one of the other styles", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", SequenceParallel{}}});
  });
  expect("norm: RowwiseParallel, expected SequenceParallel", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"norm", RowwiseParallel{}}});
  });
  expect("in: RowwiseParallel with such an input or output", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", RowwiseParallel{.input = Placement::Sequence}}});
  });
  expect("in: a layer that is shared out already", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}});
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}});
  });
  expect("for 4 ranks, expected equal blocks, and something of each for every rank", 4, [] {
    nn::Embedding table(3, 2);
    dist::tensor_parallel(table, {{"", VocabularyParallel{}}});
  });
  expect("12 features", 2, [] {  // columns without rows behind them
    Mlp net;
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}});
    net(ones({3, 6}, f64));
  });
  expect("scatter_to_ranks: got shape (3, 7, 6) for 2 ranks", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"norm", SequenceParallel{.input = Placement::Replicated}}});
    net(ones({3, 7, 6}, f64));
  });
  expect("LAMB: got in.weight, of which every rank has a part", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}, {"out", RowwiseParallel{}}});
    optim::LAMB lamb(parameters(net), {});
    lamb.step(grad(sum(net(ones({3, 6}, f64))), parameters(net)));
  });
  expect("of which every rank keeps a part already", 2, [] {
    Mlp net;
    dist::tensor_parallel(net, {{"in", ColwiseParallel{}}});
    dist::data_parallel(net, {.shard = 1});
  });
  expect("label 9, expected one in [0, 9)", 3,
         [] { dist::cross_entropy(ones({2, 3}), tensor<std::int64_t>({1, 9}), {.classes = 9}).item(); });
  expect("a number of classes that the ranks do not divide has to be given", 3,
         [] { dist::cross_entropy(ones({2, 3}), tensor<std::int64_t>({1, 2}), {.classes = 11}); });
}

}  // namespace
}  // namespace tegula
