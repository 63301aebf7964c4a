// jvp, jacobian and hessian against closed forms and finite differences.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;
using Tensors = std::vector<Tensor>;

Tensor draw(const Shape& shape, DType dtype = f64) { return test::drawn(shape, dtype); }

/// (f(x + h v) - f(x - h v)) / 2h.
Tensor difference(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v, double h = 1e-5) {
  return (f(x + h * v) - f(x - h * v)) / (2 * h);
}

struct Named {
  const char* name;
  Shape shape;
  std::function<Tensor(const Tensor&)> f;
};

/// Functions of one tensor over every kind of op: formulas, reductions, products, kernels, calls with gradients of their own, loops.
std::vector<Named> functions() {
  const Tensor w = draw({5, 4}), picture = draw({3, 2, 3, 3}), keys = draw({1, 2, 6, 4});
  const Tensor symmetric = draw({4, 4});
  return {
      {"tanh", {3, 5}, [](const Tensor& x) { return tanh(x) * x; }},
      {"mlp", {7, 5}, [=](const Tensor& x) { return matmul(gelu(matmul(x, w)), transpose(w)); }},
      {"softmax", {3, 5}, [](const Tensor& x) { return softmax(x, -1); }},
      {"layer_norm", {3, 8}, [](const Tensor& x) { return layer_norm(x, {8}); }},
      {"cumsum", {9}, [](const Tensor& x) { return cumsum(square(x), 0) / 10.0; }},
      {"sort", {9}, [](const Tensor& x) { return sort(x).values * arange(9.0); }},
      {"take", {6, 2}, [](const Tensor& x) { return square(take(x, tensor({3, 0, 3, 5}), 0)); }},
      {"conv2d",
       {2, 2, 6, 5},
       [=](const Tensor& x) { return max_pool2d(relu(conv2d(x, picture, ConvolutionOptions{.padding = 1})), {2}); }},
      {"attention", {1, 2, 5, 4}, [=](const Tensor& x) { return scaled_dot_product_attention(x, keys, keys * 0.5); }},
      {"solve", {4, 4}, [](const Tensor& x) { return solve(x + 5.0 * eye(4, std::nullopt, f64), ones({4, 2}, f64)); }},
      {"logdet", {4, 4}, [](const Tensor& x) { return slogdet(matmul(x, transpose(x)) + eye(4, std::nullopt, f64)).logarithm; }},
      {"eigh", {4, 4}, [](const Tensor& x) { return eigvalsh(x + transpose(x)); }},
      {"fft", {8}, [](const Tensor& x) { return square(fft(complex_of(x, x * 0.5))); }},
      {"scan",
       {6, 3},
       [=](const Tensor& x) {
         const auto step = [=](const Tensors& carry, const Tensors& in) {
           const Tensor h = reshape(tanh(matmul(unsqueeze(carry[0], 0), slice(symmetric, 0, {0, 3}))), {4});
           const Tensor next = slice(h, 0, {0, 3}) + in[0];
           return Scanned{{next}, {next}};
         };
         return scan(step, {zeros({3}, f64)}, {x}).ys[0];
       }},
      {"checkpoint", {4}, [](const Tensor& x) { return checkpoint([](const Tensors& in) { return sin(in[0]) * in[0]; }, {x}); }},
      {"custom",
       {4},
       [](const Tensor& x) {
         return custom_function(
             "cube", [](const Tensors& in) { return in[0] * in[0] * in[0]; },
             [](const Tensors& in, const Tensor&, const Tensor& dy) { return Tensors{3.0 * square(in[0]) * dy}; }, {x});
       }},
  };
}

TEST(Derivatives, AlongADirectionAreDifferences) {
  for (const Named& one : functions()) {
    const Tensor x = draw(one.shape), v = draw(one.shape);
    eval(x, v);
    expect_close(jvp(one.f(x), x, v), difference(one.f, x, v), 1e-6, one.name);
  }
}

TEST(Derivatives, RowsAndColumnsGiveOneJacobian) {
  for (const Named& one : functions()) {
    const Tensor x = draw(one.shape);
    eval(x);
    const Tensor y = one.f(x);
    if (y.rank() + x.rank() > 8) continue;
    const Tensor rows = jacobian(y, x, JacobianBy::Rows), columns = jacobian(y, x, JacobianBy::Columns);
    Shape shape = y.shape();
    for (const std::int64_t size : x.shape()) shape.push_back(size);
    EXPECT_EQ(rows.shape(), shape) << one.name;
    expect_close(rows, columns, 1e-9, one.name);
    const Tensor v = draw(one.shape);
    const Tensor product = matmul(reshape(rows, {y.numel(), x.numel()}), reshape(v, {x.numel(), 1}));
    expect_close(reshape(product, y.shape()), jvp(y, x, v), 1e-9, one.name);
  }
}

