// Ranks with different layers train as one process that has all of them.

#include "tegula/train/pipeline.h"

#include <gtest/gtest.h>

#include <map>

#include "tegula/dist.h"
#include "tests/dist/trainings.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_near;

using dist::PipelineOptions;
using dist::PipelineOrder;
using dist::PipelineSchedule;

TEST(PipelineSchedule, WaitsAsLongAsThePapersSay) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const int micro_batches : {1, 2, 3, 8, 14, 21}) {
      for (const PipelineOrder order : {PipelineOrder::GPipe, PipelineOrder::OneForwardOneBackward, PipelineOrder::Interleaved}) {
        const PipelineSchedule schedule(order, ranks, micro_batches);
        EXPECT_EQ(schedule.ticks(), 2 * (micro_batches + ranks - 1));
        EXPECT_DOUBLE_EQ(schedule.bubble(), static_cast<double>(ranks - 1) / (micro_batches + ranks - 1));
        EXPECT_DOUBLE_EQ(schedule.bubble(), schedule.bubble_by_formula());
      }
      for (const int stages : {2, 3, 5}) {
        const PipelineSchedule schedule(PipelineOrder::Interleaved, ranks, micro_batches * ranks, stages);
        EXPECT_DOUBLE_EQ(schedule.bubble(), static_cast<double>(ranks - 1) / (stages * micro_batches * ranks + ranks - 1));
        EXPECT_DOUBLE_EQ(schedule.bubble(), schedule.bubble_by_formula());
      }
    }
  }
}

TEST(PipelineSchedule, OneForwardOneBackwardKeepsAsManyAsThereAreStages) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(PipelineSchedule(PipelineOrder::GPipe, 4, 9).kept(rank), 9);
    EXPECT_EQ(PipelineSchedule(PipelineOrder::OneForwardOneBackward, 4, 9).kept(rank), 4 - rank);
  }
}

/// Checked by hand: each piece of work once and behind its inputs; two ranks list the exchanges between them in the same order.
TEST(PipelineSchedule, RanksExchangeInOneOrder) {
  for (const int stages : {1, 2, 3}) {
    for (const int ranks : {2, 3, 5}) {
      const PipelineSchedule schedule(PipelineOrder::Interleaved, ranks, 2 * ranks, stages);
      std::map<std::pair<int, int>, std::vector<std::tuple<bool, int, int>>> sent, received;
      for (int r = 0; r < ranks; ++r) {
        int computed = 0;
        for (const auto& action : schedule.actions(r)) {
          const auto what = std::make_tuple(action.work.backward, action.work.micro_batch, action.work.stage);
          if (action.kind == dist::PipelineAction::Kind::Compute) ++computed;
          else if (action.kind == dist::PipelineAction::Kind::Send) sent[{r, action.peer}].push_back(what);
          else received[{action.peer, r}].push_back(what);
        }
        EXPECT_EQ(computed, 2 * 2 * ranks * stages);
      }
      EXPECT_EQ(sent, received);
    }
  }
}

TEST(PipelineSchedule, IsATable) {
  EXPECT_EQ(PipelineSchedule(PipelineOrder::OneForwardOneBackward, 3, 4).text(),
            "1F1B: 4 micro-batches through 3 stages on 3 ranks, 12 ticks, bubble 33.3 %\n"
            "rank 0 | F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3\n"
            "rank 1 | .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .\n"
            "rank 2 | .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .\n");
  EXPECT_EQ(PipelineSchedule(PipelineOrder::GPipe, 2, 2).text(),
            "GPipe: 2 micro-batches through 2 stages on 2 ranks, 6 ticks, bubble 33.3 %\n"
            "rank 0 | F0 F1 .  .  B0 B1\n"
            "rank 1 | .  F0 F1 B0 B1 .\n");
  EXPECT_NE(PipelineSchedule(PipelineOrder::Interleaved, 2, 4, 2).text().find("rank 0 | F0.0 F1.0 F0.2 F1.2"), std::string::npos);
}

TEST(PipelineSchedule, WhatIsNoneIsAnError) {
  EXPECT_THROW(PipelineSchedule(PipelineOrder::GPipe, 2, 0), Error);
  EXPECT_THROW(PipelineSchedule(PipelineOrder::GPipe, 2, 4, 2), Error);
  EXPECT_THROW(PipelineSchedule(PipelineOrder::Interleaved, 3, 4, 2), Error);
}

