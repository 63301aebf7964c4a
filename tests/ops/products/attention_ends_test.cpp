// Attention at its ends: hidden keys that hold anything, scores of any size, places beyond all keys.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tegula/ops/products/attention_decode.h"
#include "tegula/ops/products/attention_op.h"
#include "tegula/runtime/attention.h"
#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula::attention_ends {
namespace {

using test::drawn;
using test::expect_close;

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();
using Doubles = std::vector<double>;

constexpr std::int64_t kQueries = 70, kKeys = 300;

/// Ways to hide some keys from some of 70 queries, and from all.
std::vector<std::pair<std::string, AttentionOptions>> ways_to_hide() {
  const Tensor i = iota({2, 4, kQueries, kKeys}, 2), j = iota({2, 4, kQueries, kKeys}, 3);
  const Tensor some = (i * 7 + j * 3) % 5 != 0 && j != 260, padding = iota({2, 1, 1, kKeys}, 3) < 250;
  const Tensor lengths = tensor<std::int64_t>({260, 5}), start = tensor<std::int64_t>({3, 100});
  return {{"mask", {.mask = some}},
          {"padding", {.mask = padding}},
          {"causal", {.causal = true}},
          {"causal from a start", {.causal = true, .start = start}},
          {"window", {.window = 20}},
          {"window and mask", {.causal = true, .mask = some, .window = 6}},
          {"lengths", {.lengths = lengths}},
          {"lengths, causal, a bias", {.causal = true, .bias = tensor({0.5f}, {1, 1, 1, 1}), .lengths = lengths}}};
}

/// docs/differences.md: elsewhere than on the CPU keys have to be finite that some queries of the sample see and others do not.
bool is_on_cpu() { return &default_device() == &cpu(); }
/// … and all keys in cuDNN's call, of halves without mask, lengths and start.
bool is_call_of_cudnn(const AttentionOptions& options, DType dtype) {
  const Layout heads = Layout::dense({1, 1, 128, 64});
  return !is_on_cpu() && default_device().takes(runtime::Attention{.q = {bf16, heads}, .k = {bf16, heads}, .v = {bf16, heads}}) &&
         is_half(dtype) && !options.mask.defined() && !options.bias.defined() && !options.lengths.defined() && !options.start.defined();
}

TEST(AttentionEnds, HiddenKeysMayHoldAnything) {
  manual_seed(3);
  for (const DType dtype : {f32, f64, bf16}) {
    const Tensor q = drawn({2, 4, kQueries, 8}, dtype), k = drawn({2, 2, kKeys, 8}, dtype), v = drawn({2, 2, kKeys, 16}, dtype);
    const Tensor weight = drawn({2, 4, kQueries, 16}, dtype);
    const double tolerance = dtype == bf16 ? 2e-2 : 2e-5;
    for (auto [name, options] : ways_to_hide()) {
      if (options.bias.defined()) options.bias = cast(options.bias, dtype);
      if (is_call_of_cudnn(options, dtype)) continue;
      const Tensor seen = attention_weights(q * 0.0, k * 0.0, options) > 0.0;
      for (const double held : {kNaN, kInfinity, -kInfinity}) {
        const Tensor at = iota({2, 2, kKeys, 1}, 2);
        Tensor poisoned = at == 7 || at == 260;
        if (!is_on_cpu()) poisoned = poisoned && !reshape(any(any(seen, 1), 1), {2, 1, kKeys, 1});
        EXPECT_TRUE(any(poisoned).item() != 0) << name;
        const Tensor bad_k = where(poisoned, held, k), bad_v = where(poisoned, held, v);
        const Tensor of_heads = reshape(expand(reshape(poisoned, {2, 2, 1, kKeys}), {2, 2, 2, kKeys}), {2, 4, 1, kKeys});
        const Tensor clean_row = unsqueeze(!any(seen && of_heads, -1), -1);
        const auto run = [&, options](const Tensor& q, const Tensor& k, const Tensor& v) {
          const Tensor y = where(clean_row, scaled_dot_product_attention(q, k, v, options), 0.0);
          std::vector<Tensor> out = grad(sum(y * weight), {q, k, v});
          out.push_back(y);
          return out;
        };
        const auto want = run(q, k, v), got = run(q, bad_k, bad_v);
        const auto compiled = jit(run)(q, bad_k, bad_v);
        for (std::size_t r = 0; r < want.size(); ++r) {
          const std::string what =
              name + " of " + std::to_string(held) + ", " + std::string(tegula::name(dtype)) + ", result " + std::to_string(r);
          expect_close(got[r], want[r], tolerance, what);
          expect_close(compiled[r], want[r], tolerance, what + " in a jit");
        }
        for (const std::size_t r : {std::size_t{1}, std::size_t{2}}) EXPECT_EQ(sum(abs(where(poisoned, got[r], 0.0))).item(), 0) << name;
      }
    }
  }
}

/// On the CPU the queries, too, whose results get the gradient 0.
TEST(AttentionEnds, HiddenQueriesMayHoldAnything) {
  manual_seed(4);
  const Tensor q = drawn({1, 2, 40, 8}), k = drawn({1, 2, 40, 8}), v = drawn({1, 2, 40, 8});
  const Tensor shown = iota({1, 1, 40, 1}, 2) < 30, lengths = tensor<std::int64_t>({30});
  const auto run = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return grad(sum(square(where(shown, scaled_dot_product_attention(q, k, v, {.lengths = lengths}), 0.0))), {q, k, v});
  };
  const auto want = run(where(shown, q, 0.0), where(shown, k, 0.0), where(shown, v, 0.0)),
             got = run(where(shown, q, is_on_cpu() ? kNaN : 1e3), where(shown, k, kNaN), where(shown, v, kNaN));
  for (std::size_t r = 0; r < 3; ++r) expect_close(got[r], want[r], 2e-5, std::to_string(r));
}

