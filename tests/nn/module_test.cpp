// Fields and their names, containers, copies, moves, the mode.
#include <gtest/gtest.h>

#include <tegula/tegula.h>

template <>
inline constexpr bool tegula::nn::kPlain<tegula::nn::Bilinear*> = true;

namespace tegula {
namespace {

std::vector<std::string> names_of(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}
using Names = std::vector<std::string>;

struct Block {
  int in, out;
  nn::Conv2d conv1{in, out, 3, {.padding = Same}};
  nn::BatchNorm2d bn1{out};
  nn::Conv2d conv2{out, out, 3, {.padding = Same, .bias = false}};
  std::optional<nn::Conv2d> down = {};
  Tensor operator()(Tensor x) {
    const Tensor h = conv2(relu(bn1(conv1(x))));
    return relu(h + (down ? (*down)(x) : x));
  }
};

// A function: the list as the field's default makes GCC 13.3 (Ubuntu 24.04) fail with an internal error.
std::vector<Block> two_blocks() { return {{1, 2}, {2, 3, {2, 3, 1}, nn::BatchNorm2d{3}, {3, 3, 1}, nn::Conv2d{2, 3, 1}}}; }

enum class Kind : std::uint8_t { A, B };

struct Everything {
  int depth = 2;
  float rate = 0.5F;
  Kind kind = Kind::B;
  std::string title = "net";
  Shape shape{1, 2};
  Variable scale = Variable(1.0F);
  nn::Buffer count = zeros({3});
  std::vector<Block> blocks = two_blocks();
  std::array<nn::Linear, 2> pair{nn::Linear{2, 3}, nn::Linear{3, 2}};
  std::unique_ptr<nn::Linear> owned = std::make_unique<nn::Linear>(1, 1);
  std::unique_ptr<nn::Linear> nothing = nullptr;
  std::vector<int> widths{1, 2, 3};
  nn::Sequential body{nn::Linear{4, 5}, relu, tanh, nn::Sequential{nn::Linear{5, 2, {.bias = false}}}};
  nn::Residual around{nn::Linear{2, 2}};
};

TEST(Module, FieldsOfAPlainStructHavePyTorchsNames) {
  Everything net;
  EXPECT_EQ(names_of(parameters(net)), (Names{"scale",
                                              "blocks.0.conv1.weight",
                                              "blocks.0.conv1.bias",
                                              "blocks.0.bn1.weight",
                                              "blocks.0.bn1.bias",
                                              "blocks.0.conv2.weight",
                                              "blocks.1.conv1.weight",
                                              "blocks.1.conv1.bias",
                                              "blocks.1.bn1.weight",
                                              "blocks.1.bn1.bias",
                                              "blocks.1.conv2.weight",
                                              "blocks.1.conv2.bias",
                                              "blocks.1.down.weight",
                                              "blocks.1.down.bias",
                                              "pair.0.weight",
                                              "pair.0.bias",
                                              "pair.1.weight",
                                              "pair.1.bias",
                                              "owned.weight",
                                              "owned.bias",
                                              "body.0.weight",
                                              "body.0.bias",
                                              "body.3.0.weight",
                                              "around.body.weight",
                                              "around.body.bias"}));
}

TEST(Module, BuffersAreStateButNotParameters) {
  nn::BatchNorm2d norm{3};
  EXPECT_EQ(names_of(parameters(norm)), (Names{"weight", "bias"}));
  EXPECT_EQ(names_of(nn::state(norm)), (Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
}

// A struct with more fields than the issue of the framework asks for.
struct Wide {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9;
  int b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  int c0, c1, c2, c3, c4, c5, c6, c7, c8, c9;
  int d0, d1, d2, d3, d4, d5, d6, d7, d8;
  nn::Linear last{1, 1};
};
TEST(Module, FortyFieldsAreCounted) {
  Wide net{};
  EXPECT_EQ(names_of(parameters(net)), (Names{"last.weight", "last.bias"}));
}

// No default for the fields in the middle.
struct Required {
  int size;
  nn::Linear first;
  nn::Linear second;
  nn::Linear third{1, 1};
};
TEST(Module, FieldsWithoutDefaultsAreCounted) {
  Required net{1, nn::Linear{1, 2}, nn::Linear{2, 1}};
  EXPECT_EQ(parameters(net).size(), 6U);
}

TEST(Module, StructsInFunctionsHaveFields) {
  struct Local {
    nn::Linear fc{2, 3};
  };
  Local net;
  EXPECT_EQ(names_of(parameters(net)), (Names{"fc.weight", "fc.bias"}));
}

template <class T>
struct Pairs {
  T left{2, 2};
  T right{2, 2};
};
TEST(Module, TemplatesHaveFields) {
  Pairs<nn::Linear> net;
  EXPECT_EQ(names_of(parameters(net)), (Names{"left.weight", "left.bias", "right.weight", "right.bias"}));
}

class Base {
 public:
  nn::Linear stem{1, 2};
};
class Listed : public Base {
 public:
  explicit Listed(int width) : head_(2, width) {}

 private:
  nn::Linear head_;

 public:
  static constexpr auto fields = nn::fields<&Listed::stem, &Listed::head_>;
};
TEST(Module, AClassWithConstructorBaseAndPrivateMembersListsItsFields) {
  const Listed net(3);
  EXPECT_EQ(names_of(parameters(net)), (Names{"stem.weight", "stem.bias", "head.weight", "head.bias"}));
  EXPECT_EQ(num_parameters(net), 2 + 2 + 6 + 3);
}

TEST(Module, ACopyIsIndependent) {
  struct Net {
    nn::Linear fc{1, 1, {.bias = false}};
    nn::Sequential body{nn::Linear{1, 1}};
  };
  Net net;
  net.fc.weight = 3.0;
  Net copy = net;
  net.fc.weight = 4.0;
  EXPECT_EQ(copy.fc.weight.read().item(), 3);
  const Parameters ours = parameters(net), theirs = parameters(copy);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_FALSE(ours[i].cell == theirs[i].cell) << ours[i].name;
}

TEST(Module, AMoveKeepsTheCells) {
  struct Net {
    nn::Linear fc{1, 1};
    nn::Sequential body{nn::Linear{1, 1}};
  };
  Net net;
  const Parameters before = parameters(net);
  const Net moved = std::move(net);
  const Parameters after = parameters(moved);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].cell == after[i].cell) << before[i].name;
}

TEST(Module, RepeatMakesModulesWithWeightsOfTheirOwn) {
  struct Net {
    std::vector<nn::Linear> blocks = nn::repeat(3, [] { return nn::Linear{4, 4}; });
    std::vector<nn::Linear> wider = nn::repeat(2, [](std::int64_t i) { return nn::Linear{4, 5 + i, {.bias = false}}; });
  } net;
  EXPECT_EQ(names_of(parameters(net)), (Names{"blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias", "blocks.2.weight",
                                              "blocks.2.bias", "wider.0.weight", "wider.1.weight"}));
  EXPECT_NE(net.blocks[0].weight.read().to_host(), net.blocks[1].weight.read().to_host());
  EXPECT_NE(net.blocks[1].weight.read().to_host(), net.blocks[2].weight.read().to_host());
  EXPECT_EQ(net.wider[1].weight.read().shape(), (Shape{6, 4}));
  EXPECT_TRUE(nn::repeat(0, [] { return nn::Linear{1, 1}; }).empty());
  const std::vector<nn::Linear> copies(2, nn::Linear{4, 4});  // its purpose
  EXPECT_EQ(copies[0].weight.read().to_host(), copies[1].weight.read().to_host());
}

TEST(Module, ElementsOfAVectorAreNotTied) {
  std::vector<nn::Linear> layers(3, nn::Linear{2, 2});
  EXPECT_EQ(parameters(layers).size(), 6U);
}

TEST(Module, TrainAndEvalReachEveryLayer) {
  struct Net {
    nn::Dropout drop{0.5};
    std::vector<nn::BatchNorm1d> norms{nn::BatchNorm1d{2}};
    nn::Sequential body{nn::Dropout{1.0}};
  };
  Net net;
  EXPECT_TRUE(net.drop.training);
  eval(net);
  EXPECT_FALSE(net.drop.training);
  EXPECT_FALSE(net.norms[0].training);
  EXPECT_EQ(sum(net.body(ones({4}))).item(), 4);
  train(net);
  EXPECT_TRUE(net.norms[0].training);
  EXPECT_EQ(sum(net.body(ones({4}))).item(), 0);
}

TEST(Module, AJitIsTracedOnceForEachMode) {
  struct Net {
    nn::Dropout drop{1.0};
    Tensor operator()(Tensor x) { return drop(x) + 1; }
  };
  Net net;
  auto f = jit([&](Tensor x) { return net(x); });
  EXPECT_EQ(f(ones({2})).to_host(), (std::vector<float>{1, 1}));
  eval(net);
  EXPECT_EQ(f(ones({2})).to_host(), (std::vector<float>{2, 2}));
  train(net);
  EXPECT_EQ(f(ones({2})).to_host(), (std::vector<float>{1, 1}));
}

TEST(Module, AnyCallableFitsInSequential) {
  struct Twice {
    nn::Linear fc{2, 2};
    Tensor operator()(Tensor x) { return 2 * fc(x); }
  };
  nn::Sequential net{Twice{}, relu, [](Tensor x) { return x + 1; }, nn::ReLU{}, nn::Flatten{}, nn::LeakyReLU{0.2}};
  EXPECT_EQ(names_of(parameters(net)), (Names{"0.fc.weight", "0.fc.bias"}));
  EXPECT_EQ(net(ones({3, 2})).shape(), (Shape{3, 2}));
  nn::Sequential copy = net;
  EXPECT_FALSE(parameters(net)[0].cell == parameters(copy)[0].cell);
}

TEST(Module, ResidualAddsItsInput) {
  nn::Residual block{[](Tensor x) { return 2 * x; }};
  EXPECT_EQ(block(tensor({1.F, 2.F})).to_host(), (std::vector<float>{3, 6}));
  nn::Residual projected{[](Tensor x) { return 2 * x; }, [](Tensor x) { return -x; }};
  EXPECT_EQ(projected(tensor({1.F, 2.F})).to_host(), (std::vector<float>{1, 2}));
}

TEST(Module, TheSeedDecidesTheWeights) {
  manual_seed(7);
  const std::vector<float> a = nn::Linear(3, 4).weight.read().to_host();
  const std::vector<float> b = nn::Linear(3, 4).weight.read().to_host();
  manual_seed(7);
  EXPECT_EQ(nn::Linear(3, 4).weight.read().to_host(), a);
  EXPECT_NE(a, b);
}

struct Clock {
  int ticks = 0;
};
struct Carries {
  nn::Linear own{2, 2};
  Clock* clock = nullptr;  // no module: skipped
  const float* numbers = nullptr;
};
struct Borrows {
  nn::Linear own{2, 2};
  nn::Bilinear* lent = nullptr;  // another object's
};

TEST(Module, APointerToAModuleIsWalkedByNobody) {
  Carries carries;
  EXPECT_EQ(parameters(carries).size(), 2U);
  nn::Bilinear lent{2, 2, 2};
  Borrows borrows{.lent = &lent};
  EXPECT_EQ(parameters(borrows).size(), 2U);
}

TEST(Tensor, AVectorHasOneAxisAndAVariableGivesItsArray) {
  const std::vector<float> values{1, 2, 3};
  EXPECT_EQ(tensor(values).shape(), Shape{3});
  EXPECT_EQ(tensor(std::vector<float>{5}, {}).shape(), Shape{});
  EXPECT_EQ(tensor(std::vector<std::int64_t>()).shape(), Shape{0});
  const Variable w = tensor(values);
  EXPECT_EQ(w.to_array().shape, Shape{3});
  EXPECT_EQ(w.to_array().values<float>()[2], 3);
}

}  // namespace
}  // namespace tegula
