// vmap of every declared case is the case of each example, and so are its gradients.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tegula/tegula.h"
#include "tests/property/ops.h"
#include "tests/support/values.h"

namespace tegula::property {
namespace {

using Tensors = std::vector<Tensor>;

constexpr std::int64_t kExamples = 3;

DType dtype_of(const OpCase& one, const CaseInput& input) {
  return input.dtype ? *input.dtype : std::ranges::find(one.dtypes, f64) != one.dtypes.end() ? f64 : one.dtypes[0];
}

/// Values of the case for all examples, along axis 0.
Tensor drawn_for(const OpCase& one, const CaseInput& input, const Shape& shape, std::mt19937_64& engine) {
  const DType dtype = dtype_of(one, input);
  Shape all = shape;
  all.insert(0, kExamples);
  std::vector<double> values(static_cast<std::size_t>(numel(all)));
  for (double& value : values) {
    const double at = std::uniform_real_distribution<>()(engine);
    value = input.low + (input.high - input.low) * at;
    if (dtype == boolean) value = at < 0.5;
    else if (!is_float(dtype)) value = std::min(input.high, std::floor(input.low + (input.high - input.low + 1) * at));
  }
  return cast(tensor(values, all), dtype);
}

/// Like f64 whatever it is, so that one list has all results.
Tensor wide(const Tensor& x) { return cast(x, f64); }

/// The function's value, and its gradients by all float inputs, where it has them.
Tensors outcome(const OpCase& one, const Tensors& x) {
  Tensors out{one.function(x)};
  if (!one.gradient || !is_float(out[0].dtype())) return out;
  const Tensor y = out[0];
  const Tensor weights = reshape(cos(arange(y.numel()) * 0.7 + 0.3), y.shape());
  std::vector<Wrt> wrt;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (is_float(x[i].dtype()) && one.inputs[i].differentiable) wrt.emplace_back(x[i]);
  if (wrt.empty()) return out;
  for (const Tensor& g : grad(sum(wide(y) * cast(weights, f64)), WrtList(wrt))) out.push_back(g);
  return out;
}

/// `varying`: a mask of the inputs that differ from example to example.
void compare(const OpCase& one, const std::vector<Shape>& shapes, unsigned varying, std::uint64_t seed,
             std::map<std::string, std::set<std::string>>& loops) {
  std::mt19937_64 engine(seed);
  Tensors all, xs;
  VmapOptions options{.in_axes = {}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    all.push_back(drawn_for(one, one.inputs[i], shapes[i], engine));
    const bool varies = varying >> i & 1;
    xs.push_back(varies ? all.back() : select(all.back(), 0, 0));
    options.in_axes.push_back(varies ? std::optional<int>(0) : kShared);
  }
  for (Tensor& x : xs) eval(x);
  const std::string what = one.op + " " + (shapes.empty() ? "" : to_string(shapes[0])) + " varying " + std::to_string(varying);
  const double tolerance = std::ranges::find(one.dtypes, f64) != one.dtypes.end() ? 1e-9 : 1e-6;
  const auto f = [&](const Tensors& x) { return outcome(one, x); };
  Tensors got;
  try {
    got = vmap(f, xs, options);
  } catch (const Error& error) {
    if (error.report().op == "vmap" && error.report().expected.find("axes, so that the examples") != std::string::npos) return;
    FAIL() << what << ": " << error.what();
  }
  std::vector<Tensors> each;
  for (std::int64_t k = 0; k < kExamples; ++k) {
    Tensors x;
    for (std::size_t i = 0; i < xs.size(); ++i) x.push_back(varying >> i & 1 ? select(xs[i], 0, k) : xs[i]);
    each.push_back(f(x));
  }
  ASSERT_EQ(got.size(), each[0].size()) << what;
  for (std::size_t r = 0; r < got.size(); ++r) {
    Tensors expected;
    for (const Tensors& one_example : each) expected.push_back(wide(one_example[r]));
    test::expect_close(wide(got[r]), stack(expected, 0), tolerance, what + (r == 0 ? " value" : " gradient " + std::to_string(r - 1)));
    if (testing::Test::HasFailure()) return;
  }
  if (got.size() > 1) {  // the gradient of all values, not each value's gradient
    const Tensor y = vmap(one.function, xs, options);
    std::vector<Wrt> wrt;
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (is_float(xs[i].dtype()) && one.inputs[i].differentiable) wrt.emplace_back(xs[i]);
    Shape example = y.shape();
    example.erase(0);
    const Tensor weights = reshape(cos(arange(numel(example)) * 0.7 + 0.3), example);
    const Tensors gradients = grad(sum(wide(y) * cast(weights, f64)), WrtList(wrt));
    for (std::size_t k = 0, i = 0; i < xs.size(); ++i) {
      if (!is_float(xs[i].dtype()) || !one.inputs[i].differentiable) continue;
      const Tensor each_example = wide(got[k + 1]);
      test::expect_close(wide(gradients[k]), varying >> i & 1 ? each_example : sum(each_example, 0), 10 * tolerance,
                         what + " through vmap, by " + std::to_string(i));
      ++k;
    }
    if (testing::Test::HasFailure()) return;
  }
  try {
    options.loops = false;
    vmap(f, xs, options);
  } catch (const Error& error) { loops[error.report().got.substr(0, error.report().got.find(' '))].insert(one.op); }
}

TEST(Vmap, OfEveryDeclaredCaseIsTheCaseOfEachExample) {
  std::uint64_t seed = 43;
  std::map<std::string, std::set<std::string>> loops;
  int tried = 0;
  for (const OpCase& one : declared_cases()) {
    if (one.draws || one.jumps) continue;
    if (one.op == "cast_to_e4m3") continue;
    std::vector<std::vector<Shape>> all{{}};
    for (const CaseInput& input : one.inputs) all[0].push_back(input.shape);
    if (!one.more_shapes.empty()) all.push_back(one.more_shapes[0]);
    for (const auto& shapes : all) {
      std::int64_t most = 0;
      for (const Shape& shape : shapes) most = std::max(most, numel(shape));
      if (most > 4000 || shapes.empty()) continue;
      const auto whole = (1u << shapes.size()) - 1;
      std::set<unsigned> masks{whole};
      for (std::size_t i = 0; i < shapes.size(); ++i) masks.insert({1u << i, whole & ~(1u << i)});
      masks.erase(0);
      for (const unsigned mask : masks) {
        compare(one, shapes, mask, ++seed, loops);
        ++tried;
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("%d calls of vmap; loops over examples:\n", tried);
  for (const auto& [op, of] : loops) {
    std::printf("  %s:", op.c_str());
    for (const std::string& one : of) std::printf(" %s", one.c_str());
    std::printf("\n");
  }
  EXPECT_GT(tried, 400);
}

}  // namespace
}  // namespace tegula::property
