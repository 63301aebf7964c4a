// Groups of products that a device multiplies faster in f32: which products are halves there, and which are not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tegula/compile/passes/dtypes.h"
#include "tegula/graph/structural.h"
#include "tegula/tegula.h"
#include "tests/support/flat_graph.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula::compile {
namespace {

/// A device like a GPU: halves are slow in rows of no multiple of 8, and fast in others. To launch takes a second, so does a product.
class SlowInOddHalves : public test::QueuedDevice {
 public:
  static SlowInOddHalves& device() {
    static auto& one = *new SlowInOddHalves;  // see QueuedDevice::create
    return one;
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    std::vector<runtime::Candidate> ways = QueuedDevice::candidates(d);
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    if (ways.empty() || !product || !is_half(product->dtype())) return ways;
    const bool odd = product->a.layout.shape.back() % 8 != 0 && product->c.layout.shape.back() % 8 != 0;
    return {{d, odd ? 1.25 : in_even_halves}, {product->in(f32), 1.0}};
  }
  double in_even_halves = 0.1;

 private:
  SlowInOddHalves() { table.launch_seconds = 1, table.bytes_per_second = 1e12; }
};

std::vector<Tensor> mlp_step(const std::vector<Tensor>& in, Precision precision) {
  const PrecisionScope scope(precision);
  Tensor h = in[0];
  for (std::size_t k = 1; k < in.size(); ++k) h = k + 1 < in.size() ? relu(matmul(h, transpose(in[k]))) : matmul(h, transpose(in[k]));
  auto all = grad(mean(square(h)), std::vector<Wrt>(in.begin() + 1, in.end()));
  all.push_back(h);
  return all;
}
std::vector<Tensor> mlp_numbers(std::initializer_list<std::int64_t> widths) {
  manual_seed(9);
  std::vector<Tensor> in{normal({20, *widths.begin()})};
  for (const auto* width = widths.begin() + 1; width != widths.end(); ++width) in.push_back(normal({*width, width[-1]}) * 0.2);
  for (const Tensor& x : in) eval(x);
  return in;
}
std::string plan_of(const std::vector<Tensor>& in, Precision precision) {
  auto step = jit([precision](Tensor x, Tensor w1, Tensor w2) { return mlp_step({x, w1, w2}, precision); });
  step(in[0], in[1], in[2]);
  return step.print_precision();
}

TEST(PrecisionOfOddProducts, IsTf32WhereTheDeviceIsFasterWithIt) {
  const test::OnDevice here(SlowInOddHalves::device());
  const auto in = mlp_numbers({35, 33, 21});
  for (const Precision half : {Precision::fp16, Precision::bf16}) {
    EXPECT_EQ(plan_of(in, half), plan_of(in, Precision::tf32));
    EXPECT_EQ(plan_of(in, half).find(std::string(name(half == Precision::fp16 ? f16 : bf16))), std::string::npos);
    const auto found = mlp_step(in, half), expected = mlp_step(in, Precision::fp32);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const auto a = found[k].to_host<float>(), b = expected[k].to_host<float>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f * (1 + std::abs(b[i]))) << k;
    }
  }
}

TEST(PrecisionOfOddProducts, IsThatOfTheProductsTheyHandTheirValuesTo) {
  const test::OnDevice here(SlowInOddHalves::device());
  // 33 columns from 40: a half; the next one reads them, and so all are.
  const std::string mixed = plan_of(mlp_numbers({40, 33, 21}), Precision::bf16);
  EXPECT_EQ(mixed.find("tf32"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("bf16, sums f32"), std::string::npos) << mixed;
}

/// The number of products that are halves, and of casts.
struct Halves {
  std::ptrdiff_t products = 0, casts = 0;
  bool operator==(const Halves&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Halves& h) { return out << h.products << " products, " << h.casts << " casts"; }
Halves halves_of(const std::vector<Tensor>& results, const std::vector<int>& steady = {}) {
  Graph graph = test::flat(results);
  for (const int leaf : steady) graph.leaves[static_cast<std::size_t>(leaf)].steady = true;
  assign_precision(graph, SlowInOddHalves::device());
  return {std::ranges::count_if(graph.items, [](const Item& item) { return test::is_product(item) && is_half(item.dtype); }),
          std::ranges::count_if(graph.items, [](const Item& item) { return item.op == cast_op(); })};
}

TEST(PrecisionOfGroups, CountsTheCastsThatHalvesNeedAtEachRun) {
  const test::OnDevice here(SlowInOddHalves::device());
  const auto in = mlp_numbers({40, 48});
  const PrecisionScope half(Precision::bf16);
  const auto one = [&] { return std::vector{matmul(in[0], transpose(in[1]))}; };
  const auto two = [&] { return std::vector{matmul(relu(matmul(in[0], transpose(in[1]))), in[1])}; };
  EXPECT_EQ(halves_of(one()), (Halves{0, 0})) << "0.1 s and a launch of 1 s are more than 1 s";
  EXPECT_EQ(halves_of(one(), {0, 1}), (Halves{1, 3})) << "what stays is cast once";
  EXPECT_EQ(halves_of(two()), (Halves{2, 3})) << "0.2 s and one launch are less than 2 s";
  const Tensor other = normal({40, 24});
  eval(other);
  EXPECT_EQ(halves_of({matmul(in[0], transpose(in[1])), matmul(in[0], other)}).products, 2) << "they share the cast of what they read";
}

TEST(PrecisionOfGroups, NeedsNoCastBetweenTwoProducts) {
  const test::OnDevice here(SlowInOddHalves::device());
  const Tensor x = mlp_numbers({40})[0], w = mlp_numbers({40, 40})[1], other = normal({20, 40});
  eval(other);
  const PrecisionScope half(Precision::bf16);
  // Each product alone would stay f32; through elementwise ops, joins and sums of several they are one group with two that gain.
  const Tensor h = tanh(matmul(x, w)) * 2.0, odd = matmul(reshape(concat({h, h}, 0), {32, 50}), normal({50, 21}));
  EXPECT_EQ(halves_of({odd, matmul(h, w), matmul(h + other, w)}).products, 4);
  EXPECT_EQ(halves_of({matmul(reshape(x, {16, 50}), normal({50, 21}))}).products, 0);
}

TEST(PrecisionOfGroups, StaysHalfBesideHalvesOfTheUsersOwn) {
  const test::OnDevice here(SlowInOddHalves::device());
  const Tensor x = mlp_numbers({35})[0], w = normal({35, 33});
  eval(w);
  const PrecisionScope half(Precision::bf16);
  EXPECT_EQ(halves_of({matmul(x, w)}).products, 0);
  EXPECT_EQ(halves_of({cast(matmul(x, w), bf16)}).products, 1);
  EXPECT_EQ(halves_of({matmul(cast(cast(x, bf16), f32), w)}).products, 1);
}

}  // namespace
}  // namespace tegula::compile
