// Three steps of each optimiser against PyTorch 2.11 (Lion, LARS and LAMB by their formulas), eagerly and in a jit; merging; checkpoints.
#include <gtest/gtest.h>

#include <tegula/tegula.h>
#include <cmath>
#include <memory>

namespace tegula {
namespace {

const std::vector<std::vector<float>> kGradients{{0.1F, -0.2F, 0.3F}, {0.5F, 0.25F, -0.75F}, {-1.0F, 0.125F, 2.0F}};

struct Case {
  const char* name;
  std::function<std::unique_ptr<optim::Optimizer>(Parameters)> make;
  std::vector<double> expected;  // the parameters after each step
};

template <class T, class Options>
auto maker(Options options) {
  return
      [options](Parameters parameters) -> std::unique_ptr<optim::Optimizer> { return std::make_unique<T>(std::move(parameters), options); };
}

std::vector<Case> all_cases() {
  using namespace optim;
  return {
      {"SGD", maker<SGD>(SGDOptions{.lr = 0.1}), {0.99, -1.98, 0.47, 0.94, -2.005, 0.545, 1.04, -2.0175, 0.345}},
      {"SGD momentum",
       maker<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.01}),
       {0.989000022, -1.97800004, 0.469500005, 0.940858245, -1.97546649, 0.497947872, 0.971825004, -1.9810797, 0.373177499}},
      {"SGD Nesterov",
       maker<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}),
       {0.981000006, -1.96200001, 0.442999989, 0.877900004, -1.99329996, 0.561199963, 1.02011001, -2.02271986, 0.220079958}},
      {"Adam",
       maker<Adam>(AdamOptions{.lr = 0.01}),
       {0.99000001, -1.99000001, 0.49000001, 0.981389523, -1.99162734, 0.494422168, 0.984058917, -1.99512374, 0.489777952}},
      {"Adam amsgrad",
       maker<Adam>(AdamOptions{.lr = 0.01, .beta1 = 0.8, .beta2 = 0.7, .weight_decay = 0.1, .amsgrad = true}),
       {0.99000001, -1.99000001, 0.49000001, 0.981160045, -1.98512876, 0.494014114, 0.982876539, -1.98075116, 0.489173293}},
      {"AdamW",
       maker<AdamW>(AdamWOptions{.lr = 0.01, .weight_decay = 0.1}),
       {0.989000022, -1.98800004, 0.489500016, 0.979400575, -1.98763943, 0.493432671, 0.981090605, -1.98914826, 0.488295019}},
      {"RMSprop",
       maker<RMSprop>(RMSpropOptions{}),
       {0.900000095, -1.9000001, 0.400000036, 0.801923215, -1.97823977, 0.492911786, 0.89110589, -2.01483011, 0.400114954}},
      {"RMSprop centered",
       maker<RMSprop>(RMSpropOptions{.weight_decay = 0.1, .momentum = 0.9, .centered = true}),
       {0.899496257, -1.8994962, 0.399496257, 0.713520229, -1.82401443, 0.398920864, 0.629338145, -1.74182642, 0.304827332}},
      {"Adagrad",
       maker<Adagrad>(AdagradOptions{.lr_decay = 0.5, .weight_decay = 0.1, .initial_accumulator_value = 0.1}),
       {0.994654775, -1.99215531, 0.492580026, 0.988999307, -1.99281597, 0.498110443, 0.99293375, -1.99209869, 0.493487597}},
      {"Adadelta",
       maker<Adadelta>(AdadeltaOptions{.weight_decay = 0.1}),
       {0.996838093, -1.99683785, 0.496837854, 0.992574632, -1.99742568, 0.500878692, 0.997657597, -1.996539, 0.495283961}},
      {"LARS",
       maker<LARS>(LARSOptions{.lr = 0.5, .weight_decay = 0.1, .trust_coefficient = 0.02}),
       {0.992404082, -1.98480816, 0.486707144, 0.973858005, -1.97214225, 0.488448241, 0.965417099, -1.96008283, 0.471287269}},
      {"LAMB",
       maker<LAMB>(LAMBOptions{.lr = 0.05, .weight_decay = 0.1}),
       {0.93494504, -1.9290306, 0.437901716, 0.834032865, -1.92584092, 0.480022458, 0.868906754, -1.95568376, 0.382654826}},
      {"Adafactor",
       maker<Adafactor>(AdafactorOptions{.lr = 0.05, .weight_decay = 0.1}),
       {0.928856254, -1.92385626, 0.431356221, 0.85687381, -1.97051144, 0.493805349, 0.925576746, -1.99405825, 0.415773034}},
      {"Lion",
       maker<Lion>(LionOptions{.lr = 0.01, .weight_decay = 0.1}),
       {0.989, -1.988, 0.4895, 0.978011, -1.996012, 0.4990105, 0.987032989, -2.004015988, 0.4885114895}},
  };
}

