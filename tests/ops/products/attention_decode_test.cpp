// Attention of few queries over a cache: the tile program against the plain ops, which are its meaning.

#include "tegula/ops/products/attention_decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/simt/decide/layout.h"
#include "tegula/tegula.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/op_check.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;

using Tensors = std::vector<Tensor>;

struct Problem {
  std::int64_t batch, heads, groups, queries, keys, width, features;
};

/// Each result of the program and of the plain ops, of the same inputs.
void expect_equal(const ops::AttentionForm& form, const std::vector<Tensor>& inputs, double tolerance) {
  const std::vector<Tensor> found = ops::attention_decode_nodes(form, inputs), expected = ops::plain_attention(form, inputs);
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_EQ(found[k].shape(), expected[k].shape());
    ASSERT_EQ(found[k].dtype(), expected[k].dtype());
    const auto a = found[k].to_host<double>(), b = expected[k].to_host<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isinf(b[i])) ASSERT_EQ(a[i], b[i]) << "result " << k << ", element " << i;
      else ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << "result " << k << ", element " << i;
    }
  }
}

double tolerance_of(DType dtype) { return dtype == f64 ? 1e-12 : dtype == f32 ? 2e-5 : dtype == f16 ? 2e-3 : 1.6e-2; }

const Problem kProblems[] = {{2, 3, 3, 1, 40, 8, 8}, {1, 4, 2, 1, 700, 16, 16}, {3, 2, 1, 2, 33, 5, 7}, {1, 1, 1, 4, 9, 64, 64},
                             {1, 2, 2, 1, 1, 3, 1},  {1, 2, 1, 1, 9001, 16, 5}};  // enough keys for several instances to share them

TEST(AttentionDecode, IsThePlainOpsInEveryDType) {
  manual_seed(3);
  for (const Problem& p : kProblems) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      // As a cache lies: places before heads.
      const Tensor q = drawn({p.batch, p.heads, p.queries, p.width}, dtype),
                   k = permute(drawn({p.batch, p.keys, p.groups, p.width}, dtype), {0, 2, 1, 3}),
                   v = permute(drawn({p.batch, p.keys, p.groups, p.features}, dtype), {0, 2, 1, 3});
      std::vector<std::int64_t> first;
      for (std::int64_t b = 0; b < p.batch; ++b) first.push_back((b * 13 + p.keys / 2) % p.keys);
      const Tensor start = tensor(first, {p.batch});
      const std::string what = std::string(name(dtype)) + ", " + std::to_string(p.keys) + " keys";
      SCOPED_TRACE(what);
      expect_equal({.scale = 0.3}, {q, k, v}, tolerance_of(dtype));
      expect_equal({.causal = true, .scale = 0.3, .start = true}, {q, k, v, start}, tolerance_of(dtype));
      expect_equal({.causal = true, .window = 5, .scale = 0.3, .start = true}, {q, k, v, start}, tolerance_of(dtype));
    }
  }
}

TEST(AttentionDecode, SeesWhatMaskLengthsAndWindowLeave) {
  manual_seed(4);
  for (const Problem& p : kProblems) {
    const Tensor q = drawn({p.batch, p.heads, p.queries, p.width}, f32), k = drawn({p.batch, p.groups, p.keys, p.width}, f32),
                 v = drawn({p.batch, p.groups, p.keys, p.features}, f32);
    const Shape scores{p.batch, p.heads, p.queries, p.keys};
    const Tensor mask = uniform(scores) < 0.6;
    eval(mask);
    std::vector<std::int64_t> lengths;  // 0 for one sample: its queries see nothing
    for (std::int64_t b = 0; b < p.batch; ++b) lengths.push_back(b == 0 ? 0 : p.keys - b);
    const Tensor length = tensor(lengths, {p.batch}), start = expand(tensor({p.keys / 3}, Shape{}), {p.batch});
    expect_equal({.mask = true}, {q, k, v, mask}, 2e-5);
    expect_equal({.lengths = true}, {q, k, v, length}, 2e-5);
    expect_equal({.window = 4, .start = true}, {q, k, v, start}, 2e-5);
    expect_equal({.causal = true, .mask = true, .lengths = true, .start = true}, {q, k, v, mask, length, start}, 2e-5);
    const Tensor broadcast = expand(slice(slice(mask, 1, {0, 1}), 2, {0, 1}), scores);  // lies once for all heads and queries
    expect_equal({.mask = true}, {q, k, v, broadcast}, 2e-5);
  }
}

/// As cut and generated for an H200, on emulated threads: an instance for a row, or several.
TEST(AttentionDecode, IsTheSameAsTextForAGpu) {
  manual_seed(6);
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [](const tile::Program& program) { return gpu::emulated_kernel(program); };
  device.preference = gpu::tiles_for({.architecture = 90, .multiprocessors = 132});
  for (const std::int64_t keys : {300, 9001}) {
    const auto q = normal({1, 2, 1, 64}).to_host(), k = normal({1, 1, keys, 64}).to_host(), v = normal({1, 1, keys, 64}).to_host();
    const auto values = [&](runtime::Device& where) {
      const test::OnDevice here(where);
      const Tensors inputs{tensor(q, {1, 2, 1, 64}), tensor(k, {1, 1, keys, 64}), tensor(v, {1, 1, keys, 64}), tensor({keys - 7}, {1})};
      const ops::AttentionForm form{.causal = true, .scale = 0.2, .start = true};
      return (where.number() == 0 ? ops::plain_attention(form, inputs) : ops::attention_decode_nodes(form, inputs))[0].to_host();
    };
    const auto found = values(device), expected = values(cpu());
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << keys << " keys, element " << i;
  }
}

/// A cache that grows by a token at a time, in a jit-ed step: as in generation.
TEST(AttentionDecode, ACacheThatGrowsInAJit) {
  manual_seed(5);
  const std::int64_t heads = 2, width = 8, capacity = 50;
  const Tensor rows = drawn({1, 12, 3 * heads * width}, f32);
  nn::KeyValueCache cache({.layers = 1, .batch = 1, .capacity = capacity, .heads = heads, .width = width});
  const auto part = [&](const Tensor& x, int i) {
    return reshape(slice(x, 2, {i * heads * width, (i + 1) * heads * width}), {1, x.size(1), heads, width});
  };
  const auto by_head = [](const Tensor& x) { return permute(x, {0, 2, 1, 3}); };
  auto step = jit([&](Tensor row) {
    const auto seen = cache.extend(0, part(row, 1), part(row, 2));
    const Tensor y = scaled_dot_product_attention(by_head(part(row, 0)), seen.keys, seen.values, cache.attention());
    cache.advance(1);
    return by_head(y);
  });
  const Tensor whole =
      by_head(scaled_dot_product_attention(by_head(part(rows, 0)), by_head(part(rows, 1)), by_head(part(rows, 2)), {.causal = true}));
  const auto expected = whole.to_host<float>();
  for (std::int64_t t = 0; t < 12; ++t) {
    const auto found = step(slice(rows, 1, {t, t + 1})).to_host<float>();
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[static_cast<std::size_t>(t * heads * width) + i], 2e-5) << "token " << t;
  }
}

}  // namespace
}  // namespace tegula
