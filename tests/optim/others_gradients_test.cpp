// A step with the gradients of a copy of the network: right in shape, and nothing would be trained.
#include <gtest/gtest.h>

#include <tegula/tegula.h>

#include <string>
#include <vector>

namespace tegula {
namespace {

struct Warnings {
  Warnings() {
    set_warning_handler([this](const std::string& name, const std::string& text) { all.push_back(name + " " + text); });
  }
  ~Warnings() { set_warning_handler({}); }
  std::vector<std::string> all;
};

Tensor loss_of(nn::Linear& net, const Tensor& x) { return mean(square(net(x))); }

TEST(OthersGradients, OfANetworkCapturedByValueAreNamed) {
  for (const bool jitted : {false, true}) {
    const Warnings warnings;
    nn::Linear net{2, 1};
    optim::Adam adam(parameters(net));
    auto step = [net, &adam](const Tensor& x) mutable {
      Tensor loss = loss_of(net, x);
      adam.step(grad(loss, parameters(net)));
      return loss;
    };
    if (jitted) jit(step)(ones({4, 2})).item();
    else step(ones({4, 2})).item();
    ASSERT_EQ(warnings.all.size(), 1U) << jitted;
    EXPECT_NE(warnings.all[0].find("optim.others_gradients Adam at "), std::string::npos) << warnings.all[0];
    EXPECT_NE(warnings.all[0].find("others_gradients_test.cpp:"), std::string::npos) << warnings.all[0];
    EXPECT_NE(warnings.all[0].find("its parameter weight: a network that is captured or passed by value is a copy"), std::string::npos)
        << warnings.all[0];
  }
}

TEST(OthersGradients, WhatIsMeantIsNot) {
  const Warnings warnings;
  nn::Linear net{2, 1}, other = net;
  const Tensor x = ones({4, 2});
  optim::SGD sgd(parameters(net), {.lr = 0.1}), second(parameters(other), {.lr = 0.1});
  sgd.step(grad(loss_of(net, x), parameters(net)));
  const std::vector<Tensor> mine = grad(loss_of(net, x), parameters(net)), others = grad(loss_of(other, x), parameters(other));
  sgd.step(optim::clip_grad_norm(mine, 1).gradients), second.step(others);
  std::vector<Tensor> meant;
  for (const Tensor& g : grad(loss_of(other, x), parameters(other))) meant.push_back(stop_gradient(g));
  sgd.step(meant);
  std::vector<Tensor> weights{net.weight.read(), net.bias.read()};  // with respect to tensors
  sgd.step(grad(sum(weights[0]) + sum(weights[1]), weights));
  net(x).to_host();
  EXPECT_TRUE(warnings.all.empty()) << warnings.all[0];
}

}  // namespace
}  // namespace tegula
