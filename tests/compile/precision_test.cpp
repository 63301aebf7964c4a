// Promises of the precision pass: products in half or TF32, everything that needs f32 in f32, each value stored once, and the dtypes of
// the user's graph unchanged.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <tegula/models.h>
#include <tegula/tegula.h>

#include "tegula/compile/passes/dtypes.h"
#include "tegula/compile/passes/fold/fold.h"
#include "tegula/graph/structural.h"
#include "tests/support/flat_graph.h"
#include "tests/support/queued_device.h"

namespace tegula::compile {
namespace {

using test::flat;
using test::is_product;

/// The pass on products; other devices write small ones as sums.
class PrecisionPass : public testing::Test {
 protected:
  PrecisionPass() : before_(default_device()) { set_default_device(cpu()); }
  ~PrecisionPass() override { set_default_device(before_); }

 private:
  Device& before_;
};

/// For a device that computes with halves whatever a precision wants in half.
Graph assigned(const std::vector<Tensor>& outputs) {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  Graph graph = flat(outputs);
  assign_precision(graph, device);
  verify(graph, "precision");
  return graph;
}

/// Convolution, batch norm, ReLU, pooling, convolution, and a classifier, with gradients: outputs, then gradients.
struct Net {
  nn::Conv2d conv1{3, 8, 3, {.padding = Same}};
  nn::BatchNorm2d norm{8};
  nn::MaxPool2d pool{2};
  nn::Conv2d conv2{8, 4, 3, {.padding = Same}};
  nn::Linear head{4 * 16, 5};
  Tensor operator()(Tensor x) { return head(flatten(relu(conv2(pool(relu(norm(conv1(x)))))), 1)); }  // (N, 3, 8, 8) -> (N, 5)
};

struct Batch {
  Tensor x = normal({6, 3, 8, 8}), y = randint(0, 5, {6});
  Batch() { eval(x, y); }
};

/// The same without kinks, where rounding would send gradients another way.
struct SmoothNet : Net {
  static constexpr auto fields = nn::fields<&Net::conv1, &Net::norm, &Net::conv2, &Net::head>;
  Tensor operator()(Tensor x) { return head(flatten(gelu(conv2(avg_pool2d(tanh(norm(conv1(x))), 2))), 1)); }
};

template <class N>
std::vector<Tensor> step(N& net, const Batch& batch, Precision precision) {
  for (const Parameter& p : nn::state(net)) eval(p.read());
  const PrecisionScope scope(precision);
  const Tensor loss = cross_entropy(net(batch.x), batch.y);
  std::vector<Tensor> outputs = grad(loss, parameters(net));
  outputs.insert(outputs.begin(), loss);
  return outputs;
}

/// Attention is a call for halves: its operands and results are cast, with views between.
TEST_F(PrecisionPass, AHalfThatPassesThroughF32IsNotCopied) {
  const PrecisionScope scope(Precision::bf16);
  const Tensor x = normal({8, 16}), w = normal({16, 48}), out = normal({48, 4});
  eval(x, w, out);
  const Tensor rows = matmul(x, w);                                                    // stored as bf16
  const Tensor half = cast(permute(reshape(rows, {8, 3, 16}), {1, 0, 2}), bf16);       // was that before
  const Tensor parts = concat({cast(slice(half, 0, {0, 1}), f32), cast(slice(half, 0, {1, 3}), f32)}, 0);
  const Tensor wide = cast(half, f32);
  const Tensor y = matmul(reshape(permute(wide, {1, 0, 2}), {8, 48}), out), z = matmul(reshape(permute(parts, {1, 0, 2}), {8, 48}), out);
  const Graph graph = assigned({y, z});
  int of_halves = 0;
  for (const Item& item : graph.items) of_halves += item.op == cast_op() && is_half(graph[item.inputs[0]].dtype);
  EXPECT_EQ(of_halves, 2) << "those of the results: none is copied, none goes back and forth";
  const std::vector<float> a = y.to_host(), b = z.to_host();
  EXPECT_EQ(a, b);
}

TEST_F(PrecisionPass, OneProductInTwoPrecisionsIsTwo) {
  const Tensor a = uniform({16, 16}, 1, 2), b = uniform({16, 16}, 1, 2);
  eval(a, b);
  auto both = jit([](Tensor a, Tensor b) {
    const Tensor exact = matmul(a, b);
    const PrecisionScope half(Precision::bf16);
    return std::pair(exact, matmul(a, b));
  });
  const auto [exact, rounded] = both(a, b);
  EXPECT_GT(max(abs(exact - rounded)).item(), 0);
  EXPECT_EQ(max(abs(exact - matmul(a, b))).item(), 0);
}

TEST_F(PrecisionPass, ProductsAreHalfAndReductionsAndResultsStayF32) {
  manual_seed(1);
  Net net;
  const Batch batch;
  for (const auto& [precision, half] : {std::pair{Precision::bf16, bf16}, std::pair{Precision::fp16, f16}}) {
    const Graph graph = assigned(step(net, batch, precision));
    int products = 0, pools = 0;
    for (const Item& item : graph.items) {
      if (item.role() == Role::Library) { EXPECT_EQ(item.dtype, half) << item.op->name(); }
      products += is_product(item);
      pools += item.role() == Role::Library && !is_product(item);
      const bool wide = item.role() == Role::Reduce || item.op->name() == "exp" || item.op->name() == "rsqrt";
      if (wide && is_float(item.dtype)) { EXPECT_EQ(item.dtype, f32) << item.op->name(); }
    }
    EXPECT_EQ(products, 3 + 5);  // no gradient of the images
    EXPECT_EQ(pools, 2);
    for (int output : graph.outputs) EXPECT_EQ(graph[output].dtype, f32);
    for (const Leaf& leaf : graph.leaves) EXPECT_FALSE(is_half(leaf.dtype));
  }
}

TEST_F(PrecisionPass, NothingIsStoredInTwoDtypes) {
  manual_seed(1);
  Net net;
  const Batch batch;
  const Graph graph = assigned(step(net, batch, Precision::bf16));
  int casts = 0;
  for (const Item& item : graph.items) {
    if (item.op != cast_op() || item.dtype != bf16) continue;
    ++casts;
    EXPECT_EQ(graph[item.inputs[0]].role(), Role::Leaf) << "of " << graph[item.inputs[0]].op->name();  // images, weights and biases
  }
  EXPECT_EQ(casts, 1 + 3 + 3);
}

TEST_F(PrecisionPass, EpiloguesFoldAsInF32) {
  manual_seed(1);
  Net net;
  const Batch batch;
  const auto folded = [&](Precision precision) {
    Graph graph = assigned(step(net, batch, precision));
    fold_epilogues(graph, runtime::cpu());
    std::vector<runtime::Expression> all;
    for (const Item& item : graph.items) {
      if (item.role() == Role::Library) all.push_back(*item.epilogue);
    }
    return all;
  };
  EXPECT_EQ(folded(Precision::bf16), folded(Precision::fp32));
}

TEST_F(PrecisionPass, Fp32ChangesNothingAndTf32OnlyTheArithmeticOfProducts) {
  manual_seed(1);
  Net net;
  const Batch batch;
  const Graph before = flat(step(net, batch, Precision::fp32)), exact = assigned(step(net, batch, Precision::fp32));
  EXPECT_EQ(to_string(exact), to_string(before));
  Graph tf32 = assigned(step(net, batch, Precision::tf32));
  for (Item& item : tf32.items) {
    EXPECT_EQ(item.arithmetic, is_product(item) ? runtime::Arithmetic::TF32 : runtime::Arithmetic::Full);
    item.arithmetic = runtime::Arithmetic::Full;
  }
  ASSERT_EQ(tf32.size(), exact.size());
  for (int i = 0; i < tf32.size(); ++i) EXPECT_EQ(tf32[i].dtype, exact[i].dtype);
}

TEST_F(PrecisionPass, TheSecondTimeChangesNothing) {
  manual_seed(1);
  Net net;
  const Batch batch;
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
    Graph graph = assigned(step(net, batch, precision));
    const std::string once = to_string(graph);
    assign_precision(graph, cpu());
    EXPECT_EQ(to_string(graph), once) << name(precision);
  }
}

TEST_F(PrecisionPass, DtypesThatTheUserNamedStay) {
  const Tensor x = normal({4, 8}), w = normal({8, 4});
  eval(x, w);
  const PrecisionScope scope(Precision::fp16);
  const Tensor wide = matmul(cast(x, f64), cast(w, f64)), narrow = matmul(cast(x, bf16), cast(w, bf16));
  const Tensor own = cast(matmul(x, w), bf16);  // the product is ours to choose, its cast is not
  EXPECT_EQ(wide.dtype(), f64);
  EXPECT_EQ(matmul(x, w).dtype(), f32);
  const Graph graph = assigned({wide, narrow, own});
  std::vector<DType> products;
  for (const Item& item : graph.items) {
    if (is_product(item)) products.push_back(item.dtype);
  }
  EXPECT_EQ(products, (std::vector<DType>{f64, bf16, f16}));
  EXPECT_EQ(graph[graph.outputs[0]].dtype, f64);
  EXPECT_EQ(graph[graph.outputs[1]].dtype, bf16);
  EXPECT_EQ(graph[graph.outputs[2]].dtype, bf16);
}

TEST_F(PrecisionPass, AScopeCoversTheOpsCalledInItAndTheirGradients) {
  const Tensor x = normal({4, 8});
  const Variable first = normal({8, 8}), second = normal({8, 8});
  eval(x, first.read(), second.read());
  const PrecisionScope outer(Precision::bf16);
  Tensor y = matmul(x, first);
  {
    const PrecisionScope exact(Precision::fp32);
    y = matmul(y, second);
  }
  EXPECT_EQ(current_precision(), Precision::bf16);
  std::vector<Tensor> gradients;
  {
    const PrecisionScope elsewhere(Precision::tf32);
    gradients = grad(sum(y * y), {first, second});
  }
  const Graph graph = assigned(gradients);
  int half = 0, wide = 0;
  for (const Item& item : graph.items) {
    if (!is_product(item)) continue;
    EXPECT_EQ(item.arithmetic, runtime::Arithmetic::Full);
    (item.dtype == bf16 ? half : wide)++;
  }
  EXPECT_EQ(half, 2);  // x first, its weight gradient
  EXPECT_EQ(wide, 3);  // y second, and two gradients
}

TEST_F(PrecisionPass, AProductIsThatOfTheRoundedOperands) {
  manual_seed(2);
  const Tensor x = normal({37, 65}), w = normal({65, 33});
  for (const auto& [precision, half] : {std::pair{Precision::bf16, bf16}, std::pair{Precision::fp16, f16}}) {
    const Tensor expected = cast(matmul(cast(x, half), cast(w, half)), f32);
    const PrecisionScope scope(precision);
    const Tensor y = matmul(x, w);
    EXPECT_EQ(y.to_host(), expected.to_host()) << name(precision);
  }
}

TEST_F(PrecisionPass, GradientsAgreeWithThoseOfF32) {
  manual_seed(3);
  SmoothNet net;
  const Batch batch;
  const std::vector<Tensor> exact = step(net, batch, Precision::fp32);
  eval(exact[0]);
  std::vector<std::vector<float>> reference;
  for (const Tensor& g : exact) reference.push_back(g.to_host());
  for (const auto& [precision, tolerance] : {std::pair{Precision::bf16, 0.02}, std::pair{Precision::fp16, 0.0025}}) {
    const std::vector<Tensor> rounded = step(net, batch, precision);
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      if (i == 2) continue;  // a bias before a batch norm: its gradient is 0 but for rounding
      const std::vector<float> values = rounded[i].to_host();
      double error = 0, size = 0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        error += (values[k] - reference[i][k]) * (values[k] - reference[i][k]);
        size += reference[i][k] * reference[i][k];
      }
      EXPECT_LT(std::sqrt(error), tolerance * std::sqrt(size)) << name(precision) << " output " << i;
      EXPECT_GT(size, 0);
    }
  }
}

