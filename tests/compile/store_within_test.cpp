// Joins cost no copies: each piece is computed where it belongs, with the same values.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/pipeline.h"
#include "tegula/compile/plan/check_plan.h"
#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"
#include "tests/support/occurrences.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

Tensor known(Tensor x) {
  eval(x);
  return x;
}
Tensor some(const Shape& shape, DType dtype = f32) {
  const Tensor x = known(normal(shape) * 3.0);
  return known(cast(x, dtype));
}
int steps(const std::string& plan) { return test::occurrences(plan, ". tile ") + test::occurrences(plan, ". call "); }

/// On the CPU, and on a device that queues its work.
class StoreWithin : public testing::TestWithParam<bool> {
 protected:
  StoreWithin() : before_(default_device()) {
    static test::QueuedDevice& queued = test::QueuedDevice::create();
    if (GetParam()) set_default_device(queued);
  }
  ~StoreWithin() override { set_default_device(before_); }

  /// True if calls give the same bits for all places of their operands. A card's libraries may choose another algorithm there.
  static bool is_exact() { return GetParam() || &default_device() == &runtime::cpu(); }

  /// One plan gives what op after op gives, each evaluated by itself, to the bit: a join computes nothing. The plan's text. `tolerance`: where that is not
  /// so, because calls are among the ops (is_exact); of the largest element.
  static std::string expect_same(const Function& f, Tensors inputs, double tolerance = 0) {
    set_eager(true);
    const Tensors want = f(inputs);
    set_eager(false);
    inputs.resize(4, inputs[0]);
    auto together = jit([&](Tensor a, Tensor b, Tensor c, Tensor d) { return f({a, b, c, d}); });
    for (int call = 0; call < 2; ++call) {
      const Tensors got = together(inputs[0], inputs[1], inputs[2], inputs[3]);
      EXPECT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (tolerance == 0 || is_exact()) EXPECT_EQ(got[i].to_host<double>(), want[i].to_host<double>()) << "result " << i;
        else EXPECT_LE(max(abs(got[i] - want[i])).item(), tolerance * max(abs(want[i])).item()) << "result " << i;
      }
    }
    return together.print_plan();
  }

 private:
  runtime::Device& before_;
};
INSTANTIATE_TEST_SUITE_P(Devices, StoreWithin, testing::Bool(), [](const auto& info) { return info.param ? "Queued" : "Cpu"; });

TEST_P(StoreWithin, ComputedPiecesAreNotCopied) {
  for (const DType dtype : {f64, f32, bf16, i64, u8, boolean}) {
    for (int axis = 0; axis < 3; ++axis) {
      Shape shape{4, 20, 32}, other = shape;
      other[axis] = 48;
      const std::string plan = expect_same(
          [&](const Tensors& x) { return Tensors{concat({maximum(x[0], x[1]), minimum(x[2], x[3]), maximum(x[1], x[0])}, axis)}; },
          {some(shape, dtype), some(shape, dtype), some(other, dtype), some(other, dtype)});
      EXPECT_EQ(test::occurrences(plan, "tile concat") + test::occurrences(plan, "tile copy"), 0) << plan;
    }
  }
}

TEST_P(StoreWithin, PiecesOfAllKinds) {
  const Tensors x{some({6, 32}), some({6, 32}), some({6, 64}), some({32, 6})};
  // An argument, a computed value, one twice, a slice of one, one through views, one that is a result, too, sums along rows.
  const auto f = [](const Tensors& x) {
    const Tensor a = exp(x[0]), b = x[0] * x[1], wide = sin(x[2]);
    return Tensors{concat({x[0], a, b, a, slice(wide, 1, {16, 48}), reshape(wide, {12, 32}), transpose(tanh(x[3]), 0, 1),
                           expand(sum(a, 1, Keep::Yes), {6, 32}), full({6, 32}, 2)},
                          0),
                   b, a - 1};
  };
  expect_same(f, x);
}

