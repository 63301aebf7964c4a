// Gradients that travel in FP8: a step's rounding errors are added to the next step's gradients.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tegula/dist.h"
#include "tegula/dist/collectives/narrow_exchange.h"
#include "tegula/tegula.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

using test::Outcome;
using test::rows;

/// A gradient as wild as they come: of very different sizes side by side.
std::vector<float> gradient_of(int rank, int step, std::int64_t size) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double phase = 0.7 * static_cast<double>(i) + 1.3 * rank + 0.1 * step;
    values.push_back(static_cast<float>(std::sin(phase) * std::pow(10.0, -static_cast<double>(i % 7))));
  }
  return values;
}

struct Sums {
  std::vector<double> sent, applied, left;  // each of all steps, all ranks
  std::vector<float> last;  // applied
};

/// `steps` exchanges of two parameters' gradients, the second of which some steps have not. With `shard` each rank gets its part of the sums.
Sums exchange_often(int rank, int steps, std::int64_t size, bool jits, int shard) {
  Variable a(zeros({size})), b(zeros({3, 5}));
  const dist::DataParallel parallel({{"a", a.cell()}, {"b", b.cell()}}, {}, {.shard = shard, .exchange = Precision::fp8});
  auto step = jit([&](const Tensor& x, const Tensor& y) { return parallel.sum({x, y}); });
  Sums sums;
  const auto add = [](std::vector<double>& to, const std::vector<float>& values) {
    to.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) to[i] += static_cast<double>(values[i]);
  };
  for (int s = 0; s < steps; ++s) {
    const std::vector<float> mine = gradient_of(rank, s, size);
    for (int r = 0; r < dist::world().size(); ++r) add(sums.sent, gradient_of(r, s, size));
    const Tensor x = tensor(mine, {size}), y = s % 2 == 0 && !jits ? Tensor() : ones({3, 5});
    const std::vector<Tensor> reduced = jits ? step(x, y) : parallel.sum({x, y});
    EXPECT_EQ(reduced[1].defined(), y.defined());
    sums.last = (shard ? slice(dist::all_gather(reduced[0]), 0, {0, size}) : reduced[0]).to_host();
    add(sums.applied, sums.last);
  }
  add(sums.left, parallel.residuals()[0].read_whole().to_host());
  return sums;
}

TEST(ErrorFeedback, WhatWasAppliedAndWhatIsLeftAreAllThatWasSent) {
  for (const bool jits : {false, true}) {
    for (const int ranks : {2, 3, 4}) {
      for (const std::int64_t size : {1, 130, 1001}) {
        const int shard = ranks - 2;
        const auto all = test::on_ranks<Sums>(ranks, [&](int rank) { return exchange_often(rank, 8, size, jits, shard); });
        double left = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
          left = std::fmax(left, std::fabs(all[0].left[i]));
          // Only f32's own roundings are lost: of numbers of up to `ranks` in eight steps.
          EXPECT_NEAR(all[0].applied[i] + all[0].left[i], all[0].sent[i], 8 * ranks * ranks * 0x1p-24) << ranks << " " << size << " " << i;
        }
        if (size > 1) { EXPECT_GT(left, 1e-4) << "there was something to feed back"; }
        for (const Sums& sums : all) EXPECT_EQ(sums.last, all[0].last) << "the same bits on all ranks";
      }
    }
  }
}

// Without feedback each step loses the same rounding again; with it the mean of the applied values goes towards the sent one.
TEST(ErrorFeedback, TheErrorOfAMeanFallsWithTheNumberOfSteps) {
  const auto error_after = [](int steps) {
    return test::on_ranks<double>(2, [&](int rank) {
      Variable w(zeros({256}));
      const dist::DataParallel parallel({{"w", w.cell()}}, {}, {.exchange = Precision::fp8});
      const Tensor gradient = tensor(gradient_of(rank, 0, 256), {256});
      Tensor applied = zeros({256});
      for (int s = 0; s < steps; ++s) applied = applied + parallel.mean({gradient})[0];
      const Tensor exact = dist::all_reduce(gradient, dist::world(), dist::Reduction::Mean);
      return max(abs(applied / static_cast<double>(steps) - exact)).item<double>();
    })[0];
  };
  const double once = error_after(1), often = error_after(32);
  EXPECT_GT(once, 0.005);
  EXPECT_LT(often, once / 8);
}