nn::Sequential mlp() {
  const nn::LinearOptions wide{.dtype = f64};
  return {nn::Linear{5, 9, wide}, relu, nn::Linear{9, 8, wide}, nn::Flatten{}, tanh, nn::Linear{8, 7, wide}, relu, nn::Linear{7, 3, wide}};
}
nn::Sequential cnn() {
  const nn::ConvOptions wide{.dtype = f64};
  return {nn::Conv2d{1, 4, 3, wide},
          nn::BatchNorm2d{4, {.dtype = f64}},
          relu,
          nn::MaxPool2d{2},
          nn::Conv2d{4, 5, 2, wide},
          relu,
          nn::Flatten{},
          nn::Linear{5, 3, {.dtype = f64}}};
}
struct Steps {
  nn::LSTM lstm;
  explicit Steps(std::int64_t in) : lstm(in, 4, {.batch_first = true, .dtype = f64}) {}
  Tensor operator()(const Tensor& x) { return lstm(x).output; }
  static constexpr auto fields = nn::fields<&Steps::lstm>;
};
struct LastStep {
  Tensor operator()(const Tensor& x) const { return select(x, 1, -1); }
};
nn::Sequential recurrent() { return {Steps{3}, Steps{4}, LastStep{}, nn::Linear{4, 3, {.dtype = f64}}}; }

struct Tokens {
  nn::Embedding words{21, 8, {.dtype = f64}}, places{6, 8, {.dtype = f64}};
  Tensor operator()(const Tensor& x) { return words(cast(10 * x + 10.5, i64)) + places.weight.read(); }
};
struct Block {
  nn::TransformerEncoderLayer layer{8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true, .norm_first = true, .dtype = f64}};
  Tensor operator()(const Tensor& x) { return layer(x, {.is_causal = true}); }
};
nn::Sequential transformer() {
  return {Tokens{}, Block{}, Block{}, nn::LayerNorm{8, {.dtype = f64}}, nn::Flatten{}, nn::Linear{48, 3, {.dtype = f64}}};
}

using State = std::map<std::string, std::vector<double>>;
struct Trained {
  std::vector<double> losses;
  State state;
  std::vector<double> outputs;  // in the end, of the first batch
};
State state_of(const nn::Sequential& net) {
  State out;
  for (const NamedTensor& one : state_dict(net)) out[one.name] = cast(one.value, f64).to_host<double>();
  return out;
}
/// Training data: by default the last batch has 3 rows.
struct Data {
  Shape sample;
  std::int64_t rows = 25, batch = 11;
};

template <class Step, class Forward>
Trained train(nn::Sequential& net, const Data& data, const dist::Group& group, const Step& step, const Forward& forward) {
  const data::ArrayDataset all = test::rows(data.rows, data.sample);
  Trained out;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& [x, y] : data::Loader(all, {.batch = data.batch, .last = data::Last::Keep, .shard = {group.rank(), group.size()}})) {
      const Tensor wide = cast(x, f64);
      out.losses.push_back(step(wide, y).template item<double>());
    }
  }
  eval(net);
  Shape shape = data.sample;
  shape.insert(0, 3);
  out.outputs = forward(reshape(sin(cast(arange(numel(shape)), f64)), shape)).template to_host<double>();
  out.state = state_of(net);
  return out;
}

Trained alone(nn::Sequential (*make)(), const Data& data) {
  manual_seed(7);
  nn::Sequential net = make();
  optim::SGD sgd(parameters(net), {.lr = 0.1, .momentum = 0.9});
  return train(
      net, data, {},
      [&](const Tensor& x, const Tensor& y) {
        const Tensor loss = cross_entropy(net(x), y);
        sgd.step(optim::clip_grad_norm(grad(loss, parameters(net)), 0.5).gradients);
        return loss;
      },
      [&](const Tensor& x) { return net(x); });
}

/// Ranks begin with other weights: rank 0's count.
Trained in_stages(nn::Sequential (*make)(), const Data& data, const PipelineOptions& options, bool jitted, const dist::Group& copies = {}) {
  manual_seed(static_cast<std::uint64_t>(7 + dist::world().rank()));
  nn::Sequential net = make();
  dist::Pipeline pipeline(net, cross_entropy, options);
  const dist::DataParallel parallel(pipeline.state(), {.group = copies});
  optim::SGD sgd(pipeline.parameters(), {.lr = 0.1, .momentum = 0.9});
  const auto update = [&](const Tensor& x, const Tensor& y) {
    const auto [loss, gradients] = pipeline.gradients(x, y);
    sgd.step(optim::clip_grad_norm(parallel.mean(gradients), pipeline.parameters(), 0.5).gradients);
    return dist::all_reduce(loss, copies, dist::Reduction::Mean);
  };
  auto fast = jit(update);
  return train(
      net, data, copies, [&](const Tensor& x, const Tensor& y) { return jitted ? fast(x, y) : update(x, y); },
      [&](const Tensor& x) { return pipeline(x); });
}