// The piece has as many numbers as the value, but the first half of them, twice.
TEST_P(StoreWithin, APieceThatShowsSomethingTwiceIsCopied) {
  expect_same(
      [](const Tensors& x) {
        const Tensor y = exp(x[0]);
        return Tensors{concat({expand(slice(y, 0, {0, 1}), {2, 32}), x[1]}, 0), mean(y, {0, 1})};
      },
      {some({2, 32}), some({2, 32})});
  // Each element twice, side by side: as many as there are, and as far apart in the join as the value's own would be.
  expect_same(
      [](const Tensors& x) {
        const Tensor y = exp(x[0]);
        return Tensors{concat({expand(reshape(slice(y, 0, {0, 32}), {32, 1}), {32, 2}), x[1]}, 0), mean(y, {0})};
      },
      {some({64}), some({32, 2})});
}

TEST_P(StoreWithin, JoinsOfJoins) {
  const Tensors x{some({5, 16}), some({5, 16})};
  const auto f = [](const Tensors& x) {
    const Tensor a = x[0] + x[1], b = x[0] - x[1], inner = concat({a, b}, 1), outer = concat({inner, x[0] * x[1], inner * 2}, 1);
    return Tensors{stack({outer, outer * outer}, 0), inner + 1};
  };
  const std::string plan = expect_same(f, x);
  EXPECT_EQ(test::occurrences(plan, "tile concat"), 0) << plan;
}

// Each layer reads the join of all before: all of them are one stretch of memory.
TEST_P(StoreWithin, ADenseBlockWritesEachLayerOnce) {
  const auto f = [](const Tensors& x) {
    Tensors all{x[0] + 1};
    for (int layer = 0; layer < 6; ++layer) all.push_back(expand(mean(tanh(concat(all, 1)), 1, Keep::Yes), {8, 32}) * x[1]);
    return Tensors{sum(concat(all, 1), 1)};
  };
  const std::string plan = expect_same(f, {some({8, 32}), some({8, 32})});
  EXPECT_EQ(test::occurrences(plan, "concat") + test::occurrences(plan, "copy"), 0) << plan;
}

TEST_P(StoreWithin, RowsThatAreShortAreCopied) {
  const auto f = [](const Tensors& x) { return Tensors{stack({exp(x[0]), sin(x[0]), x[0] * 2}, 1)}; };
  expect_same(f, {some({1000})});
}

// The first piece that is written, and each of the others, come behind whatever had that memory before: the plan is proved (TEGULA_CHECK=plan).
TEST_P(StoreWithin, EachPieceWaitsForWhoHadItsMemory) {
  const Tensor x = some({512, 32}), w = known(some({20000, 32}) * 0.1), labels = known(randint(0, 20000, {512}));
  auto chunked = jit([](Tensor x, Tensor w, Tensor labels) {
    const Tensor loss = linear_cross_entropy(x, w, labels, {.chunk = 2000});
    const auto d = grad(loss, {x, w});
    return Tensors{loss, d[0], d[1]};
  });
  const Tensors got = chunked(x, w, labels);
  const auto want = grad(cross_entropy(linear(x, w), labels), {x, w});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_LT(max(abs(got[i + 1] - want[i])).item(), 1e-5) << i;
}

TEST_P(StoreWithin, ProductsAreStoredWhereRowsAreAligned) {
  if (!default_device().name().starts_with("cpu") && !GetParam()) GTEST_SKIP() << "a GPU fuses so small products with what is around them";
  const auto f = [](const Tensors& x) {
    return Tensors{concat({matmul(x[0], x[1]), matmul(x[1], x[0])}, 1), stack({matmul(x[0], x[0]), matmul(x[1], x[1])}, 0)};
  };
  const std::string aligned = expect_same(f, {some({32, 32}), some({32, 32})});
  EXPECT_EQ(steps(aligned), 4) << aligned;
  expect_same(f, {some({31, 31}), some({31, 31})});
  expect_same(f, {some({3, 16, 16}), some({3, 16, 16})});
}

