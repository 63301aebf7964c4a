// Graph files: a traced graph is read back to the bit, with its gradients, state and lines; other files are refused.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tegula/ops/tile_kernel.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

constexpr const char* kPath = "test.graph";  // every test has a working directory of its own

void expect_same_bits(const Tensor& a, const Tensor& b) {
  const HostArray x = a.to_array(), y = b.to_array();
  ASSERT_EQ(x.dtype, y.dtype);
  ASSERT_EQ(x.shape, y.shape);
  EXPECT_EQ(std::memcmp(x.buffer->data(), y.buffer->data(), x.bytes()), 0) << a.print() << "\n" << b.print();
}

Tensor numbers(const Shape& shape, double seed = 1) { return sin(reshape(cast(arange(numel(shape)), f32), shape) * 0.37 + seed); }

struct Mlp {
  nn::Linear first{6, 5}, second{5, 3};
  Tensor operator()(const Tensor& x) { return second(relu(first(x))); }
};

TEST(GraphFile, AFunctionOfAWeightComesBackToTheBit) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_graph(kPath, net, x);
  const GraphFunction f = load_graph(kPath);
  ASSERT_EQ(f.inputs().size(), 1u);
  EXPECT_EQ(f.inputs()[0].shape, Shape({4, 6}));
  EXPECT_EQ(f.outputs()[0].shape, Shape({4, 3}));
  expect_same_bits(f(x), net(x));
  auto run = jit(f);
  auto original = jit([&](const Tensor& in) { return net(in); });
  expect_same_bits(run(x), original(x));
  EXPECT_EQ(run.print_kernels(), original.print_kernels());
}

TEST(GraphFile, WeightsHaveTheNamesOfTheModuleAndCanBeTrained) {
  Mlp net;
  const Tensor x = numbers({4, 6});
  save_graph(kPath, net, x);
  const GraphFunction f = load_graph(kPath);
  const Parameters mine = parameters(f), theirs = parameters(net);
  ASSERT_EQ(mine.size(), theirs.size());
  for (const Parameter& one : theirs) {
    const auto found = std::find_if(mine.begin(), mine.end(), [&](const Parameter& other) { return other.name == one.name; });
    ASSERT_NE(found, mine.end()) << one.name;
    expect_same_bits(grad(sum(square(f(x))), Wrt(*found)), grad(sum(square(net(x))), Wrt(one)));
  }
}

TEST(GraphFile, AGradientThroughSoftmaxAndNormIsTheSame) {
  nn::LayerNorm norm(6);
  const auto f = [&](const Tensor& x) { return softmax(norm(x), 1); };
  const Tensor x = numbers({4, 6}), w = numbers({4, 6}, 3);
  save_graph(kPath, {.names = nn::state(norm)}, f, x);
  const GraphFunction g = load_graph(kPath);
  expect_same_bits(g(x), f(x));
  const auto first = [&](const auto& function, const Tensor& in) { return grad(sum(function(in) * w), in); };
  expect_same_bits(first(g, x), first(f, x));
  const auto second = [&](const auto& function) { return grad(sum(square(first(function, x))), x); };
  expect_same_bits(second(g), second(f));
}