void expect_alike(const Trained& a, const Trained& b) {
  expect_near(a.losses, b.losses, 1e-9, "loss");
  expect_near(a.outputs, b.outputs, 1e-9, "output");
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, values] : b.state) expect_near(a.state.at(name), values, 1e-9, name);
}
void expect_like_one_process(nn::Sequential (*make)(), const Data& data, int ranks, const PipelineOptions& options) {
  const Trained expected = alone(make, data);
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  for (const bool jitted : {false, true}) {
    for (const Trained& rank : test::on_ranks<Trained>(ranks, [&](int) {
           PipelineOptions of_rank = options;
           of_rank.group = dist::world();
           return in_stages(make, data, of_rank, jitted);
         }))
      expect_alike(rank, expected);
  }
}

TEST(Pipeline, AnMlpTrainsAsInOneProcess) {
  for (const PipelineOrder order : {PipelineOrder::GPipe, PipelineOrder::OneForwardOneBackward}) {
    for (const int ranks : {2, 3, 4}) expect_like_one_process(mlp, {{5}}, ranks, {.group = {}, .order = order, .micro_batches = 4});
  }
  expect_like_one_process(mlp, {{5}}, 2, {.group = {}, .order = PipelineOrder::Interleaved, .micro_batches = 4, .stages_per_rank = 2});
  expect_like_one_process(mlp, {{5}}, 1, {.group = {}, .order = PipelineOrder::Interleaved, .micro_batches = 3, .stages_per_rank = 4});
}
TEST(Pipeline, AnLstmTrainsAsInOneProcess) {
  expect_like_one_process(recurrent, {{5, 3}}, 3, {.group = {}, .micro_batches = 5});
  expect_like_one_process(recurrent, {{5, 3}}, 2, {.group = {}, .order = PipelineOrder::GPipe, .micro_batches = 2, .begins = {1}});
}
TEST(Pipeline, ATransformerTrainsAsInOneProcess) {
  expect_like_one_process(transformer, {{6}}, 3, {.group = {}, .micro_batches = 3});
  expect_like_one_process(
      transformer, {{6}}, 2,
      {.group = {}, .order = PipelineOrder::Interleaved, .micro_batches = 2, .stages_per_rank = 2, .begins = {1, 2, 3}});
}
/// Batch norm takes the statistics of a micro-batch, as when batches are accumulated: one micro-batch is one batch.
TEST(Pipeline, ACnnTrainsAsInOneProcess) { expect_like_one_process(cnn, {{1, 6, 6}}, 2, {.group = {}, .micro_batches = 1, .begins = {4}}); }

TEST(Pipeline, AMeshTrainsAsOneProcess) {
  const Data halves{{5}, 24, 12};
  const Trained expected = alone(mlp, halves);
  for (const Trained& rank : test::on_ranks<Trained>(4, [&](int) {
         const dist::Mesh mesh({{"data", 2}, {"stages", 2}});
         return in_stages(mlp, halves, {.group = mesh.along("stages"), .micro_batches = 2}, true, mesh.along("data"));
       }))
    expect_alike(rank, expected);
}

TEST(Pipeline, CheckpointsAreThoseOfOneProcess) {
  const data::ArrayDataset all = test::rows(25, {5});
  data::Loader loader(all, {.batch = 25});
  const auto batch = loader.next();
  const Tensor x = cast(batch->x, f64), y = batch->y;
  eval(x, y);
  const auto step_alone = [&](nn::Sequential& net, optim::Adam& adam) { adam.step(grad(cross_entropy(net(x), y), parameters(net))); };
  manual_seed(7);
  nn::Sequential net = mlp();
  optim::Adam adam(parameters(net), {.lr = 0.01});
  step_alone(net, adam);
  save_checkpoint("one.checkpoint", {.model = nn::state(net), .optimizer = adam.state()});
  step_alone(net, adam);
  const State second = state_of(net);
  test::on_ranks<int>(3, [&](int rank) {
    manual_seed(static_cast<std::uint64_t>(rank));
    nn::Sequential staged = mlp();
    dist::Pipeline pipeline(staged, cross_entropy, {.micro_batches = 3});
    optim::Adam own(pipeline.parameters(), {.lr = 0.5});
    const CheckpointParts parts{.model = nn::state(staged), .optimizer = pipeline.whole(own.state())};
    load_checkpoint("one.checkpoint", parts);
    own.step(pipeline.gradients(from_array(x.to_array()), from_array(y.to_array())).gradients);
    const State mine = state_of(staged);
    for (const auto& [name, values] : second) expect_near(mine.at(name), values, 1e-9, name);
    save_checkpoint("stages.checkpoint", parts, rank == 0);
    return 0;
  });
  nn::Sequential again = mlp();
  optim::Adam resumed(parameters(again), {.lr = 0.5});
  load_checkpoint("stages.checkpoint", {.model = nn::state(again), .optimizer = resumed.state()});
  step_alone(net, adam), step_alone(again, resumed);
  const State expected = state_of(net);
  for (const auto& [name, values] : state_of(again)) expect_near(values, expected.at(name), 1e-9, name);
}