// Channels-last, and so is the join that they make and that the next one reads.
TEST_P(StoreWithin, ConvolutionsWriteIntoTheirJoin) {
  for (const DType dtype : {f32, bf16}) {
    const auto f = [&](const Tensors& x) {
      const auto convolved = [&](const Tensor& w) {
        return dtype == f32 ? conv2d(x[0], w, x[3], {.padding = 1})
                            : conv2d(x[0], w, {.padding = 1});  // a bias in half is rounded twice, op by op
      };
      const Tensor a = convolved(x[1]), b = relu(convolved(x[1] * 2));
      return Tensors{conv2d(concat({a, b, tanh(a)}, 1), x[2])};
    };
    const std::string plan =
        expect_same(f, {some({3, 16, 9, 9}, dtype), some({32, 16, 3, 3}, dtype), some({16, 96, 1, 1}, dtype), some({32}, dtype)},
                    dtype == f32 ? 1e-5 : 0.02);
    EXPECT_EQ(test::occurrences(plan, "concat"), 0) << plan;
    EXPECT_EQ(test::occurrences(plan, ". call convolution ["), 3) << plan;
  }
}

// Images in lanes, row-major: a batch of 16 and twelve channels.
TEST_P(StoreWithin, ABlockOfConvolutionsWritesEachLayerOnce) {
  const auto f = [](const Tensors& x) {
    Tensors all{exp(x[0])};
    for (int layer = 0; layer < 4; ++layer)
      all.push_back(conv2d(tanh(concat(all, 1)), slice(x[1], 1, {0, 12 + 12 * layer}), {.padding = 1}));
    return Tensors{square(concat(all, 1)), sum(concat(all, 1), 1)};
  };
  const std::string plan = expect_same(f, {some({16, 12, 8, 8}), known(normal({12, 60, 3, 3}) * 0.1)}, 1e-5);
  EXPECT_EQ(test::occurrences(plan, "concat"), 0) << plan;
}

// The skips of a U-Net are pooled in the memory of the join, and joined with the values from below.
TEST_P(StoreWithin, SkipsArePooledWithinTheirJoin) {
  const auto f = [](const Tensors& x) {
    const Tensor a = relu(conv2d(x[0], x[1], {.padding = 1})), b = relu(conv2d(max_pool2d(a, 2), x[2], {.padding = 1}));
    const Tensor up = conv_transpose2d(b, x[3], {.stride = 2});
    return grad(mean(square(conv2d(concat({up, a}, 1), transpose(x[2], 0, 1), {.padding = 1}))), std::vector<Wrt>{x[1], x[2], x[3]});
  };
  const std::string plan = expect_same(
      f,
      {some({2, 16, 8, 8}), known(normal({16, 16, 3, 3}) * 0.1), known(normal({32, 16, 3, 3}) * 0.1), known(normal({32, 16, 2, 2}) * 0.1)},
      1e-5);
  EXPECT_EQ(test::occurrences(plan, "concat"), 0) << plan;
}

// A tensor repeated along an axis is copied in its layout, into the join with a skip, and the sum that is its gradient keeps that layout.
TEST_P(StoreWithin, RepeatsAndTheirGradientsStayChannelsLast) {
  const auto f = [](const Tensor& x, const Tensor& skip, const Tensor& v, const Tensor& w) {
    const Tensor a = relu(conv2d(x, v, {.padding = 1})), b = relu(conv2d(skip, v, {.padding = 1}));
    return grad(mean(square(conv2d(concat({repeat_interleave(a, 2, 2), b}, 1), w))), std::vector<Wrt>{v, w});
  };
  const Tensor x = some({2, 16, 8, 8}), skip = some({2, 16, 16, 8});
  const Tensor v = known(normal({16, 16, 3, 3}) * 0.1), w = known(normal({16, 32, 1, 1}) * 0.1);
  auto together = jit([&](Tensor x, Tensor skip, Tensor v, Tensor w) { return f(x, skip, v, w); });
  const Tensors got = together(x, skip, v, w), want = f(x, skip, v, w);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_LT(max(abs(got[i] - want[i])).item(), 1e-4) << i;
  const std::string plan = together.print_plan();
  EXPECT_EQ(test::occurrences(plan, "concat"), 0) << plan;
  if (!is_exact()) return;  // weights are copied, too
  EXPECT_LE(test::occurrences(plan, "tile copy"), 3) << plan;  // the arguments, and the repeated rows
}