TEST(GraphFile, ATrainingStepIsAFunctionThatWritesItsState) {
  Mlp net;
  optim::Adam adam(parameters(net), {.lr = 0.01});
  const auto step = [&](const Tensor& x, const Tensor& y) {
    const Tensor loss = mse_loss(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  };
  const Tensor x = numbers({4, 6}), y = numbers({4, 3}, 2);
  save_graph(kPath, {.names = nn::state(net)}, step, x, y);
  auto loaded = jit(load_graph(kPath));
  auto original = jit(step);
  for (int i = 0; i < 5; ++i) expect_same_bits(loaded(x, y), original(x, y));
}

TEST(GraphFile, DropoutGoesOnWithItsGenerator) {
  Generator generator(7);
  const auto f = [&](const Tensor& x) { return dropout(x, 0.5, &generator); };
  const Tensor x = numbers({4, 6});
  save_graph(kPath, f, x);
  auto loaded = jit(load_graph(kPath));
  auto original = jit(f);
  for (int i = 0; i < 3; ++i) expect_same_bits(loaded(x), original(x));
}

TEST(GraphFile, ALoopIsOneNodeAndHasItsGradient) {
  nn::LSTM lstm(3, 4);
  const auto f = [&](const Tensor& x) { return lstm(x).output; };
  const Tensor x = numbers({2, 7, 3});
  save_graph(kPath, {.names = nn::state(lstm)}, f, x);
  const GraphFunction g = load_graph(kPath);
  expect_same_bits(g(x), f(x));
  expect_same_bits(grad(sum(square(g(x))), x), grad(sum(square(f(x))), x));
}

// Ops without a declared case that can be traced.
TEST(GraphFile, NumbersDrawnCodesCheckpointsAndPrintsComeBack) {
  Generator generator(3);
  const auto f = [&](const std::vector<Tensor>& x) {
    std::vector<Tensor> out{normal({2, 3}, 0, 1, {.generator = &generator}), uniform({5}, 0, 1, {.dtype = f64, .generator = &generator}),
                            randint(0, 1000, {4}, &generator), multinomial(abs(x[0]) + 0.1, 2, Replacement::Yes, &generator)};
    out.push_back(unpack_e4m3(pack_e4m3(x[0], 2), 2));
    const auto both = checkpoints([](const std::vector<Tensor>& in) { return std::vector{sin(in[0]), cos(in[0]) * in[0]}; }, {x[0]});
    out.insert(out.end(), both.begin(), both.end());
    out.push_back(debug_print(checkpoint([](const std::vector<Tensor>& in) { return tanh(in[0]); }, {x[0]}), "h"));
    return out;
  };
  const std::vector<Tensor> x{numbers({2, 6})};
  save_graph(kPath, f, x);
  const GraphFunction g = load_graph(kPath);
  auto loaded = jit(g);
  auto original = jit(f);
  for (int call = 0; call < 3; ++call) {
    const auto got = loaded(x), want = original(x);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], want[i]);
  }
  const auto gradient = [&](const auto& function) {
    const std::vector<Tensor> out = function(x);
    return grad(sum(square(out[5]) + out[6] * out[7]), x[0]);
  };
  expect_same_bits(gradient(g), gradient(f));
}

TEST(GraphFile, StructuresAreListsInTheFile) {
  const auto f = [](const std::vector<Tensor>& xs) { return std::pair(xs[0] + xs[1], std::vector{xs[0] * 2, xs[1]}); };
  const std::vector<Tensor> xs{numbers({3}), numbers({3}, 5)};
  save_graph(kPath, {.inputs = {"a", "b"}, .outputs = {"sum", "twice", "b"}, .metadata = {{"units", "metres"}}}, f, xs);
  const GraphFunction g = load_graph(kPath);
  EXPECT_EQ(g.inputs()[1].name, "b");
  EXPECT_EQ(g.outputs()[0].name, "sum");
  EXPECT_EQ(g.metadata().at("units"), "metres");
  const auto results = g(xs);
  ASSERT_EQ(results.size(), 3u);
  expect_same_bits(results[1], xs[0] * 2);
  EXPECT_THROW(g(xs[0], xs[1]), Error);  // three results, not one
}

TEST(GraphFile, CapturedTensorsAreConstants) {
  const Tensor table = numbers({5, 2}), pending = numbers({2}) * 3;
  const auto f = [&](const Tensor& i) { return take(table, i, 0) + pending; };
  const Tensor at = tensor({4, 0, 2});
  save_graph(kPath, f, at);
  const GraphFunction g = load_graph(kPath);
  EXPECT_TRUE(g.state().empty());
  expect_same_bits(g(at), f(at));
}