/// As on devices without a call for it: keys that no query sees are hidden.
TEST(AttentionEnds, PlainOpsHideKeysThatNoQuerySees) {
  manual_seed(5);
  const Tensor q = drawn({2, 4, 6, 8}), k = drawn({2, 2, 20, 8}), v = drawn({2, 2, 20, 8}), dy = drawn({2, 6, 4, 8});
  const Tensor lengths = tensor<std::int64_t>({12, 9}), start = tensor<std::int64_t>({0, 1});
  const Tensor at = iota({2, 2, 20, 1}, 2), hidden = at >= 12 || (iota({2, 2, 20, 1}, 0) == 1 && at >= 9);
  const Tensor i = iota({2, 4, 6, 20}, 2), j = iota({2, 4, 6, 20}, 3);
  struct One {
    ops::AttentionForm form;
    std::vector<Tensor> extras;
  };
  const std::vector<One> all{{{.scale = 0.4, .lengths = true}, {lengths}},
                             {{.causal = true, .scale = 0.4}, {}},
                             {{.causal = true, .scale = 0.4, .start = true}, {start}},
                             {{.window = 3, .scale = 0.4, .start = true}, {start}},
                             {{.window = 3, .scale = 0.4}, {}},
                             {{.scale = 0.4, .mask = true}, {(i + j) % 3 != 0 && j < 9}},
                             {{.scale = 0.4, .mask = true}, {expand(iota({2, 1, 1, 20}, 3) < 9, {2, 4, 6, 20})}}};
  for (std::size_t n = 0; n < all.size(); ++n) {
    const auto run = [&](const Tensor& k, const Tensor& v) {
      std::vector<Tensor> in{q, k, v};
      in.insert(in.end(), all[n].extras.begin(), all[n].extras.end());
      std::vector<Tensor> out = ops::plain_attention(all[n].form, in);
      for (const Tensor& x : {out[0], out[1], dy}) in.push_back(x);
      for (const Tensor& x : ops::plain_attention_gradients(all[n].form, in)) out.push_back(x);
      return out;
    };
    const auto want = run(where(hidden, 0.0, k), where(hidden, 0.0, v)), got = run(where(hidden, kNaN, k), where(hidden, kNaN, v));
    for (std::size_t r = 0; r < want.size(); ++r) EXPECT_EQ(got[r].to_host<double>(), want[r].to_host<double>()) << n << ", " << r;
    if (!ops::describes_attention_decode(all[n].form)) continue;
    std::vector<Tensor> in{q, where(hidden, kNaN, k), where(hidden, kNaN, v)};
    in.insert(in.end(), all[n].extras.begin(), all[n].extras.end());
    expect_close(ops::attention_decode_nodes(all[n].form, in)[0], want[0], 2e-5, "decode " + std::to_string(n));
  }
}

/// By what factor a weight of a gradient may be off for a score of this size: elsewhere than on the CPU it is computed again from the logarithm of the
/// weights' sum, in f32. 0 on the CPU.
double off_by(double score) { return is_on_cpu() ? 0 : std::expm1(std::abs(score) * std::numeric_limits<float>::epsilon()); }