// The gradients of q, k and v are parts of that of the projection which made all three.
TEST_P(StoreWithin, GradientsOfAttentionAreWrittenIntoTheirProjection) {
  const auto f = [](const Tensors& x) {
    const auto qkv = chunk(matmul(x[0], x[1]), 3, 2);
    const auto heads = [](const Tensor& t) { return transpose(reshape(t, {2, 24, 2, 16}), 1, 2); };
    const Tensor y = scaled_dot_product_attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]));
    return grad(mean(square(y)), std::vector<Wrt>{x[1]});
  };
  const std::string plan = expect_same(f, {some({2, 24, 32}), known(normal({32, 96}) * 0.2)}, 1e-5);
  const Layout heads = Layout::dense({2, 2, 24, 16});
  if (!default_device().takes(runtime::Attention{.q = {f32, heads}, .k = {f32, heads}, .v = {f32, heads}}) || !is_exact())
    return;  // plain ops, as are such small heads on a card
  EXPECT_EQ(test::occurrences(plan, "concat") + test::occurrences(plan, "tile copy"), 0) << plan;
}

TEST_P(StoreWithin, EmptyPiecesAndEmptyJoins) {
  expect_same([](const Tensors& x) { return Tensors{concat({x[0] * 2, x[1] + 1, x[0] * 3}, 0)}; }, {some({4, 16}), some({0, 16})});
  expect_same([](const Tensors& x) { return Tensors{concat({x[0] * 2, x[0] + 1}, 0)}; }, {some({0, 16})});
}

TEST_P(StoreWithin, APieceMayBeReadByAnybody) {
  // By a product, by a kernel that takes rows side by side alone, by a reshape that no strides express, before and after the join is read.
  const auto f = [](const Tensors& x) {
    const Tensor a = exp(x[0]), b = cos(x[0]), all = concat({a, b}, 1), order = cumsum(a, 1);
    return Tensors{matmul(all, x[1]), matmul(a, transpose(b, 0, 1)), order, reshape(a, {16, 64}) * 2, sum(all) * a};
  };
  expect_same(f, {some({32, 32}), some({64, 16})});
}

// A product is stored within one join, with rows apart; the other one keeps its kernel, which reads dense values (a DLRM had wrong scores but for its first sample).
TEST_P(StoreWithin, WhatIsStoredWithinOneJoinIsReadRightByAnother) {
  for (const bool first : {false, true}) {
    const auto f = [first](const Tensors& x) {
      const Tensor y = relu(matmul(x[0], x[1])), product = matmul(y, transpose(y));
      const Tensor before = concat({y, product}, 1), both = stack({y, exp(x[2])}, 1);
      const Tensor after = concat({y, flatten(matmul(both, transpose(both)), 1)}, 1);
      return first ? Tensors{matmul(before, x[3]), both} : Tensors{after};
    };
    expect_same(f, {some({4, 5}), some({5, 16}), some({4, 16}), some({20, 3})}, 1e-6);
  }
}

TEST_P(StoreWithin, WhatIsWrittenOverIsNotReadLater) {
  const auto f = [](const Tensors& x) {
    const Tensor a = exp(x[0]), all = concat({a, sin(x[0])}, 0), changed = update_slice(all, x[1], 0, 0);
    return Tensors{changed, a * sum(changed)};
  };
  expect_same(f, {some({8, 16}), some({3, 16})});
}