TEST(ErrorFeedback, WhatIsNoNumberIsSeenByAllAndForgotten) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& values : test::on_ranks<std::vector<float>>(2, [&](int rank) {
         Variable w(zeros({3}));
         const dist::DataParallel parallel({{"w", w.cell()}}, {}, {.exchange = Precision::fp8});
         const auto spoilt = parallel.sum({rank == 1 ? tensor({1.0f, infinity, 2.0f}) : ones({3})})[0].to_host();
         auto after = parallel.sum({ones({3})})[0].to_host();
         after.push_back(std::isfinite(spoilt[1]) ? 0.0f : 1.0f);
         after.push_back(spoilt[0]);
         return after;
       })) {
    EXPECT_EQ(values, (std::vector<float>{2, 2, 2, 1, 2}));
  }
}

struct Cnn {
  nn::Conv2d conv{1, 6, 3};
  nn::Linear out{6 * 2 * 2, 3};
  Tensor operator()(const Tensor& x) { return out(flatten(max_pool2d(relu(conv(x)), {2}), 1)); }
};
struct Recurrent {
  nn::LSTM lstm{3, 8, {.batch_first = true}};
  nn::Linear out{8, 3};
  Tensor operator()(const Tensor& x) { return out(select(lstm(x).output, 1, -1)); }
};

/// Losses as of exact gradients, as nearly as rounding to 4 bits lets them, and the same bits on all ranks and at every run.
template <class Net>
void expect_learns_the_same(const Shape& sample, TrainerOptions options, int ranks, double tolerance) {
  const auto run = [&] {
    return test::on_ranks<Outcome>(ranks,
                                   [&](int) { return test::train<Net>(rows(64, sample), rows(30, sample), dist::world(), options); });
  };
  const auto exact = run();
  options.exchange = Precision::fp8;
  const auto narrow = run(), again = run();
  const auto last = [](const Outcome& outcome) { return outcome.history.back().train_loss; };
  EXPECT_LT(last(exact[0]), 0.95 * exact[0].history.front().train_loss);
  EXPECT_NEAR(last(narrow[0]), last(exact[0]), tolerance);
  EXPECT_NE(last(narrow[0]), last(exact[0])) << "gradients were rounded";
  for (std::size_t r = 0; r < narrow.size(); ++r) {
    EXPECT_EQ(narrow[r].weights, narrow[0].weights);
    EXPECT_EQ(narrow[r].weights, again[r].weights);
  }
}

TEST(ErrorFeedback, ACnnLearnsTheSame) { expect_learns_the_same<Cnn>({1, 6, 6}, {.epochs = 8, .batch = 16}, 2, 0.02); }
TEST(ErrorFeedback, AnLstmLearnsTheSame) { expect_learns_the_same<Recurrent>({5, 3}, {.epochs = 16, .batch = 16}, 3, 0.02); }
TEST(ErrorFeedback, AccumulatedAndLimitedGradientsInBf16LearnTheSame) {
  expect_learns_the_same<Cnn>({1, 6, 6}, {.epochs = 8, .batch = 8, .clip_norm = 0.5, .accumulate = 2, .precision = Precision::bf16}, 2,
                              0.02);
}

TEST(ErrorFeedback, RanksWithPartsOfTheStateLearnTheSame) {
  expect_learns_the_same<Cnn>({1, 6, 6}, {.epochs = 8, .batch = 16, .shard = 1}, 3, 0.02);
  expect_learns_the_same<Recurrent>({5, 3}, {.epochs = 16, .batch = 16, .clip_norm = 0.5, .accumulate = 2, .shard = 2}, 2, 0.02);
}