TEST(Pipeline, StagesAreAsEqualAsParametersAllow) {
  test::on_ranks<int>(2, [](int rank) {
    nn::Sequential net{nn::Linear{10, 10}, relu, nn::Linear{10, 10}, relu, nn::Linear{10, 10}, relu, nn::Linear{10, 10}};
    const dist::Pipeline pipeline(net, cross_entropy);
    EXPECT_EQ(pipeline.begins(), (std::vector<std::size_t>{0, 4, 7}));
    EXPECT_EQ(pipeline.parameters().size(), 4u);
    EXPECT_EQ(pipeline.parameters()[0].name, rank == 0 ? "0.weight" : "4.weight");
    EXPECT_EQ(pipeline.schedule().micro_batches(), 4);
    EXPECT_EQ(pipeline.schedule(3).micro_batches(), 3);
    return 0;
  });
}

TEST(Pipeline, WhatDoesNotFitIsAnError) {
  const auto expect = [](const std::string& text, int ranks, const std::function<void(int)>& f) {
    std::string all;
    for (const std::string& one : test::failures_of(ranks, f)) {
      EXPECT_NE(one, "") << "every rank hears of it";
      all += one + "\n";
    }
    EXPECT_NE(all.find(text), std::string::npos) << all;
    EXPECT_NE(all.find("pipeline_test.cpp:"), std::string::npos) << all;
  };
  expect("stages that begin with 0, 2 on rank 0 and stages that begin with 0, 5 on rank 1", 2, [](int rank) {
    nn::Sequential net = mlp();
    dist::Pipeline(net, cross_entropy, {.begins = {rank == 0 ? 2u : 5u}});
  });
  expect("the same pipeline on all ranks", 2, [](int rank) {
    nn::Sequential net = mlp();
    dist::Pipeline(net, cross_entropy, {.micro_batches = 3 + rank});
  });
  expect("4 layers with parameters for 5 stages", 5, [](int) {
    nn::Sequential net = mlp();
    dist::Pipeline(net, cross_entropy);
  });
  expect("stage 1 of the layers 3 to 5", 3, [](int) {
    nn::Sequential net = mlp();
    dist::Pipeline(net, cross_entropy, {.begins = {3, 5}});
  });
  expect("1 layers with which stages begin, expected one less than the 3 stages", 3, [](int) {
    nn::Sequential net = mlp();
    dist::Pipeline(net, cross_entropy, {.begins = {3}});
  });
  expect("of which ranks have parts already", 2, [](int) {
    nn::Sequential net = mlp();
    dist::Pipeline once(net, cross_entropy);
    dist::Pipeline(net, cross_entropy);
  });
  expect("inputs (4, 5) and targets (3,), expected as many rows", 2, [](int) {
    nn::Sequential net = mlp();
    const dist::Pipeline pipeline(net, cross_entropy);
    pipeline.gradients(ones({4, 5}, f64), zeros({3}, i64));
  });
  expect("got an input of shape (1, 6)", 2, [](int) {  // on the first rank; the other one is told
    nn::Sequential net = mlp();
    const dist::Pipeline pipeline(net, cross_entropy);
    pipeline.gradients(ones({4, 6}, f64), zeros({4}, i64));
  });
  expect("dtype i64 behind stage 0, expected floats between stages", 2, [](int) {
    struct Largest {
      nn::Linear layer{5, 4};
      Tensor operator()(const Tensor& x) const { return argmax(layer(x), -1); }
    };
    nn::Sequential net{Largest{}, nn::Embedding{4, 3}};
    const dist::Pipeline pipeline(net, cross_entropy);
    pipeline.gradients(ones({4, 5}), zeros({4}, i64));
  });
}

}  // namespace
}  // namespace tegula
