// cuDNN's flash attention against attention in f64 on the CPU. Skipped where there is no GPU, or no cuDNN that has it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"

namespace tegula {
namespace {

struct Sizes {
  const char* name;
  std::int64_t samples, heads, groups, queries, keys, width, features;
  bool causal = false;
  std::int64_t window = 0;
  std::vector<std::int64_t> lengths = {};
};
void PrintTo(const Sizes& s, std::ostream* out) { *out << s.name; }

class GpuAttention : public testing::TestWithParam<std::tuple<Sizes, DType>> {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_count(&why) == 0) GTEST_SKIP() << why;
    const Layout x = Layout::dense({1, 1, 128, 64});
    if (!cuda().takes(runtime::Attention{.q = {bf16, x}, .k = {bf16, x}, .v = {bf16, x}})) GTEST_SKIP() << "no cuDNN that has attention";
  }
};

std::vector<Sizes> sizes() {
  return {{"full", 2, 4, 4, 128, 128, 64, 64},
          {"causal", 2, 4, 4, 256, 256, 128, 128, true},
          {"odd", 3, 2, 2, 77, 131, 64, 64},
          {"odd_causal", 1, 3, 3, 131, 131, 64, 64, true},
          {"more_keys_causal", 1, 2, 2, 100, 165, 64, 64, true},
          {"fewer_keys_causal", 1, 2, 2, 165, 100, 64, 64, true},
          {"grouped", 2, 8, 2, 96, 200, 64, 64, true},
          {"one_group", 2, 4, 1, 90, 90, 128, 128},
          {"narrow", 2, 2, 2, 100, 100, 8, 8},
          {"forty", 2, 3, 3, 100, 100, 40, 40, true},
          {"other_values", 2, 2, 2, 128, 160, 64, 32},
          {"wide", 1, 2, 2, 130, 130, 256, 256, true},
          {"window", 2, 2, 2, 200, 200, 64, 64, true, 33},
          {"window_both_ways", 2, 2, 2, 200, 200, 64, 64, false, 20},
          {"lengths", 3, 2, 2, 100, 140, 64, 64, false, 0, {140, 1, 63}},
          {"lengths_causal", 3, 4, 2, 140, 140, 64, 64, true, 0, {140, 7, 64}},
          {"lengths_window", 2, 2, 2, 140, 140, 64, 64, true, 50, {140, 100}},
          {"length_of_none", 3, 2, 2, 100, 100, 64, 64, false, 0, {100, 0, 9}},
          {"long", 1, 2, 2, 2500, 2500, 64, 64, true}};
}

AttentionOptions options_of(const Sizes& s) {
  AttentionOptions options{.causal = s.causal, .window = s.window};
  if (!s.lengths.empty()) options.lengths = tensor(s.lengths, {s.samples});
  return options;
}

/// Output, log-sum-exp, and the gradients of q, k and v, as f64.
std::vector<std::vector<double>> results(const Sizes& s, const std::vector<Tensor>& in) {
  const AttentionOptions options = options_of(s);
  auto step = jit([&](Tensor q, Tensor k, Tensor v, Tensor dy) {
    const Attended y = attention_with_log_sum_exp(q, k, v, options);
    auto all = vjp({y.output}, {dy}, {q, k, v});
    all.insert(all.begin(), {y.output, y.log_sum_exp});
    return all;
  });
  std::vector<std::vector<double>> out;
  for (int run = 0; run < 3; ++run) {  // the third from a recording
    out.clear();
    for (const Tensor& x : step(in[0], in[1], in[2], in[3])) out.push_back(x.to_host<double>());
  }
  return out;
}

TEST_P(GpuAttention, IsThatOfF64) {
  const auto& [s, dtype] = GetParam();
  manual_seed(3);
  std::vector<Tensor> halves, wide;
  for (const Shape& shape : {Shape{s.samples, s.heads, s.queries, s.width}, Shape{s.samples, s.groups, s.keys, s.width},
                             Shape{s.samples, s.groups, s.keys, s.features}, Shape{s.samples, s.heads, s.queries, s.features}}) {
    halves.push_back(cast(normal(shape), dtype));
    wide.push_back(cast(halves.back(), f64));
    eval(halves.back(), wide.back());
  }
  const auto expected = results(s, wide);
  std::vector<std::vector<double>> got;
  {
    const test::OnDevice here(cuda());
    got = results(s, halves);
  }
  const double unit = dtype == bf16 ? std::ldexp(1, -8) : std::ldexp(1, -11);
  const char* const names[] = {"output", "log-sum-exp", "dq", "dk", "dv"};
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(got[i].size(), expected[i].size());
    double largest = 1;
    for (const double x : expected[i]) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
    const double tolerance = i == 1 ? 1e-3 : 4 * unit * largest;
    int wrong = 0;
    for (std::size_t j = 0; j < got[i].size() && wrong < 5; ++j) {
      const double x = expected[i][j], y = got[i][j];
      if (x == y || std::abs(x - y) <= tolerance) continue;
      ++wrong;
      ADD_FAILURE() << names[i] << "[" << j << "] = " << y << ", expected " << x << " within " << tolerance;
    }
  }
}