TEST(GraphFile, ErrorsNameTheLinesOfTheSavedProgram) {
  const Tensor table = numbers({5, 2});
  const int line = __LINE__ + 1;
  save_graph(kPath, [&](const Tensor& i) { return take(table, i, 0); }, tensor({4, 0, 2}));
  try {
    load_graph(kPath)(tensor({4, 7, 2})).to_host();
    FAIL() << "an index out of range";
  } catch (const Error& error) {
    EXPECT_EQ(error.report().where.line(), static_cast<std::uint32_t>(line)) << error.what();
    EXPECT_NE(std::string(error.what()).find("graph_file_test.cpp"), std::string::npos) << error.what();
  }
}

void scaled(tile::Builder& b, const TileArguments& a) {
  const auto i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]), within = i < a.numbers[0];
  const auto zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const auto x = b.load(a.inputs[0] + i, within);
  const auto sums = b.for_(zero, b.constant(std::int64_t{3}, i64), one, {x},
                           [&](tile::Value, auto carried) { return std::vector<tile::Value>{carried[0] * 2.0 + x}; });
  b.check(a.numbers[0] < 100, a.numbers[0], "fewer than 100 numbers");
  b.store(a.outputs[0] + i, sums[0], within);
}
Tensor by_kernel(const Tensor& x) {
  const std::int64_t n = x.numel();
  return tile_kernel("scaled", scaled, {x}, {.grid = {1}, .outputs = {{x.shape(), f32, 0}}, .numbers = {n}, .constants = {64}})[0];
}
// The same program by another function.
void also_scaled(tile::Builder& b, const TileArguments& a) { scaled(b, a); }

TEST(GraphFile, AKernelOfOnesOwnIsItsProgramAndHasToBeAllowed) {
  const auto f = [](const Tensor& x) {
    return custom_function(
        "triple", [](const std::vector<Tensor>& in) { return by_kernel(in[0]); },
        [](const std::vector<Tensor>&, const Tensor&, const Tensor& dy) { return std::vector{by_kernel(dy)}; }, {x});
  };
  const Tensor x = numbers({50});
  save_graph(kPath, f, x);
  EXPECT_THROW(load_graph(kPath), Error);
  const GraphFunction g = load_graph(kPath, {.tile_kernels = true});
  expect_same_bits(g(x), f(x));
  expect_same_bits(grad(sum(square(g(x))), x), grad(sum(square(f(x))), x));
  auto loaded = jit(g);
  auto original = jit(f);
  expect_same_bits(loaded(x), original(x));
  EXPECT_EQ(loaded.print_kernels(), original.print_kernels());
}

// y begins as input 1: y += reals[0] · x.
void added(tile::Builder& b, const TileArguments& a) {
  const auto i = b.arange(0, a.constants[0]), within = i < a.numbers[0];
  b.store(a.outputs[0] + i, b.load(a.outputs[0] + i, within) + b.load(a.inputs[0] + i, within) * a.reals[0], within);
}

TEST(GraphFile, AKernelsRealNumbersAndWhatItsResultsBeginAsComeBack) {
  const auto f = [](const Tensor& x, double rate) {
    const Tensor y = x * 3.0;
    return tile_kernel("added", added, {x, y},
                       {.grid = {1},
                        .outputs = {{.shape = x.shape(), .dtype = f32, .begins_as = 1}},
                        .numbers = {50},
                        .constants = {64},
                        .reals = {rate}})[0];
  };
  const Tensor x = numbers({50});
  const Tensor want = x * 3.0 + x * 0.25;
  expect_same_bits(f(x, 0.25), want);
  save_graph(kPath, [&](const Tensor& t) { return f(t, 0.25); }, x);
  expect_same_bits(load_graph(kPath, {.tile_kernels = true})(x), want);
  const auto key = [&](double rate) {
    Words words;
    append(words, f(x, rate).node()->op());
    return words;
  };
  EXPECT_NE(key(0.25), key(0.5));
}