TEST_P(StoreWithin, ResultsAndVariablesArePutTogetherWhereTheyLie) {
  Variable state(known(zeros({4, 64})));
  auto step = jit([&](Tensor x) {
    const Tensor old = state.read();
    state = concat({slice(old, 1, {32, 64}) + x, x * 2}, 1);
    return concat({x + 1, x - 1}, 1);
  });
  Tensor want = known(zeros({4, 64}));
  for (int call = 0; call < 3; ++call) {
    const Tensor x = some({4, 32});
    EXPECT_EQ(step(x).to_host(), concat({x + 1, x - 1}, 1).to_host());
    want = known(concat({slice(want, 1, {32, 64}) + x, x * 2}, 1));
    EXPECT_EQ(state.read().to_host(), want.to_host());
  }
  Variable cache(known(zeros({4, 64})));
  auto set = jit([&](Tensor x) { cache = concat({exp(x), x * 3}, 1); });
  const Tensor x = some({4, 32});
  set(x);
  set(x);
  EXPECT_EQ(cache.read().to_host(), concat({exp(x), x * 3}, 1).to_host());
  EXPECT_EQ(test::occurrences(set.print_plan(), "at the end") + test::occurrences(set.print_plan(), "copy"), 0) << set.print_plan();
}

TEST_P(StoreWithin, AFailedCheckLeavesTheVariableAsItWas) {
  Variable state(known(ones({2, 32})));
  auto step = jit([&](Tensor x, Tensor i) {
    state = concat({x * 2, index_select(x, 0, i)}, 0);
    return sum(state.read());
  });
  const Tensor x = some({1, 32});
  EXPECT_NO_THROW(step(x, tensor({std::int64_t{0}})).item());
  const auto before = state.read().to_host();
  EXPECT_THROW(
      {
        step(x, tensor({std::int64_t{5}})).item();
        sync();
      },
      Error);
  EXPECT_EQ(state.read().to_host(), before);
}

// The gradient of slices that leave something out has zeros between them.
TEST_P(StoreWithin, GradientsOfSlicesHaveZerosBetweenThem) {
  const auto f = [](const Tensors& x) {
    const Tensor y = sum(sin(slice(x[0], 1, {16, 48})) * x[1]) + sum(cos(slice(x[0], 1, {64, 96})) * x[1]);
    return grad(y, std::vector<Wrt>{x[0]});
  };
  const std::string plan = expect_same(f, {some({8, 128}), some({8, 32})});
  EXPECT_EQ(test::occurrences(plan, "concat"), 0) << plan;
}

// Per step of a net written by hand: the gates' gradients, the state's gradient, and one product for each of the two weights.
TEST_P(StoreWithin, AnLstmsBackwardStepHasFourNodes) {
  const std::int64_t batch = 8, hidden = 64;
  Variable in(known(normal({hidden, 4 * hidden}) * 0.1)), recurrent(known(normal({hidden, 4 * hidden}) * 0.1));
  const auto plan_of = [&](std::int64_t length, bool differentiate) {
    auto f = jit([&](Tensor x) {
      Tensor h = zeros({batch, hidden}), c = h, total = 0.f;
      for (std::int64_t t = 0; t < length; ++t) {
        const auto z = chunk(matmul(select(x, 1, t), in.read()) + matmul(h, recurrent.read()), 4, 1);
        c = sigmoid(z[0]) * c + sigmoid(z[1]) * tanh(z[2]);
        h = sigmoid(z[3]) * tanh(c);
        total = total + mean(square(h));
      }
      return differentiate ? grad(total, std::vector<Wrt>{in, recurrent}) : Tensors{total};
    });
    f(known(normal({batch, length, hidden})));
    return f.print_plan();
  };
  const auto per_step = [&](bool differentiate) { return (steps(plan_of(24, differentiate)) - steps(plan_of(8, differentiate))) / 16; };
  EXPECT_LE(per_step(true) - per_step(false), 4) << plan_of(8, true);
  EXPECT_EQ(test::occurrences(plan_of(8, true), "concat"), 0) << plan_of(8, true);
}