TEST_F(PrecisionPass, IsPartOfTheExecutable) {
  const Tensor x = normal({16, 16});
  auto f = jit([](Tensor a) { return matmul(a, a); });
  const std::vector<float> exact = f(x).to_host();
  {
    const PrecisionScope scope(Precision::bf16);
    EXPECT_NE(f(x).to_host(), exact);
    EXPECT_NE(f.print_graph().find("matmul %1, %1 : bf16"), std::string::npos) << f.print_graph();
  }
  EXPECT_EQ(f(x).to_host(), exact);
  EXPECT_EQ(f.executables(), 2);
  set_default_precision(Precision::bf16);
  EXPECT_NE(f(x).to_host(), exact);
  EXPECT_NE(matmul(x, x).to_host(), exact);
  set_default_precision(Precision::fp32);
  EXPECT_EQ(matmul(x, x).to_host(), exact);
  EXPECT_EQ(f.executables(), 2);
}

TEST_F(PrecisionPass, NamesAreThoseOfTheCommandLine) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8}) {
    EXPECT_EQ(precision_of(name(precision)), precision);
  }
  EXPECT_FALSE(precision_of("fp4"));
}

/// The row of a table that begins with `op`, blanks squeezed.
std::string row(const std::string& table, const std::string& op) {
  const auto begin = ("\n" + table).find("\n" + op + " ");
  if (begin == std::string::npos) return "";
  std::string text;
  for (std::size_t i = begin; i < table.size() && table[i] != '\n'; ++i) {
    if (table[i] != ' ' || (!text.empty() && text.back() != ' ')) text += table[i];
  }
  return text;
}

