#include <gtest/gtest.h>
#include <tegula/tegula.h>

#include <algorithm>
#include <memory>

#include "tegula/graph/frozen.h"
#include "tests/io/files.h"
#include "tests/train/support.h"

namespace tegula {
namespace {

using testing::bits;
using testing::message_of;

struct Net {
  struct Features {
    nn::Linear first{4, 8};
    nn::BatchNorm1d norm{8};
    nn::Linear second{8, 8};
    Tensor operator()(Tensor x) { return relu(second(relu(norm(first(x))))); }
  };
  Features features;
  nn::Linear head{8, 3};
  Tensor operator()(Tensor x) { return head(features(x)); }  // (N, 4) -> (N, 3)
};

Tensor inputs() { return reshape(sin(arange(0, 64) * 0.7), {16, 4}); }
Tensor labels() { return cast(remainder(arange(0, 16), 3), i64); }

std::vector<std::string> bits_of(const Parameters& all, const std::string& part, bool with) {
  Parameters some;
  for (const Parameter& p : all) {
    if ((p.name.find(part) != std::string::npos) == with) some.push_back(p);
  }
  return bits(some);
}

struct Maker {
  std::string name;
  std::function<std::unique_ptr<optim::Optimizer>(const Parameters&)> make;
};
template <class O, class Options>
Maker maker(const std::string& name, Options options) {
  return {name, [options](const Parameters& p) { return std::make_unique<O>(p, options); }};
}
const std::vector<Maker>& makers() {
  static const std::vector<Maker> all{maker<optim::SGD>("SGD", optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}),
                                      maker<optim::AdamW>("AdamW", optim::AdamWOptions{.lr = 0.01, .weight_decay = 0.1}),
                                      maker<optim::RMSprop>("RMSprop", optim::RMSpropOptions{.lr = 0.01, .centered = true}),
                                      maker<optim::Adafactor>("Adafactor", optim::AdafactorOptions{}),
                                      maker<optim::LAMB>("LAMB", optim::LAMBOptions{}),
                                      {"ParameterGroups", [](const Parameters& p) {
                                         auto [matrices, vectors] =
                                             optim::split(p, [](const Parameter& one) { return one.cell->shape().rank() > 1; });
                                         return std::make_unique<optim::ParameterGroups>(optim::AdamW(matrices, {.lr = 0.01}),
                                                                                         optim::SGD(vectors, {.lr = 0.1, .momentum = 0.5}));
                                       }}};
  return all;
}

/// Three steps of an optimiser that has all parameters, those of the features frozen, or of one that has the head's alone.
std::vector<std::string> steps_of_the_head(const Maker& maker, bool frozen, bool in_jit, bool clip) {
  manual_seed(4);
  Net net;
  freeze(net.features);
  const auto optimizer = maker.make(frozen ? parameters(net) : parameters(net.head));
  const auto before = bits_of(nn::state(net), "features", true);
  const auto moments = bits_of(optimizer->state(), "features", true);
  const auto body = [&](const Tensor& x, const Tensor& y) {
    std::vector<Tensor> gradients = grad(cross_entropy(net(x), y), optimizer->parameters());
    if (clip) gradients = optim::clip_grad_norm(gradients, optimizer->parameters(), 0.1).gradients;
    optimizer->step(gradients);
  };
  auto step = jit(body);
  for (int i = 0; i < 3; ++i) in_jit ? step(inputs(), labels()) : body(inputs(), labels());
  EXPECT_EQ(bits_of(nn::state(net), "features", true), before) << maker.name;
  EXPECT_EQ(bits_of(optimizer->state(), "features", true), moments) << maker.name;
  return bits(parameters(net.head));
}

TEST(Freeze, TheRestTrainsAsIfTheOptimiserHadItAlone) {
  for (const Maker& maker : makers()) {
    for (const bool clip : {false, true}) {
      const auto alone = steps_of_the_head(maker, false, true, clip);
      EXPECT_EQ(steps_of_the_head(maker, true, true, clip), alone) << maker.name;
      EXPECT_EQ(steps_of_the_head(maker, true, false, clip), steps_of_the_head(maker, false, false, clip)) << maker.name;
    }
  }
}

TEST(Freeze, GradientsAreZerosAndAreNotComputed) {
  Net net;
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  const auto steps = [&] {
    auto gradients = jit([&](const Tensor& x, const Tensor& y) { return grad(cross_entropy(net(x), y), parameters(net)); });
    const std::vector<Tensor> all = gradients(inputs(), labels());
    EXPECT_EQ(sum(abs(all[0])).item() == 0, is_frozen(*parameters(net)[0].cell));
    EXPECT_NE(sum(abs(all.back())).item(), 0);
    return count(gradients.print_plan(), " -> ");
  };
  const auto trained = steps();
  freeze(net, "features");
  EXPECT_LE(steps() + 3, trained);  // two gradients of weights, and that of the layers between them
  // A Variable named in wrt gets a gradient although it is frozen.
  EXPECT_NE(sum(abs(grad(cross_entropy(net(inputs()), labels()), net.features.first.weight))).item(), 0);
}

TEST(Freeze, NormsStayAsTheyAreWhileTheRestTrains) {
  Net net;
  optim::SGD sgd(parameters(net), {.lr = 0.1});
  auto step = jit([&](const Tensor& x, const Tensor& y) { sgd.step(grad(cross_entropy(net(x), y), parameters(net))); });
  for (int i = 0; i < 3; ++i) step(inputs(), labels());
  freeze(net.features);
  train(net);
  const auto statistics = bits_of(nn::state(net), "norm", true);
  const Tensor training = net.features(inputs());
  for (int i = 0; i < 3; ++i) step(inputs(), labels());
  EXPECT_EQ(bits_of(nn::state(net), "norm", true), statistics);
  eval(net);
  EXPECT_EQ(net.features(inputs()).to_host(), training.to_host()) << "the running statistics, as in evaluation";
  train(net);
  unfreeze(net);
  step(inputs(), labels());
  EXPECT_NE(bits_of(nn::state(net), "norm", true), statistics);
}

TEST(Freeze, SpectralNormKeepsItsVectors) {
  nn::SpectralNorm layer(nn::Linear{4, 3});
  freeze(layer);
  layer.layer.weight = layer.layer.weight + normal({3, 4});  // u and v are not its directions any more
  const auto before = bits(nn::state(layer));
  layer(inputs()).to_host();
  EXPECT_EQ(bits(nn::state(layer)), before);
  unfreeze(layer);
  layer(inputs()).to_host();
  EXPECT_NE(bits(nn::state(layer)), before);
}

// In turns, as the networks of a GAN: each set of frozen parameters has its trace.
TEST(Freeze, ATraceForEachSetServesAgain) {
  Net net;
  optim::Adam adam(parameters(net));
  auto step = jit([&](const Tensor& x, const Tensor& y) { adam.step(grad(cross_entropy(net(x), y), parameters(net))); });
  for (int i = 0; i < 2; ++i) {
    freeze(net.head);
    step(inputs(), labels());
    unfreeze(net.head);
    freeze(net.features);
    step(inputs(), labels());
    unfreeze(net.features);
  }
  const int traces = step.traces();
  freeze(net.head);
  step(inputs(), labels());
  freeze(net.head);  // again is nothing
  step(inputs(), labels());
  EXPECT_LE(step.traces(), traces + 1);  // the fourth call of each traces again to check
}

TEST(Freeze, NamesArePatterns) {
  Net net;
  const auto frozen = [&] {
    std::string names;
    for (const Parameter& p : parameters(net)) names += is_frozen(*p.cell) ? p.name + " " : "";
    unfreeze(net);
    return names;
  };
  EXPECT_EQ(freeze(net, "features.*"), 6);
  EXPECT_EQ(
      frozen(),
      "features.first.weight features.first.bias features.norm.weight features.norm.bias features.second.weight features.second.bias ");
  EXPECT_EQ(freeze(net, "features.second"), 2);
  EXPECT_EQ(frozen(), "features.second.weight features.second.bias ");
  EXPECT_EQ(freeze(net, "*.bias"), 4);
  EXPECT_EQ(frozen(), "features.first.bias features.norm.bias features.second.bias head.bias ");
  EXPECT_EQ(freeze(net, "hea?.weight"), 1);
  EXPECT_EQ(frozen(), "head.weight ");
  EXPECT_EQ(freeze(net, "*norm*"), 2);
  EXPECT_EQ(net.features.norm.frozen, 1);
  EXPECT_EQ(trainable(parameters(net)).size(), 6U);
  unfreeze(net, "features.norm");
  EXPECT_EQ(net.features.norm.frozen, 0);
  EXPECT_EQ(frozen(), "");
  const std::string message = message_of([&] { freeze(net, "feature.*"); });
  EXPECT_NE(message.find("\"feature.*\", which no parameter's name fits, expected names such as \"features.first.weight\""),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("freeze_test.cpp:"), std::string::npos) << message;
  EXPECT_NE(message_of([&] { jit([&](const Tensor& x) { return freeze(net), x; })(inputs()); }).find("freeze"), std::string::npos);
}

TEST(Freeze, AllFrozenIsNoError) {
  Net net;
  optim::Adam adam(parameters(net));
  freeze(net);
  const auto before = bits(nn::state(net));
  adam.step(optim::clip_grad_norm(grad(cross_entropy(net(inputs()), labels()), parameters(net)), parameters(net), 1).gradients);
  EXPECT_EQ(bits(nn::state(net)), before);
}

/// Trains for so many epochs, hidden layer and norm frozen for the first three.
std::vector<std::string> trained(std::int64_t epochs, const std::string& checkpoint, const std::string& resume,
                                 std::int64_t accumulate = 1) {
  manual_seed(3);
  testing::SmallNet net;
  optim::Adam adam(parameters(net), {.lr = 0.01});
  freeze(net, "hidden");
  freeze(net.norm);
  Trainer trainer(net, adam, cross_entropy, {.epochs = epochs, .batch = 32, .seed = 3, .accumulate = accumulate, .checkpoint = checkpoint});
  trainer.on_epoch = [&](const EpochRecord& r) {
    if (r.epoch == 3) unfreeze(net);
  };
  if (!resume.empty()) trainer.resume(resume);
  trainer.fit(testing::clouds(400, 1), testing::clouds(100, 2));
  return bits(nn::state(net));
}

TEST(Freeze, ATrainingResumesToTheBit) {
  const testing::TemporaryFolder folder;
  for (const std::int64_t accumulate : {1, 2}) {
    const auto whole = trained(4, "", "", accumulate);
    const auto half = trained(2, folder / "run", "", accumulate);
    EXPECT_EQ(trained(4, "", folder / "run", accumulate), whole);
    manual_seed(3);
    testing::SmallNet fresh;
    const auto begins = bits(nn::state(fresh));
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const bool is_frozen = begins[i].starts_with("hidden.") || begins[i].starts_with("norm.");
      EXPECT_EQ(half[i] == begins[i], is_frozen) << begins[i].substr(0, begins[i].find(':'));
      EXPECT_NE(whole[i], begins[i]);
    }
  }
}

}  // namespace
}  // namespace tegula
