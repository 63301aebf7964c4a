// A card on which NVRTC is all there is of the toolkit, on paper: each library that is missing is told once, and its work is done by kernels of our own or
// by the host. ctest runs it with TEGULA_WITHOUT (tests.cmake), for an H200 and for a T4.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tegula/core/warning.h"
#include "tegula/runtime/call_description.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

class CudaWithoutLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (!std::getenv("TEGULA_WITHOUT")) GTEST_SKIP() << "asks what becomes of calls without libraries";
    before_ = &default_device();
    set_default_device(cuda());
    set_warning_handler([this](const std::string& name, const std::string& text) {
      if (name == "cuda.library") told_.push_back(text);
    });
  }
  void TearDown() override {
    if (!before_) return;
    set_warning_handler({});
    set_default_device(*before_);
  }
  /// The number of warnings that speak of the library.
  long told(const std::string& library) const {
    return std::ranges::count_if(told_, [&](const std::string& text) { return text.starts_with("no library lib" + library + ".so"); });
  }

  Device* before_ = nullptr;
  std::vector<std::string> told_;
};

TEST_F(CudaWithoutLibraries, ConvolutionsAndProductsAreKernelsOfOurOwn) {
  runtime::Convolution d;
  d.input = {f32, Layout::dense({2, 16, 8, 8})}, d.weight = {f32, Layout::dense({32, 16, 3, 3})},
  d.output = {f32, Layout::dense({2, 32, 8, 8})};
  d.stride = d.dilation = d.pad_low = d.pad_high = {1, 1};
  for (const auto pass :
       {runtime::ConvolutionPass::Forward, runtime::ConvolutionPass::BackwardData, runtime::ConvolutionPass::BackwardWeight}) {
    d.pass = pass;
    EXPECT_NE(cuda().make(d)->describe().find("plain kernel"), std::string::npos) << cuda().make(d)->describe();
  }
  const auto product = runtime::Matmul::of(f64, Layout::dense({300, 200}), Layout::dense({200, 100}), Layout::dense({300, 100}));
  EXPECT_NE(cuda().make(product)->describe().find("plain kernel"), std::string::npos) << cuda().make(product)->describe();
  EXPECT_EQ(told("cudnn"), 1);
  EXPECT_EQ(told("cublasLt"), 1);
  for (const std::string& text : told_) {
    EXPECT_NE(text.find("TEGULA_WITHOUT lists it"), std::string::npos) << text;
    EXPECT_NE(text.find("of our own"), std::string::npos) << text;
    EXPECT_NE(text.find("install"), std::string::npos) << text;
  }
}

TEST_F(CudaWithoutLibraries, NetsOfAllKindsTrain) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    const PrecisionScope scope(precision);
    nn::Sequential net{
        nn::Conv2d{1, 8, 3, {.padding = 1}}, relu,          nn::MaxPool2d{2},          nn::Conv2d{8, 64, 3, {.stride = 2, .groups = 4}},
        [](Tensor x) { return gelu(x); },    nn::Flatten{}, nn::Linear{64 * 6 * 6, 64}};
    nn::MultiheadAttention attention{64, 4};
    Parameters all = parameters(net);
    for (auto& one : parameters(attention)) all.push_back(one);
    optim::Adam adam(all, {.lr = 1e-3});
    auto step = jit([&](Tensor x, Tensor y) {
      const Tensor tokens = reshape(net(x), {4, 4, 64});
      const Tensor loss = cross_entropy(reshape(attention(tokens, tokens, tokens).output, {16, 64}), y);
      adam.step(grad(loss, all));
      return loss;
    });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(step(normal({16, 1, 28, 28}), randint(0, 10, {16})).shape(), Shape{});
  }
}

TEST_F(CudaWithoutLibraries, FactorsAndTransformsAreTheHosts) {
  const Tensor a = uniform({40, 40}) + 40.0 * eye(40);
  auto routines = jit([](const Tensor& x) { return std::vector<Tensor>{cholesky(x), rfft(x)}; });
  routines(a);
  const std::string plan = routines.print_plan();
  std::size_t hosts = 0;
  for (std::size_t at = plan.find("on the host"); at != std::string::npos; at = plan.find("on the host", at + 1)) ++hosts;
  EXPECT_EQ(hosts, 2u) << plan;
  EXPECT_EQ(told("cublas") + told("cusolver"), 1);  // the first that is missing of the two that it takes
  EXPECT_EQ(told("cufft"), 1);
}

}  // namespace
}  // namespace tegula