TEST(AttentionEnds, ScoresMayHaveAnySize) {
  for (const std::int64_t width : {2, 3, 8, 64}) {
    for (const float size : {1.f, 30.f, 1e3f, 3e4f, 1e5f, 1e8f, 1e17f}) {
      for (const std::int64_t keys : {2, 3, 300}) {
        const Tensor q = full({1, 1, 5, width}, size), k = full({1, 1, keys, width}, size), v = drawn({1, 1, keys, 4});
        const Tensor y = scaled_dot_product_attention(q, k, v);
        const std::string what = std::to_string(keys) + " keys, " + std::to_string(width) + " features of " + std::to_string(size);
        const Tensor dv = grad(sum(y), v);
        const double off = off_by(double{size} * size * std::sqrt(static_cast<double>(width)));
        for (const double weight : dv.to_host<double>()) ASSERT_TRUE(weight >= 0 && weight <= 5 * (1 + 1e-4)) << what << ": " << weight;
        if (off < 1) expect_close(sum(dv, 2), full({1, 1, 4}, 5.0), 1e-4 + off, what + ", weights");
        if (keys == 300 && size > 1e3f) continue;  // products of blocks of other sizes are rounded differently
        expect_close(y, expand(mean(v, 2, Keep::Yes), {1, 1, 5, 4}), 1e-5, what);
        if (off < 1) expect_close(dv, full({1, 1, keys, 4}, 5.0 / static_cast<double>(keys)), 1e-4 + off, what + ", gradient");
      }
    }
  }
}

TEST(AttentionEnds, RowsMaskedByNumbersHaveTheGradientsOfTheirFormula) {
  manual_seed(6);
  const Tensor q = drawn({1, 2, 70, 8}), k = drawn({1, 2, 300, 8}), v = drawn({1, 2, 300, 8}), weight = drawn({1, 2, 70, 8});
  for (const double low : {-1e4, -1e8, -1e9, -1e30}) {
    const Tensor masked = iota({1, 1, 70, 1}, 2) % 2 == 0, bias = where(masked, full({1, 1, 70, 300}, low), 0.f);
    const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(8.0)) + bias;
    const auto gradients = [&](const Tensor& y, const Tensor& weight) { return grad(sum(y * weight), {q, k, v}); };
    const Tensor y = scaled_dot_product_attention(q, k, v, {.bias = bias}), formula = matmul(softmax(scores), v);
    const auto compare = [&](const Tensor& weight) {
      const auto got = gradients(y, weight), want = gradients(formula, weight);
      for (std::size_t r = 0; r < 3; ++r) expect_close(got[r], want[r], 1e-4, std::to_string(low) + ", " + std::to_string(r));
    };
    expect_close(y, formula, 1e-4, std::to_string(low));
    if (is_on_cpu()) {
      compare(weight);
      continue;
    }
    compare(where(masked, 0.0, weight));
    // A masked row's weights, summed over the rows: as far off as the logarithm is rounded, and never beyond 1.
    const double off = off_by(low);
    const Tensor got = grad(sum(where(masked, y, 0.0)), v), want = grad(sum(where(masked, formula, 0.0)), v);
    if (off < 1) expect_close(got, want, off, std::to_string(low));
    for (const double sum : got.to_host<double>()) ASSERT_TRUE(sum >= 0 && sum <= 35 * (1 + 1e-4)) << low << ": " << sum;
  }
}

TEST(AttentionEnds, PlacesMayLieBeyondAllKeys) {
  manual_seed(7);
  const Tensor q = drawn({1, 1, 4, 8}), k = drawn({1, 1, 9, 8}), v = drawn({1, 1, 9, 8});
  const Tensor all = scaled_dot_product_attention(q, k, v);
  const double rounding = is_on_cpu() ? 0 : 1e-6;  // elsewhere few queries with a start have a program of their own
  for (const std::int64_t far : {kMost, kMost - 10, kMost / 2}) {
    const Tensor start = tensor<std::int64_t>({far}, {1});
    expect_close(scaled_dot_product_attention(q, k, v, {.causal = true, .start = start}), all, rounding, "causal");
    expect_close(scaled_dot_product_attention(q, k, v, {.causal = true, .window = kMost, .start = tensor<std::int64_t>({100}, {1})}), all,
                 rounding, "window");
    EXPECT_EQ(max(abs(scaled_dot_product_attention(q, k, v, {.window = 5, .start = start}))).item(), 0);
    ops::AttentionForm form{.causal = true, .scale = 1 / std::sqrt(8.0), .start = true};
    const std::vector<Tensor> in{q, k, v, start};
    expect_close(permute(ops::plain_attention(form, in)[0], {0, 2, 1, 3}), all, 1e-6, "plain");
    expect_close(permute(ops::attention_decode_nodes(form, in)[0], {0, 2, 1, 3}), all, 1e-6, "decode");
  }
  for (const std::int64_t far : {kLeast, kLeast + 10}) {
    const Tensor start = tensor<std::int64_t>({far}, {1});
    EXPECT_EQ(max(abs(scaled_dot_product_attention(q, k, v, {.causal = true, .start = start}))).item(), 0);
  }
}

}  // namespace
}  // namespace tegula::attention_ends