TEST_F(PrecisionPass, TheTableOfTheMnistCnn) {
  manual_seed(4);
  models::Model model = models::make("mnist-cnn");
  optim::Adam adam(parameters(model.net));
  auto train = jit([&](Tensor x, Tensor y) {
    const Tensor loss = cross_entropy(model.net(x), y);
    adam.step(grad(loss, adam.parameters()));
    return loss;
  });
  const Tensor x = normal({4, 1, 28, 28}), y = randint(0, 10, {4});
  const auto table = [&](Precision precision) {
    const PrecisionScope scope(precision);
    train(x, y);
    return train.print_precision();
  };
  const std::string fp32 = table(Precision::fp32), tf32 = table(Precision::tf32), bf16 = table(Precision::bf16),
                    fp16 = table(Precision::fp16);
  EXPECT_EQ(row(fp32, "convolution"), "convolution f32 f32 f32 f32, sums f32 f32 3");
  EXPECT_EQ(row(tf32, "convolution"), "convolution f32 f32 f32 tf32, sums f32 f32 3");
  EXPECT_EQ(row(bf16, "convolution"), "convolution f32 f32 f32 f32, sums f32 f32 3") << "the CPU would convert them";
  EXPECT_EQ(row(fp16, "convolution"), "convolution f16 f16 f16 f16, sums f32 f16 3");
  EXPECT_EQ(row(fp16, "convolution_backward_data"), "convolution_backward_data f16 f16 f16, sums f32 f16 2");
  EXPECT_EQ(row(fp16, "convolution_backward_weight"), "convolution_backward_weight f16 f16 f16, sums f32 f16 3");
  EXPECT_EQ(row(tf32, "convolution_backward_weight"), "convolution_backward_weight f32 f32 tf32, sums f32 f32 3");
  EXPECT_EQ(row(fp16, "relu_gradient"), "relu_gradient f16 f16 f32 f16 4");
  EXPECT_EQ(row(fp16, "max"), "max f16 f32 f32 1");  // for the scores, and the rest of the softmax:
  EXPECT_EQ(row(fp16, "exp"), "exp f32 f32 f32 1");
  EXPECT_EQ(row(fp16, "check_labels"), "check_labels f32 i64 f32 f32 f32 2") << fp16;
}

