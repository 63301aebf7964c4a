// vmap where the declared cases of ops (tests/property/vmap_test.cpp) do not go: arguments, structures, Variables, loops, factors, nesting.

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;
using test::expect_near;
using Tensors = std::vector<Tensor>;

Tensor draw(const Shape& shape, DType dtype = f64) { return test::drawn(shape, dtype); }

/// f of each example of x along axis 0.
Tensor one_by_one(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  Tensors out;
  for (std::int64_t i = 0; i < x.size(0); ++i) out.push_back(f(select(x, 0, i)));
  return stack(out, 0);
}

TEST(VmapOf, ArgumentsAndResults) {
  const Tensor x = draw({4, 3, 5}), w = draw({5, 2});
  const auto f = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  expect_close(vmap(f, {x, w}, {.in_axes = {0, kShared}}), matmul(x, w), 1e-12);
  expect_close(vmap(f, {movedim(x, 0, 2), w}, {.in_axes = {-1, kShared}, .out_axis = -1}), movedim(matmul(x, w), 0, 2), 1e-12);
  expect_close(vmap([](Tensor a) { return sum(a); }, {x}), sum(x, {1, 2}), 1e-12);
  expect_close(vmap([](const Tensors& in) { return in[0] * 2.0; }, {x}), x * 2.0, 0);
  expect_close(vmap([&](Tensor) { return w; }, {x}), expand(w, {4, 5, 2}), 0, "a result that is the same for all");
  const auto [least, both] = vmap([](Tensor a) { return std::pair(min(a), Tensors{a, -a}); }, {x});
  expect_close(least, min(x, {1, 2}), 0);
  ASSERT_EQ(both.size(), 2u);
  expect_close(both[1], -x, 0);
  EXPECT_EQ(vmap([](Tensor a) { return softmax(a, 0); }, {draw({0, 3})}).shape(), (Shape{0, 3}));
  EXPECT_EQ(vmap([](Tensor a) { return sort(a).indices; }, {draw({1, 1})}).shape(), (Shape{1, 1}));
}

TEST(VmapOf, GradientsOfEachExample) {
  nn::Linear net(6, 3);
  const Tensor xs = draw({5, 6}, f32), labels = tensor({0, 2, 1, 1, 0});
  const auto of_one = [&](const Tensor& x, const Tensor& label) {
    return grad(cross_entropy(unsqueeze(net(x), 0), unsqueeze(label, 0)), parameters(net));
  };
  const Tensors all = vmap(of_one, {xs, labels}, {.loops = false});
  ASSERT_EQ(all.size(), 2u);
  for (std::int64_t i = 0; i < 5; ++i) {
    const Tensors one = of_one(select(xs, 0, i), select(labels, 0, i));
    for (std::size_t k = 0; k < 2; ++k) expect_close(select(all[k], 0, i), one[k], 1e-6);
  }
  auto compiled = jit([&](const Tensor& x, const Tensor& t) { return vmap(of_one, {x, t}); });
  expect_close(compiled(xs, labels)[0], all[0], 1e-6);
}

TEST(VmapOf, NormsOfEachExample) {
  nn::BatchNorm2d norm(3);
  eval(norm);
  const Tensor pictures = draw({4, 2, 3, 5, 5}, f32);
  expect_close(vmap([&](Tensor x) { return norm(x); }, {pictures}), reshape(norm(reshape(pictures, {8, 3, 5, 5})), {4, 2, 3, 5, 5}), 1e-6);
}

TEST(VmapOf, FactorsSpectraAndTransforms) {
  const Tensor a = draw({6, 4, 4}) + 5.0 * eye(4, std::nullopt, f64), b = draw({6, 4}), symmetric = matmul(a, transpose(a));
  eval(a, b, symmetric);
  const VmapOptions rules{.loops = false};
  expect_close(vmap([](Tensor m, Tensor v) { return solve(m, v); }, {a, b}, rules), reshape(solve(a, unsqueeze(b, -1)), {6, 4}), 1e-10);
  expect_close(vmap([](Tensor m) { return cholesky(m); }, {symmetric}, rules), cholesky(symmetric), 1e-10);
  expect_close(vmap([](Tensor m) { return qr(m).r; }, {a}, rules), qr(a).r, 1e-10);
  expect_close(vmap([](Tensor m) { return svdvals(m); }, {a}, rules), svdvals(a), 1e-10);
  expect_close(vmap([](Tensor m) { return eigvalsh(m); }, {symmetric}, rules), eigvalsh(symmetric), 1e-10);
  expect_close(vmap([](Tensor m) { return det(m); }, {a}, rules), det(a), 1e-10);
  expect_close(vmap([](Tensor m) { return grad(slogdet(m).logarithm, m); }, {a}, rules), transpose(inverse(a)), 1e-10);
  expect_close(vmap([](Tensor v) { return rfft(v); }, {b}, rules), rfft(b), 1e-12);
}

