// Edges of recordings along which a kernel begins while the one before it runs. On the driver of the tests, which reports its arguments.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"

namespace tegula {
namespace {

struct Edges {
  std::size_t all = 0, early = 0;
};

class CudaEarly : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) < 1) GTEST_SKIP() << why;
    if (!edges()) GTEST_SKIP() << "a real driver does not say what it was given";
  }
  /// The edges of the latest recording.
  static std::optional<Edges> edges() {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const auto function = reinterpret_cast<void (*)(std::size_t*, std::size_t*)>(driver ? dlsym(driver, "fake_graph_edges") : nullptr);
    if (!function) return std::nullopt;
    Edges out;
    function(&out.all, &out.early);
    return out;
  }
  template <class F>
  static Edges edges_of(F f) {
    const test::OnDevice here(device("cuda:0"));
    const Tensor x = normal({1, 128});
    std::vector<Tensor> weights;
    for (int i = 0; i < 6; ++i) weights.push_back(normal({128, 128}));
    eval(x);
    for (const Tensor& w : weights) eval(w);
    auto step = jit([&](Tensor x) { return f(x, weights); });
    for (int i = 0; i < 4; ++i) step(x);
    return *edges();
  }
};

TEST_F(CudaEarly, LaunchesOfAChainBeginWhileTheOneBeforeRuns) {
  const Edges chain = edges_of([](Tensor x, const std::vector<Tensor>& weights) {
    for (const Tensor& w : weights) x = tanh(matmul(x, w));
    return x;
  });
  EXPECT_EQ(chain.all, 5u);
  EXPECT_EQ(chain.early, 5u);
}

// Some kernels of cuBLASLt are such: a query of the recording's nodes must not fail for them.
TEST_F(CudaEarly, WhatWasLaunchedEarlyStaysSo) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto launches_early = reinterpret_cast<void (*)(bool)>(dlsym(driver, "fake_launches_early"));
  ASSERT_TRUE(launches_early);
  launches_early(true);
  const Edges chain = edges_of([](Tensor x, const std::vector<Tensor>& weights) {
    for (const Tensor& w : weights) x = tanh(matmul(x, w));
    return x;
  });
  launches_early(false);
  EXPECT_EQ(chain.all, 5u);
  EXPECT_EQ(chain.early, 5u);
}

TEST_F(CudaEarly, NoneOfThoseSideBySideDoes) {
  const Edges fork = edges_of([](Tensor x, const std::vector<Tensor>& weights) {
    Tensor sum = matmul(x, weights[0]);
    for (const Tensor& w : weights) sum = sum + tanh(matmul(tanh(matmul(x, w)), w));
    return sum;
  });
  EXPECT_GT(fork.all, 0u);
  EXPECT_EQ(fork.early, 0u);
}

}  // namespace
}  // namespace tegula