// The ranks' residuals are in the file, and are counted once, for any number of ranks that go on.
TEST(ErrorFeedback, ACheckpointHasWhatIsOwed) {
  const std::string path = "error_feedback.checkpoint";
  const auto train_on = [&](int ranks, std::int64_t epochs, bool resumes, int shard = 0) {
    return test::on_ranks<std::vector<std::vector<float>>>(ranks, [&](int) {
      manual_seed(7);
      Cnn net;
      optim::SGD sgd(parameters(net), {.lr = 0.1});
      Trainer trainer(net, sgd, cross_entropy,
                      {.epochs = epochs,
                       .batch = 16,
                       .group = dist::world(),
                       .shard = shard,
                       .exchange = Precision::fp8,
                       .checkpoint = resumes ? "" : path});
      if (resumes) trainer.resume(path);
      trainer.fit(rows(64, {1, 6, 6}));
      std::vector<std::vector<float>> out;
      for (const Parameter& parameter : Parameters(parameters(net))) out.push_back(parameter.read().to_host());
      trainer.save("again.checkpoint");
      return out;
    });
  };
  const auto owed_in = [](const std::string& file) {
    std::map<std::string, std::vector<float>> owed;
    for (const auto& [name, array] : io::read_safetensors(file).tensors) {
      if (!name.starts_with("optimizer/exchange.")) continue;
      const auto values = array.values<float>();
      owed[name].assign(values.begin(), values.end());
    }
    return owed;
  };
  const auto whole = train_on(2, 6, false)[0];
  train_on(2, 3, false);
  const auto owed = owed_in(path);
  ASSERT_EQ(owed.size(), 4u);
  float most = 0;
  for (const auto& [name, values] : owed) {
    for (const float value : values) most = std::fmax(most, std::fabs(value));
  }
  EXPECT_GT(most, 1e-5f);
  for (const int ranks : {1, 2, 3}) {
    train_on(ranks, 3, true, ranks - 1);  // nothing is left to do
    EXPECT_EQ(owed_in("again.checkpoint"), owed) << ranks;
    const auto resumed = train_on(ranks, 6, true, ranks - 1);
    for (const auto& weights : resumed) EXPECT_EQ(weights, resumed[0]);
    for (std::size_t p = 0; p < whole.size(); ++p) {
      for (std::size_t i = 0; i < whole[p].size(); ++i) EXPECT_NEAR(resumed[0][p][i], whole[p][i], 5e-3) << ranks << " " << p << " " << i;
    }
    if (ranks > 1) continue;
    for (const auto& [name, values] : owed_in("again.checkpoint")) {  // one process pays at once
      EXPECT_EQ(values, std::vector<float>(values.size())) << name;
    }
  }
}

TEST(ErrorFeedback, WhatCannotBeIsAnError) {
  const auto message = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& error) { return error.what(); }
    return "nothing was thrown";
  };
  Variable w(zeros({3}));
  const Parameters trained{{"w", w.cell()}};
  const auto has = [&](const std::string& text, const std::function<void()>& f) {
    EXPECT_NE(message(f).find(text), std::string::npos) << message(f);
  };
  has("data_parallel: got no list of parameters whose gradients are fed back",
      [] { const dist::DataParallel parallel({}, {.exchange = Precision::fp8}); });
  const dist::DataParallel parallel(trained, {}, {.exchange = Precision::fp8});
  has("got 2 gradients, expected those of the 1 parameters", [&] { parallel.sum({ones({3}), ones({3})}); });
  has("got a gradient of shape (4,) for exchange.w, expected (3,)", [&] { parallel.sum({ones({4})}); });
  nn::Linear net(2, 2);
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  has("Trainer: got .exchange = fp8 with .precision = fp16",
      [&] { const Trainer trainer(net, sgd, cross_entropy, {.exchange = Precision::fp8, .precision = Precision::fp16}); });
}

}  // namespace
}  // namespace tegula