TEST(VmapOf, SegmentsByALoop) {
  const Tensor x = draw({3, 6, 2}), index = tensor({0, 2, 0, 1, 2, 2});
  const auto sums = [&](const Tensor& one) { return segment_sum(one, segments(index, 3)); };
  expect_close(vmap(sums, {x}), one_by_one(sums, x), 1e-12);
}

TEST(VmapOf, Loops) {
  const Tensor x = draw({3, 6, 2}), u = draw({2, 2});
  const auto recurrent = [&](const Tensor& steps) {
    const auto step = [&](const Tensors& carry, const Tensors& in) {
      const Tensor h = tanh(in[0] + reshape(matmul(reshape(carry[0], {1, 2}), u), {2}));
      return Scanned{{h}, {h, h * in[0]}};
    };
    const Scanned all = scan(step, {zeros({2}, f64)}, {steps}, {.reverse = true});
    return all.ys[0] * 2.0 + all.ys[1] + all.carry[0];
  };
  expect_close(vmap(recurrent, {x}, {.loops = false}), one_by_one(recurrent, x), 1e-12);
  const auto gradient = [&](const Tensor& steps) { return grad(sum(square(recurrent(steps))), steps); };
  expect_close(vmap(gradient, {x}, {.loops = false}), one_by_one(gradient, x), 1e-12);
  expect_close(grad(sum(square(vmap(recurrent, {x}))), x), one_by_one(gradient, x), 1e-12);
  // vmap may be the body of a loop.
  const auto in_scan = scan(
                           [&](const Tensors& carry, const Tensors& in) {
                             const Tensor next = carry[0] + vmap([](Tensor a, Tensor b) { return sum(a) * b; }, {in[0], in[0]});
                             return Scanned{{next}, {}};
                           },
                           {zeros({6, 2}, f64)}, {x})
                           .carry[0];
  expect_close(in_scan, sum(sum(x, -1, Keep::Yes) * x, 0), 1e-12);
}

TEST(VmapOf, Vmap) {
  const Tensor x = draw({3, 4}), y = draw({5, 4});
  const auto product = [](Tensor a, Tensor b) { return sum(a * b); };
  const auto table = vmap([&](Tensor a) { return vmap([&](Tensor b) { return product(a, b); }, {y}); }, {x});
  expect_close(table, matmul(x, transpose(y)), 1e-12);
  const Tensor h = vmap([](Tensor a) { return hessian(sum(a * a * a), a); }, {x});
  expect_close(h, unsqueeze(x, -1) * 6.0 * eye(4, std::nullopt, f64), 1e-12, "Hessians");
}

TEST(VmapOf, GradientsOfOnesOwn) {
  const Tensor x = draw({3, 4}), scale = draw({4});
  const auto own = [&](const Tensor& a) {
    const Tensor captured = a * scale;
    return custom_function(
        "own", [](const Tensors& in) { return square(in[0]); },
        [=](const Tensors& in, const Tensor& y, const Tensor& dy) { return Tensors{dy * (captured + in[0] + y)}; }, {a});
  };
  const Tensor expected = x * scale + x + square(x);
  expect_close(vmap([&](Tensor a) { return grad(sum(own(a)), a); }, {x}), expected, 1e-12);
  expect_close(grad(sum(vmap(own, {x})), x), expected, 1e-12);
}

TEST(VmapOf, Eagerly) {
  set_eager(true);
  const Tensor x = draw({3, 4});
  const Tensor y = vmap([](Tensor a) { return softmax(a * 2.0, 0); }, {x});
  set_eager(false);
  expect_close(y, softmax(x * 2.0, 1), 1e-12);
}

TEST(VmapOf, WhatItRefuses) {
  const Tensor x = draw({3, 4});
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return sum(a); }, {x, x})), "2 arguments for a function of 1");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return sum(a); }, {ones({})})), "axis 0");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a, Tensor b) { return a + b; }, {x, draw({2, 4})})), "2 examples beside 3");
  Variable counter(zeros({}, f64));
  const auto counts = [&](Tensor a) {
    counter = sum(a);
    return a;
  };
  EXPECT_HAS_MESSAGE(vmap(counts, {x}), "assigns a Variable");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return a + normal({4}); }, {x})), "assigns a Variable");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return debug_print(a); }, {x})), "debug_print");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return a * sum(a).item<double>(); }, {x})), "item");
  const Tensor index = tensor({0, 2, 0, 1});
  const auto sums = [&](const Tensor& a) { return segment_sum(a, segments(index, 3)); };
  EXPECT_HAS_MESSAGE((vmap(sums, {x}, {.loops = false})), "grouped_sum at ");
  EXPECT_HAS_MESSAGE((vmap([](Tensor a) { return reshape(a, {1, 1, 1, 1, 1, 1, 2, 2}); }, {x})), "at most 7 axes");
}

}  // namespace
}  // namespace tegula