TEST_F(PrecisionPass, TheCpuTakesHalvesWhereTheyPay) {
  // The CPU multiplies matrices of bf16, and converts convolutions.
  const Variable kernel(normal({8, 8, 3, 3})), weight(normal({64, 64}));
  const auto halves = [&](std::int64_t images, std::int64_t rows, Precision precision) {
    const PrecisionScope scope(precision);
    const Tensor x = normal({images, 8, 16, 16}), y = normal({rows, 64});
    eval(x, y);
    Graph graph = flat({conv2d(x, kernel.read(), {.padding = 1}), matmul(y, weight.read())});
    assign_precision(graph, cpu());
    return std::ranges::count_if(graph.items, [](const Item& item) { return is_product(item) && is_half(item.dtype); });
  };
  EXPECT_EQ(halves(1, 1024, Precision::bf16), 2) << "the product does more";
  EXPECT_EQ(halves(8, 64, Precision::bf16), 0) << "the convolution does more";
  EXPECT_EQ(halves(8, 64, Precision::fp16), 2) << "nobody takes f16 here for speed";
}

// ---- What is carried from step to step stays as the user wrote it.

TEST_F(PrecisionPass, ARunningSumIsNotRoundedAtEachStep) {
  const Variable w(normal({32, 4}));
  auto run = jit([&](Tensor x) {
    const PrecisionScope half(Precision::bf16);
    Tensor c = x;
    for (int step = 0; step < 512; ++step) c = c + 0.0004;
    return std::vector<Tensor>{c, matmul(tanh(c), w.read())};
  });
  const std::vector<Tensor> results = run(zeros({8, 32}));
  EXPECT_NEAR(results[0].to_host()[0], 0.2048, 0.002048);
  const Tensor want = matmul(full({8, 32}, std::tanh(0.2048)), w.read());
  const auto a = results[1].to_host(), b = want.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.02);
}

