// Another process, which has the file and nothing else, gives the same bits, gradients and kernels.
#include <gtest/gtest.h>

#include <vector>

#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tests/support/elsewhere.h"

namespace tegula {
namespace {

using test::expect_same_elsewhere;
using test::numbers;

TEST(OtherProcess, DISABLED_ThatLoads) { test::load_here(); }

TEST(OtherProcess, HasASmallGpt2) {
  models::Gpt2 model({.vocabulary = 60, .width = 32, .layers = 2, .heads = 4, .context = 16});
  eval(model);
  const Tensor tokens = remainder(reshape(arange(24), {2, 12}) * 7, 60);
  expect_same_elsewhere([&](const std::vector<Tensor>& x) { return std::vector{model(x[0])}; }, {tokens}, parameters(model));
}

TEST(OtherProcess, HasAnLstm) {
  nn::LSTM lstm(3, 8);
  nn::Linear head(8, 2);
  Parameters weights = parameters(lstm);
  for (const Parameter& one : parameters(head)) weights.push_back({"head." + one.name, one.cell});
  expect_same_elsewhere([&](const std::vector<Tensor>& x) { return std::vector{head(lstm(x[0]).output)}; }, {numbers({2, 20, 3})}, weights);
}

TEST(OtherProcess, HasACheckpointAndAScan) {
  const Variable weight(numbers({4, 4}, 3));
  const auto f = [&](const std::vector<Tensor>& x) {
    const Tensor h = checkpoint([&](const std::vector<Tensor>& in) { return gelu(matmul(in[0], weight)); }, {x[0]});
    const Scanned all = scan(
        [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& in) {
          const Tensor next = tanh(carry[0] * 0.5 + in[0]);
          return Scanned{{next}, {next * next}};
        },
        {zeros({4})}, {h});
    return std::vector{softmax(all.ys[0], 1)};
  };
  expect_same_elsewhere(f, {numbers({5, 4})}, {{"weight", weight.cell()}});
}

}  // namespace
}  // namespace tegula