TEST_P(StoreWithin, UnderMixedPrecisionToo) {
  const PrecisionScope scope(Precision::bf16);
  const auto f = [](const Tensors& x) {
    const Tensor a = gelu(matmul(x[0], x[1])), b = relu(matmul(x[1], x[0]));
    return Tensors{matmul(concat({a, b}, 1), concat({b, a}, 0))};
  };
  auto together = jit([&](Tensor a, Tensor b) { return f({a, b}); });
  const Tensors x{some({64, 64}), some({64, 64})};
  const Tensor want = known(f(x)[0]);
  EXPECT_LT(max(abs(together(x[0], x[1])[0] - want)).item(), 0.02 * max(abs(want)).item());
}

}  // namespace

namespace compile {
namespace {

Graph graph_of(const Tensors& results) {
  std::vector<const Node*> nodes;
  for (const Tensor& t : results) nodes.push_back(t.node().get());
  return flatten(read(nodes), nodes, {});
}
Plan plan_of(const Tensors& results, runtime::Device& device = runtime::cpu()) {
  Graph graph = graph_of(results);
  optimize(graph, device);
  return make_plan(std::move(graph), device);
}
runtime::Device& queue() {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  return device;
}
std::string complaint(const Plan& plan, bool asynchronous = false) {
  try {
    check_plan(plan, asynchronous);
  } catch (const Error& error) { return error.what(); }
  return "";
}

/// Two pieces that interleave in memory, each made by a step of its own, and read alone and together.
Plan interleaved(runtime::Device& device = runtime::cpu()) {
  const Tensor x = known(normal({16, 32})), w = known(normal({32, 32}));
  const Tensor a = sin(matmul(x, w)), b = cos(matmul(a, w));
  return plan_of({matmul(transpose(concat({a, b}, 1), 0, 1), a)}, device);
}
int item_named(const Plan& plan, std::string_view name) {
  for (int i = 0; i < plan.graph.size(); ++i) {
    if (plan.graph[i].op->name() == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}
/// The plan is proved as it is, and refused with these words once `fault` has been at it.
void expect_found(const std::string& words, const std::function<void(Plan&)>& fault) {
  Plan plan = interleaved();
  ASSERT_EQ(complaint(plan), "") << to_string(plan);
  fault(plan);
  const std::string text = complaint(plan);
  EXPECT_NE(text.find(words), std::string::npos) << "said: " << text << "\n" << to_string(plan.graph) << to_string(plan);
}

TEST(CheckStoresWithin, FindsAPieceInAnotherPlace) {
  for (const std::ptrdiff_t bytes : {-64, 4, 128, 4096}) {
    expect_found("its place in", [&](Plan& plan) {
      Storage& storage = plan.storage[static_cast<std::size_t>(item_named(plan, "cos"))];
      storage.offset = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(storage.offset) + bytes);
    });
  }
}
TEST(CheckStoresWithin, FindsPiecesThatMeet) {
  expect_found("lies within", [](Plan& plan) {
    const int a = plan.graph[item_named(plan, "concat")].inputs[0], b = item_named(plan, "cos");
    plan.graph[b].within = plan.graph[a].within;
    plan.storage[static_cast<std::size_t>(b)] = plan.storage[static_cast<std::size_t>(a)];
  });
}
TEST(CheckStoresWithin, FindsOtherStrides) {
  expect_found("strides", [](Plan& plan) { plan.graph[item_named(plan, "cos")].within.edit().layout.strides[0] = 32; });
}
TEST(CheckStoresWithin, FindsAPieceThatNobodyWrites) {
  expect_found("not", [](Plan& plan) {
    std::erase_if(plan.steps, [&](const Step& step) { return step.writes == std::vector<int>{item_named(plan, "cos")}; });
  });
}
TEST(CheckStoresWithin, FindsAJoinThatIsReadBeforeItsLastPieceIsThere) {
  expect_found("is read from", [](Plan& plan) {
    std::size_t writer = 0;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (std::ranges::find(plan.steps[s].writes, item_named(plan, "cos")) != plan.steps[s].writes.end()) writer = s;
    }
    ASSERT_LT(writer + 1, plan.steps.size());
    std::rotate(plan.steps.begin() + static_cast<std::ptrdiff_t>(writer), plan.steps.begin() + static_cast<std::ptrdiff_t>(writer) + 1,
                plan.steps.end());
  });
}
TEST(CheckStoresWithin, FindsAPieceThatIsNoPieceOfItsJoin) {
  expect_found("to be one of its pieces, once", [](Plan& plan) {
    const int join = item_named(plan, "concat");
    plan.graph[item_named(plan, "matmul")].within = compile::Within{join, {{16, 32}, {64, 1}, 0}};
  });
}
TEST(CheckStoresWithin, FindsAJoinInTheMemoryOfAnother) {
  expect_found("", [](Plan& plan) {
    // The second product is read when the first piece is there already.
    int last = -1;
    for (int i = 0; i < item_named(plan, "cos"); ++i) last = plan.graph[i].op->name() == "matmul" ? i : last;
    const std::size_t at = plan.storage[static_cast<std::size_t>(item_named(plan, "concat"))].offset;
    plan.storage[static_cast<std::size_t>(last)].offset = at;
    EXPECT_NE(complaint(plan), "") << to_string(plan);
  });
}

// On devices that run steps side by side pieces do not wait for each other, and readers of the join wait for all of them.
TEST(CheckStoresWithin, PiecesDoNotWaitForEachOther) {
  const Tensor x = known(normal({16, 32})), y = known(normal({16, 16}));
  const Plan plan = plan_of({matmul(concat({sin(x), cos(y) * 2}, 1), known(normal({48, 8})))}, queue());
  const auto after = dependencies(plan);
  ASSERT_GE(plan.steps.size(), 3u) << to_string(plan);
  for (std::size_t s = 0; s + 1 < after.size(); ++s) EXPECT_TRUE(after[s].empty()) << s << "\n" << to_string(plan);
  EXPECT_EQ(after.back().size(), plan.steps.size() - 1);
  // The check misses each of them that is left out.
  for (std::size_t missing = 0; missing < after.back().size(); ++missing) {
    auto fewer = after;
    fewer.back().erase(fewer.back().begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_THROW(check_order(plan, fewer), Error);
  }
  EXPECT_NO_THROW(check_order(plan, after));
}

// The reason for each copy, as TEGULA_PRINT=within prints it.
TEST(RefusedPieces, NameTheReason) {
  const auto refused = [](const Tensors& results) {
    Graph graph = graph_of(results);
    optimize(graph, runtime::cpu());
    return refused_pieces(graph, runtime::cpu());
  };
  const Tensor x = known(normal({16, 32})), thin = known(normal({16, 3}));
  const Tensor y = exp(x);
  EXPECT_EQ(refused({concat({y, sin(x)}, 1)}), "");
  EXPECT_EQ(refused({concat({y, x}, 1)}), "concat(16, 64), piece 1 (leaf(16, 32)) is copied: no step computes it\n");
  EXPECT_EQ(refused({concat({y, sin(x)}, 1), y}), "concat(16, 64), piece 0 (exp(16, 32)) is copied: it is a result\n");
  EXPECT_EQ(refused({concat({y, sin(x)}, 1), concat({cos(x), y}, 0)}),
            "concat(16, 64), piece 0 (exp(16, 32)) is copied: it is stored in another part\n");
  EXPECT_EQ(refused({concat({exp(thin), sin(x)}, 1)}),
            "concat(16, 35), piece 0 (exp(16, 3)) is copied: its rows are short, or its axes lie in another order\n");
}

}  // namespace
}  // namespace compile
}  // namespace tegula