TEST(GraphFile, KernelsAreToldApartByNameAndProgram) {
  const Tensor x = numbers({50});
  const auto key = [&](const char* name, TileKernel kernel, std::int64_t block) {
    const Tensor y =
        tile_kernel(name, kernel, {x}, {.grid = {1}, .outputs = {{x.shape(), f32, 0}}, .numbers = {50}, .constants = {block}})[0];
    Words words;
    append(words, y.node()->op());
    return words;
  };
  EXPECT_EQ(key("scaled", scaled, 64), key("scaled", also_scaled, 64));
  EXPECT_NE(key("scaled", scaled, 64), key("scaled", scaled, 128));
  EXPECT_NE(key("scaled", scaled, 64), key("other", scaled, 64));
}

TEST(GraphFile, OtherSizesAreRefused) {
  save_graph(kPath, [](const Tensor& x) { return x + 1; }, numbers({3}));
  const GraphFunction g = load_graph(kPath);
  EXPECT_THROW(g(numbers({4})), Error);
  EXPECT_THROW(g(cast(numbers({3}), f64)), Error);
  EXPECT_THROW(g({}), Error);
}

// --- files ---

std::string contents() {
  std::ifstream file(kPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& text) { std::ofstream(kPath, std::ios::binary) << text; }

TEST(GraphFile, ATruncatedFileIsRefused) {
  Mlp net;
  save_graph(kPath, net, numbers({4, 6}));
  const std::string whole = contents();
  for (std::size_t length = 0; length < whole.size(); length += 97) {
    write(whole.substr(0, length));
    EXPECT_THROW(load_graph(kPath), Error) << length;
  }
}

// One digit, letter or bracket of the text is another: the graph is refused, or is another one that is sound.
TEST(GraphFile, AChangedTextIsRefusedOrSound) {
  nn::LayerNorm norm(6);
  nn::LSTM lstm(6, 2);
  const auto f = [&](const Tensor& x) {
    const Tensor y = lstm(softmax(norm(x), 2)).output;
    return sum(concat({slice(y, 1, {0, 2}), cumsum(permute(y, {0, 1, 2}), 2)}, 1), 0);
  };
  const Tensor x = numbers({2, 4, 6});
  save_graph(kPath, {.names = nn::state(norm)}, f, x);
  const std::string whole = contents();
  const std::size_t end = whole.find("\"constants");  // end of the text, about
  std::uint64_t state = 12345;
  const auto draw = [&](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  int refused = 0, sound = 0;
  for (int i = 0; i < 400; ++i) {
    std::string other = whole;
    const std::size_t at = 8 + draw(whole.size() / 2);
    static_cast<void>(end);
    constexpr std::string_view kLetters = "0123456789-,[]{}\"a";
    other[at] = kLetters[draw(kLetters.size())];
    write(other);
    try {
      const GraphFunction g = load_graph(kPath);
      if (g.inputs().size() == 1 && g.inputs()[0].shape == x.shape() && g.inputs()[0].dtype == f32) {
        for (const Tensor& result : g({x})) result.to_array();
      }
      ++sound;
    } catch (const Error&) { ++refused; }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(sound, 0);
}

TEST(GraphFile, WeightsAloneAreNoGraph) {
  Mlp net;
  save(net, kPath);
  try {
    load_graph(kPath);
    FAIL();
  } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("without a graph"), std::string::npos) << error.what(); }
}

TEST(GraphFile, AFailedSaveLeavesTheOldFile) {
  save_graph(kPath, [](const Tensor& x) { return x + 1; }, numbers({3}));
  const std::string before = contents();
  const auto bad = [](const Tensor& x) { return x + numbers({7}); };
  EXPECT_THROW(save_graph(kPath, bad, numbers({3})), Error);
  EXPECT_EQ(contents(), before);
}

}  // namespace
}  // namespace tegula
