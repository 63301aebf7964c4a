// DLRM, NeuMF and WaveNet: their formulas written down again, what they may see, and that they learn.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/models.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

std::vector<double> doubles(const Tensor& x) { return x.to_host<double>(); }

TEST(Dlrm, IsThePapersFormula) {
  manual_seed(1);
  models::Dlrm net({.dense = 3, .tables = {5, 4}, .width = 2, .bottom = {4}, .top = {3}});
  const Tensor numbers = normal({2, 3}), categories = tensor({4, 0, 1, 3}, {2, 2});
  const Tensor dense = net.bot_l(numbers), a = net.emb_l[0](tensor({4, 1})), b = net.emb_l[1](tensor({0, 3}));
  const auto product = [](const Tensor& x, const Tensor& y) { return sum(x * y, 1, Keep::Yes); };
  const Tensor features = concat({dense, product(a, dense), product(b, dense), product(b, a)}, 1);
  const auto expected = doubles(squeeze(net.top_l(features), 1)), scores = doubles(net(numbers, categories));
  ASSERT_EQ(scores.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(scores[i], expected[i], 1e-6);
  const StateDict state = state_dict(net);
  for (const char* name : {"bot_l.0.weight", "bot_l.2.bias", "emb_l.1.weight", "top_l.0.weight", "top_l.2.weight"})
    EXPECT_TRUE(std::ranges::any_of(state, [&](const NamedTensor& one) { return one.name == name; })) << name;
  EXPECT_EQ(num_parameters(net), (3 * 4 + 4) + (4 * 2 + 2) + 5 * 2 + 4 * 2 + (5 * 3 + 3) + (3 + 1));
  EXPECT_ERROR(models::Dlrm({.tables = {}}), "no tables");
  EXPECT_ERROR(models::Dlrm({.tables = {3, 0}}), "a size of 0");
}

/// Steps of Adam on the binary cross-entropy; the loss at the end.
template <class Net, class... Inputs>
double trained(Net& net, const Tensor& labels, const Inputs&... inputs) {
  optim::Adam adam(parameters(net), {.lr = 0.02});
  auto step = jit([&] {
    const Tensor loss = binary_cross_entropy_with_logits(net(inputs...), labels);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  double loss = 0;
  for (int i = 0; i < 200; ++i) loss = step().template item<float>();
  return loss;
}

TEST(Dlrm, LearnsWhatDependsOnPairs) {
  manual_seed(2);
  models::Dlrm net({.dense = 2, .tables = {4, 4}, .width = 4, .bottom = {8}, .top = {8}});
  const Tensor numbers = normal({128, 2}), categories = randint(0, 4, {128, 2});
  eval(numbers, categories);
  const Tensor equal = cast(select(categories, 1, 0) == select(categories, 1, 1), f32);  // which no category tells alone
  EXPECT_LT(trained(net, equal, numbers, categories), 0.1);
}

TEST(NeuMf, IsThePapersFormulaAndLearns) {
  manual_seed(3);
  models::NeuMf net({.users = 6, .items = 5, .factors = 3, .layers = {8, 4}});
  const Tensor users = tensor({5, 0, 2}), items = tensor({1, 4, 4});
  const Tensor product = net.mf_user(users) * net.mf_item(items);
  const Tensor deep = net.mlp(concat({net.mlp_user(users), net.mlp_item(items)}, 1));
  const auto expected = doubles(squeeze(net.score(concat({product, deep}, 1)), 1)), scores = doubles(net(users, items));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(scores[i], expected[i], 1e-6);
  EXPECT_EQ(num_parameters(net), 11 * 3 + 11 * 4 + (8 * 4 + 4) + (3 + 4 + 1));
  const Tensor all_users = repeat_interleave(arange(6), 5), all_items = reshape(expand(arange(5), {6, 5}), {30});
  EXPECT_LT(trained(net, cast((all_users + all_items) % 2 == 0, f32), all_users, all_items), 0.1);
  EXPECT_ERROR(models::NeuMf({.layers = {7, 2}}), "a first width of 7");
  EXPECT_ERROR(models::NeuMf({.layers = {}}), "no layers");
  EXPECT_ERROR(models::NeuMf({.users = 0}), "a size of 0");
}

TEST(WaveNet, SeesThePastAlone) {
  manual_seed(4);
  models::WaveNet net({.classes = 8, .layers = 3, .stacks = 2, .width = 4, .skip = 6});
  EXPECT_EQ(net.reach(), 15);
  const std::int64_t length = 40, changed = 10;
  const Tensor x = randint(0, 8, {1, length});
  eval(x);
  const Tensor at = arange(length) == changed, y = where(at, (x + 1) % 8, x);
  const Tensor apart = max(abs(net(x) - net(y)), {0, 1});  // (T)
  const auto difference = doubles(apart);
  for (std::int64_t t = 0; t < length; ++t) {
    const bool sees = t >= changed && t < changed + net.reach();
    if (sees) EXPECT_GT(difference[std::size_t(t)], 0) << t;
    else EXPECT_EQ(difference[std::size_t(t)], 0) << t;
  }
  EXPECT_ERROR(models::WaveNet({.layers = 0}), "3 stacks of 0 layers");
}

TEST(WaveNet, LearnsAWave) {
  manual_seed(5);
  models::WaveNet net({.classes = 16, .layers = 4, .stacks = 1, .width = 12, .skip = 16});
  const Tensor sound = models::mu_law_encode(0.9 * sin(cast(arange(200), f32) * 0.7), 16), x = expand_dims(sound, 0);
  eval(x);
  optim::Adam adam(parameters(net), {.lr = 0.01});
  auto step = jit([&] {
    const Tensor scores = transpose(net(slice(x, 1, {0, 199})));  // (1, T, classes)
    const Tensor loss = cross_entropy(reshape(scores, {-1, 16}), reshape(slice(x, 1, {1, 200}), {-1}));
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  double loss = 0;
  for (int i = 0; i < 150; ++i) loss = step().item<float>();
  EXPECT_LT(loss, 0.35);  // chance: 2.8
}

TEST(MuLaw, HasFineClassesNearZero) {
  // Python: round(127.5 (sign(x) log1p(255 |x|) / log(256) + 1))
  const auto classes = models::mu_law_encode(tensor({-2.0F, -1.0F, -0.1F, 0.0F, 0.001F, 0.1F, 0.5F, 1.0F})).to_host<std::int64_t>();
  std::vector<std::int64_t> expected;
  for (const double x : {-1.0, -1.0, -0.1, 0.0, 0.001, 0.1, 0.5, 1.0})
    expected.push_back(std::int64_t(std::floor((std::copysign(std::log1p(255 * std::abs(x)) / std::log(256.0), x) + 1) / 2 * 255 + 0.5)));
  EXPECT_EQ(classes, expected);
  const Tensor x = linspace(-1, 1, 1001);
  const auto back = doubles(models::mu_law_decode(models::mu_law_encode(x))), given = doubles(x);
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(back[i], given[i], 0.025 * std::abs(given[i]) + 2e-4) << given[i];
}

}  // namespace
}  // namespace tegula
