// The passes' time grows linearly with the graph: the processor's seconds against items, from 5,000 to 40,000, for the nets that make the longest graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "bench/support/written_out_lstm.h"
#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/pipeline.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"

namespace tegula::compile {
namespace {

constexpr double kMostSlope = 1.2;
constexpr int kTries = 6;  // a neighbour that takes the caches makes one try slow, not all

using Build = std::function<std::vector<Tensor>(std::int64_t)>;

/// Time of this thread.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double items = 0, seconds = 0;
};

/// The cost of everything between a trace and the first launch, including the passes for devices that queue their work.
Cost cost_of(const std::vector<Tensor>& results, runtime::Device& device) {
  std::vector<const Node*> nodes;
  for (const Tensor& t : results) nodes.push_back(t.node().get());
  const double begin = seconds();
  Graph graph = flatten(read(nodes), nodes, {});
  Cost cost{.items = static_cast<double>(graph.size())};
  optimize(graph, device);
  if (!graph.leaves.empty()) graph.leaves[0].steady = true;  // as a Variable that nothing writes
  cut_steady(graph);
  const Plan plan = make_plan(std::move(graph), device);
  if (device.traits().queues) recorded_runs(plan, dependencies(plan), 1);
  cost.seconds = seconds() - begin;
  return cost;
}

void expect_linear(const Build& build, std::int64_t few, std::int64_t many, runtime::Device& device) {
  const std::vector<Tensor> small = build(few), large = build(many);
  Cost a, b;
  double slope = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    // The minimum of all tries is the time of the work.
    const Cost x = cost_of(small, device), y = cost_of(large, device);
    a = {x.items, attempt == 0 ? x.seconds : std::min(a.seconds, x.seconds)};
    b = {y.items, attempt == 0 ? y.seconds : std::min(b.seconds, y.seconds)};
    slope = std::log(b.seconds / a.seconds) / std::log(b.items / a.items);
    if (slope <= kMostSlope) break;
  }
  EXPECT_GE(a.items, 4'000);
  EXPECT_LE(a.items, 8'000);
  EXPECT_GE(b.items, 6 * a.items);
  // A time says little beside other work, where large graphs lose more of the caches than small ones: a growth that is not near quadratic then
  // fails only where it is measured on purpose, on an otherwise idle machine.
  if (slope > kMostSlope && slope < 1.5 && !std::getenv("TEGULA_MEASURE"))
    GTEST_SKIP() << "slope " << slope << " of " << a.seconds << " and " << b.seconds << " s; TEGULA_MEASURE=1 holds the bound of "
                 << kMostSlope;
  EXPECT_LE(slope, kMostSlope) << a.items << " items " << a.seconds << " s, " << b.items << " items " << b.seconds << " s";
}

std::vector<Tensor> lstm(std::int64_t steps) {
  const std::int64_t batch = 4, hidden = 16;
  static const bench::WrittenOutLstm net{hidden};
  const Tensor x = normal({batch, steps, hidden});
  eval(x, net.in.read(), net.recurrent.read(), net.bias.read());
  return net.gradients(x);
}

std::vector<Tensor> gpt_of(std::int64_t layers, std::int64_t tokens, std::int64_t width) {
  const std::int64_t heads = 2;
  std::vector<Wrt> weights;
  const auto weight = [&](const Shape& shape) {
    const Tensor w = normal(shape) * 0.1;
    eval(w);
    weights.emplace_back(w);
    return w;
  };
  const auto split_heads = [&](const Tensor& t) { return transpose(reshape(t, {tokens, heads, width / heads}), 0, 1); };
  Tensor x = normal({tokens, width});
  eval(x);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto normalised = [&](const Tensor& t) { return layer_norm(t, {width}) * weight({width}) + weight({width}); };
    const auto qkv = chunk(matmul(normalised(x), weight({width, 3 * width})), 3, 1);
    const Tensor scores = matmul(split_heads(qkv[0]), transpose(split_heads(qkv[1]), 1, 2));
    const Tensor mixed = matmul(softmax(scores, -1), split_heads(qkv[2]));
    x = x + matmul(reshape(transpose(mixed, 0, 1), {tokens, width}), weight({width, width}));
    x = x + matmul(gelu(matmul(normalised(x), weight({width, 4 * width}))), weight({4 * width, width}));
  }
  return grad(mean(square(x)), weights);
}

std::vector<Tensor> gpt(std::int64_t layers) { return gpt_of(layers, 8, 16); }
/// The gradients of its norms' weights are programs of their own.
std::vector<Tensor> wide_gpt(std::int64_t layers) { return gpt_of(layers, 16, 96); }

/// Products of one row, each of which stores its result in a cache at a place that is read.
std::vector<Tensor> tokens(std::int64_t steps) {
  constexpr std::int64_t kWidth = 256;
  const Tensor weight = normal({kWidth, kWidth}), place = reshape(tensor<std::int64_t>({0}), {});
  Tensor x = normal({1, kWidth}), cache = zeros({steps, kWidth});
  eval(weight, place, x, cache);
  for (std::int64_t i = 0; i < steps; ++i) {
    x = tanh(matmul(x, weight));
    cache = update_slice(cache, x, place + i);
  }
  return {x, cache};
}

/// Rows times a vector, one by one, put together again.
std::vector<Tensor> pieces(std::int64_t count) {
  const Tensor x = normal({count, 4}), w = normal({4});
  eval(x, w);
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < count; ++i) rows.push_back(slice(x, 0, {i, i + 1}) * w);
  return {cumsum(concat(rows, 0), 0)};
}

runtime::Device& queue() {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  return device;
}

TEST(LinearPasses, AnUnrolledLstm) { expect_linear(lstm, 128, 1024, runtime::cpu()); }
TEST(LinearPasses, AnUnrolledLstmOnADeviceThatQueues) { expect_linear(lstm, 128, 1024, queue()); }
TEST(LinearPasses, LayersOfAttention) { expect_linear(gpt, 25, 200, runtime::cpu()); }
TEST(LinearPasses, LayersWhoseNormsAreTakenApart) { expect_linear(wide_gpt, 25, 200, runtime::cpu()); }
TEST(LinearPasses, LayersOfAttentionOnADeviceThatQueues) { expect_linear(gpt, 25, 200, queue()); }

TEST(LinearPasses, TokensOnADeviceThatQueues) { expect_linear(tokens, 1000, 8000, queue()); }

TEST(LinearPasses, PiecesOfAJoin) { expect_linear(pieces, 2000, 16000, runtime::cpu()); }

}  // namespace
}  // namespace tegula::compile