TEST(Derivatives, HessiansHaveTheirClosedForms) {
  const Tensor a = draw({4, 4}), x = draw({4}), b = draw({3, 4});
  eval(a, x, b);
  const auto column = [&](const Tensor& t) { return reshape(t, {t.numel(), 1}); };
  // xᵀ a x: a + aᵀ.
  expect_close(hessian(sum(column(x) * matmul(a, column(x))), x), a + transpose(a), 1e-12);
  // log Σ exp x: diag(p) - p pᵀ.
  const Tensor p = softmax(x, 0);
  expect_close(hessian(logsumexp(x, 0), x), diag(p) - matmul(column(p), transpose(column(p))), 1e-12);
  // -log det of s: s⁻¹ ⊗ s⁻¹, d² / (ds_ij ds_kl) = s⁻¹_li s⁻¹_jk... of a general matrix.
  const Tensor s = a + 6.0 * eye(4, std::nullopt, f64), inverse_s = inverse(s);
  eval(s);
  expect_close(hessian(-slogdet(s).logarithm, s), einsum("jk,li->ijkl", {inverse_s, inverse_s}), 1e-10);
  expect_close(hessian(sum(x * 3.0), x), zeros({4, 4}, f64), 0, "of a linear function");
  // Blocks of Σ (b x)².
  const Tensor y = sum(square(matmul(b, column(x))));
  const auto blocks = hessian(y, {x, b});
  ASSERT_EQ(blocks.size(), 2u);
  expect_close(blocks[0][0], 2.0 * matmul(transpose(b), b), 1e-12);
  expect_close(permute(blocks[1][0], {2, 0, 1}), blocks[0][1], 1e-12);
  EXPECT_EQ(blocks[1][1].shape(), (Shape{3, 4, 3, 4}));
}

TEST(Derivatives, OfDerivatives) {
  const Tensor x = draw({5}), v = draw({5});
  eval(x, v);
  const Tensor y = sum(exp(sin(x)) * x);
  expect_close(jvp(grad(y, x), x, v), reshape(matmul(hessian(y, x), reshape(v, {5, 1})), {5}), 1e-12, "a product with the Hessian");
  const auto third = [&](const Tensor& at) { return hessian(sum(exp(sin(at)) * at), at); };
  const Tensor h = third(x);
  expect_close(jvp(h, x, v), difference(third, x, v), 1e-6, "a derivative of the Hessian");
  expect_close(grad(sum(square(h)), x), reshape(sum(2.0 * expand_dims(h, -1) * jacobian(h, x), {0, 1}), {5}), 1e-10, "a gradient of it");
}

TEST(Derivatives, InJitAndOfParameters) {
  nn::Linear net(3, 2);
  const auto all = [&](const Tensor& x, const Tensor& v) {
    const Tensor y = tanh(net(x));
    return Tensors{jacobian(y, x), jvp(y, x, v), jacobian(sum(y, 0), parameters(net))[0]};
  };
  const Tensor x = draw({4, 3}, f32), v = draw({4, 3}, f32);
  auto compiled = jit(all);
  const Tensors a = all(x, v), b = compiled(x, v);
  for (std::size_t i = 0; i < a.size(); ++i) expect_close(a[i], b[i], 1e-6);
  EXPECT_EQ(a[2].shape(), (Shape{2, 2, 3}));
  expect_close(a[0], jacobian(tanh(net(x)), x, JacobianBy::Columns), 1e-6);
}

TEST(Derivatives, OfOtherDtypesAndOfNothing) {
  const Tensor x = draw({3}, bf16), y = square(x);
  EXPECT_EQ(jvp(y, x, ones({3}, bf16)).dtype(), bf16);
  expect_close(cast(jacobian(y, x), f32), diag(cast(x, f32) * 2.0), 1e-2);
  const Tensor none = draw({0, 2});
  EXPECT_EQ(jacobian(none * 2.0, none).shape(), (Shape{0, 2, 0, 2}));
  const Tensor steps = draw({4});
  expect_close(jvp(floor(steps) + 0.0 * steps, steps, ones({4}, f64)), zeros({4}, f64), 0);
}

}  // namespace
}  // namespace tegula