void expect_parameters(const Tensor& p, const Case& one, std::size_t step, const char* how) {
  const std::vector<float> values = p.to_host();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(values[i], one.expected[3 * step + i], 1e-6) << one.name << " " << how << ", step " << step;
}

TEST(Optimizer, ThreeStepsAreThoseOfPyTorch) {
  for (const Case& one : all_cases()) {
    Variable p = tensor({1.F, -2.F, 0.5F});
    auto optimizer = one.make({{"p", p.cell()}});
    for (std::size_t step = 0; step < 3; ++step) {
      optimizer->step({tensor(kGradients[step], {3})});
      expect_parameters(p, one, step, "eager");
    }
  }
}

TEST(Optimizer, TheSameInAJit) {
  for (const Case& one : all_cases()) {
    Variable p = tensor({1.F, -2.F, 0.5F});
    auto optimizer = one.make({{"p", p.cell()}});
    auto update = jit([&](Tensor g) { optimizer->step({g}); });
    for (std::size_t step = 0; step < 3; ++step) {
      update(tensor(kGradients[step], {3}));
      expect_parameters(p, one, step, "jit");
    }
    EXPECT_EQ(update.executables(), 1) << one.name;
  }
}

TEST(Optimizer, ACheckpointContinuesBitForBit) {
  for (const Case& one : all_cases()) {
    Variable p = tensor({1.F, -2.F, 0.5F}), q = tensor({0.F, 0.F, 0.F});
    auto first = one.make({{"p", p.cell()}}), second = one.make({{"p", q.cell()}});
    for (std::size_t step = 0; step < 2; ++step) first->step({tensor(kGradients[step], {3})});
    q = p.read();
    load(second->state(), state_dict(first->state()));
    first->step({tensor(kGradients[2], {3})});
    second->step({tensor(kGradients[2], {3})});
    EXPECT_EQ(p.read().to_host(), q.read().to_host()) << one.name;
  }
}

TEST(Optimizer, TheRateChangesWithoutAnotherTrace) {
  Variable p = tensor({1.0F});
  optim::SGD sgd({{"p", p.cell()}}, {.lr = 0.5});
  auto update = jit([&](Tensor g) { sgd.step({g}); });
  update(ones({1}));
  update(ones({1}));
  const int traces = update.traces();
  sgd.lr = 0.25;
  update(ones({1}));
  EXPECT_EQ(p.read().item(), 1 - 0.5F - 0.5F - 0.25F);
  EXPECT_EQ(update.traces(), traces);
}

TEST(Optimizer, HalvesAreUpdatedInSinglePrecision) {
  Variable p = cast(tensor({1.F}), bf16);
  optim::Adam adam({{"p", p.cell()}}, {.lr = 0.25});
  EXPECT_EQ(adam.state()[2].cell->value().dtype(), f32);
  adam.step({cast(tensor({3.F}), bf16)});
  EXPECT_EQ(p.dtype(), bf16);
  EXPECT_EQ(p.read().item(), 0.75F);
}

TEST(Optimizer, DoublesStayDoubles) {
  Variable p = tensor({1.0});
  optim::Adam adam({{"p", p.cell()}}, {.lr = 0.1});
  adam.step({tensor({2.0})});
  EXPECT_NEAR(p.read().item<double>(), 1 - 0.1 * 2 / (2 + 1e-8), 1e-14);
}

TEST(Optimizer, SurvivesAMoveOfTheNetAndOfItself) {
  auto make = [] {
    nn::Linear fc{1, 1, {.bias = false}};
    optim::Adam adam(parameters(fc), {.lr = 0.5});
    return std::pair(std::move(fc), std::move(adam));
  };
  auto [fc, adam] = make();
  fc.weight = 2.0;
  adam.step({ones({1, 1})});
  EXPECT_NEAR(fc.weight.read().item(), 1.5, 1e-6);
}

TEST(Optimizer, ANetLearns) {
  manual_seed(0);
  struct Net {
    nn::Linear hidden{2, 8};
    nn::Linear out{8, 1};
    Tensor operator()(Tensor x) { return out(tanh(hidden(x))); }
  };
  Net net;
  auto adam = optim::Adam(parameters(net), {.lr = 0.05});
  auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = mse_loss(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  const Tensor x = tensor({0.F, 0.F, 0.F, 1.F, 1.F, 0.F, 1.F, 1.F}, {4, 2}), y = tensor({0.F, 1.F, 1.F, 0.F}, {4, 1});  // exclusive or
  Tensor loss;
  for (int i = 0; i < 300; ++i) loss = step(x, y);
  EXPECT_LT(loss.item(), 1e-2);
  EXPECT_EQ(adam.steps().read().item<int>(), 300);
}

}  // namespace
}  // namespace tegula