std::string case_name(const testing::TestParamInfo<std::tuple<Sizes, DType>>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::string(name(std::get<1>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(Cases, GpuAttention, testing::Combine(testing::ValuesIn(sizes()), testing::Values(bf16, f16)), case_name);

class GpuAttentionCall : public GpuAttention {};
INSTANTIATE_TEST_SUITE_P(One, GpuAttentionCall, testing::Values(std::tuple(Sizes{"one"}, bf16)));

/// Parts of one projection, as a transformer has them.
Tensor of_projection(const Tensor& packed, std::int64_t heads, std::int64_t width) {
  const std::int64_t batch = packed.size(0), length = packed.size(1);
  const auto part = [&](std::int64_t i) {
    return permute(reshape(slice(packed, 2, {i * heads * width, (i + 1) * heads * width}), {batch, length, heads, width}), {0, 2, 1, 3});
  };
  return scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
}

TEST_P(GpuAttentionCall, IsUsedWherePrecisionAsksForHalvesAndNowhereElse) {
  const test::OnDevice here(cuda());
  const Tensor packed = normal({2, 128, 3 * 4 * 64});
  eval(packed);
  const auto plan = [&](Precision precision) {
    const PrecisionScope scope(precision);
    auto step = jit([](Tensor x) { return grad(sum(square(of_projection(x, 4, 64))), x); });
    const std::vector<double> dx = step(packed).to_host<double>();
    return std::pair(step.print_plan(), dx);
  };
  const auto [wide, exact] = plan(Precision::fp32);
  const auto [narrow, rounded] = plan(Precision::bf16);
  EXPECT_EQ(wide.find("cuDNN engine"), std::string::npos) << wide;
  EXPECT_EQ(plan(Precision::tf32).first.find("cuDNN engine"), std::string::npos);
  EXPECT_NE(narrow.find("causal"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("cuDNN engine"), std::string::npos) << narrow;
  double largest = 0;
  for (const double x : exact) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(rounded[i], exact[i], std::ldexp(1, -5) * largest) << i;
}

TEST_P(GpuAttentionCall, TakesSlicesThatBeginAnywhere) {
  const test::OnDevice here(cuda());
  const Tensor packed = cast(normal({1, 130, 3 * 64 + 8}), bf16);
  eval(packed);
  auto step = jit([](Tensor x) { return of_projection(slice(x, 2, {3, 3 + 3 * 64}), 1, 64); });
  const auto got = step(packed).to_host<double>();
  const auto expected = of_projection(cast(slice(packed, 2, {3, 3 + 3 * 64}), f32), 1, 64).to_host<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(got[i], expected[i], std::ldexp(1, -6) * 4) << i;
}

TEST_P(GpuAttentionCall, HoldsNoScoresOf65536Places) {
  const test::OnDevice here(cuda());
  const std::int64_t length = 65536, first = 128;
  const Tensor q = cast(normal({1, 2, length, 64}), bf16), k = cast(normal({1, 2, length, 64}), bf16),
               v = cast(normal({1, 2, length, 64}), bf16);
  eval(q, k, v);
  auto step = jit([](Tensor q, Tensor k, Tensor v) {
    const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = true});
    auto all = vjp({y}, {v}, {q, k, v});
    all.insert(all.begin(), y);
    return all;
  });
  const std::size_t before = cuda().memory().bytes_in_use;
  const auto all = step(q, k, v);
  cuda().synchronize();
  // The scores of one head would be 8 GiB; each tensor is 16 MiB.
  EXPECT_LT(cuda().memory().bytes_in_use - before, std::size_t{512} << 20);
  const auto head = [&](const Tensor& x) { return slice(x, 2, {0, first}); };
  const auto got = head(all[0]).to_host<double>();
  const Tensor alone = scaled_dot_product_attention(cast(head(q), f32), cast(head(k), f32), cast(head(v), f32), {.causal = true});
  const auto expected = alone.to_host<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(got[i], expected[i], std::ldexp(1, -6) * 4) << i;
  for (const Tensor& x : all) { ASSERT_TRUE(std::isfinite(cast(sum(cast(x, f32)), f64).item<double>())); }
}

}  // namespace
}  // namespace tegula