/// An LSTM cell as anybody writes it, T steps of it, and a look at the last state.
struct Lstm {
  Variable input{normal({16, 64}) * 0.2}, recurrent{normal({16, 64}) * 0.2}, bias{zeros({64})};
  std::vector<Tensor> operator()(const Tensor& xs, int steps) const {
    Tensor h = zeros({4, 16}), c = zeros({4, 16});
    for (int t = 0; t < steps; ++t) {
      const Tensor x = reshape(slice(xs, 0, {.begin = t, .end = t + 1}), {4, 16});
      const auto z = chunk(matmul(x, input.read()) + matmul(h, recurrent.read()) + bias.read(), 4, 1);
      c = sigmoid(z[1]) * c + sigmoid(z[0]) * tanh(z[2]);
      h = sigmoid(z[3]) * tanh(c);
    }
    return {h, c};
  }
};

TEST_F(PrecisionPass, TheStateOfARecurrenceStaysAndItsProductsDoNot) {
  const Lstm lstm;
  const PrecisionScope half(Precision::bf16);
  const Graph graph = assigned(lstm(normal({12, 4, 16}), 12));
  int products = 0, full_states = 0, half_states = 0;
  const std::vector<bool> states = recurrent_states(flat(lstm(normal({12, 4, 16}), 12)));
  EXPECT_GE(std::ranges::count(states, true), 2 * 8) << "c and f * c of most steps";
  for (const Item& item : graph.items) {
    if (is_product(item)) products += is_half(item.dtype);
    if (item.role() == Role::Elementwise && item.op->name() == "add" && item.shape == Shape{4, 16})
      (is_half(item.dtype) ? half_states : full_states)++;
  }
  EXPECT_EQ(products, 24);
  EXPECT_EQ(full_states, 12);
  EXPECT_EQ(half_states, 0);
}

TEST_F(PrecisionPass, LayersThatFollowEachOtherAreNoRecurrence) {
  std::vector<Variable> weights;
  for (int layer = 0; layer < 12; ++layer) {
    const Tensor w = normal({16, 16});
    eval(w);
    weights.emplace_back(w);
  }
  const PrecisionScope half(Precision::bf16);
  Tensor x = normal({8, 16});
  for (const Variable& w : weights) x = x + relu(matmul(x, w.read()));
  const std::vector<bool> states = recurrent_states(flat({x}));
  EXPECT_EQ(std::ranges::count(states, true), 0);
}

}  // namespace
}  // namespace tegula::compile
