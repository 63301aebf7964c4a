// Gradients of linear algebra against finite differences, and second gradients.

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::draw;
using test::identity;
using test::positive;

using In = std::vector<Tensor>;
Tensor symmetric(const Tensor& x) { return 0.5 * (x + transpose(x)); }
/// A sum with other weights for each element, so that no gradient is there by chance.
Tensor weighed(const Tensor& x) { return sum(x * sin(1.0 + 0.7 * cast(reshape(arange(x.numel()), x.shape()), f64))); }

TEST(LinearAlgebraGradients, OfSystems) {
  const Tensor a = draw({2, 3, 3}) + 3.0 * identity(3), b = draw({2, 3, 2});
  check_gradients([](const In& in) { return weighed(solve(in[0], in[1])); }, {a, b});
  check_gradients([](const In& in) { return weighed(solve(in[0], in[1])); }, {draw({3, 3}) + 3.0 * identity(3), draw({3})});
  check_gradients([](const In& in) { return weighed(solve(in[0], in[1], {.refine = Refine::Single})); }, {a, b});
  check_gradients([](const In& in) { return weighed(solve(in[0], in[1], {.refine = Refine::Half})); }, {a, b});
  check_gradients([](const In& in) { return weighed(lu_solve(lu_factor(in[0]), in[1])); }, {a, b});
  check_gradients([](const In& in) { return weighed(lu_solve(lu_factor(in[0]), in[1], {.transposed = true})); }, {a, b});
  for (int form = 0; form < 8; ++form)
    check_gradients(
        [form](const In& in) {
          return weighed(
              triangular_solve(in[0], in[1], {.upper = (form & 1) != 0, .transposed = (form & 2) != 0, .unit = (form & 4) != 0}));
        },
        {a, b});
  check_gradients([](const In& in) { return weighed(inverse(in[0])); }, {a});
}

TEST(LinearAlgebraGradients, OfDeterminants) {
  const Tensor a = draw({2, 4, 4});
  check_gradients([](const In& in) { return weighed(det(in[0])); }, {a});
  check_gradients([](const In& in) { return weighed(slogdet(in[0]).logarithm); }, {a});
}

TEST(LinearAlgebraGradients, OfLUInEveryShape) {
  for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{3, 5}, Shape{2, 3, 3}})
    check_gradients(
        [](const In& in) {
          const auto [p, l, u] = lu(in[0]);
          return weighed(l) + weighed(u);
        },
        {draw(shape)});
}

TEST(LinearAlgebraGradients, OfCholesky) {
  const Tensor x = draw({2, 4, 4});
  check_gradients([](const In& in) { return weighed(cholesky(matmul(in[0], transpose(in[0])) + identity(4))); }, {x});
  check_gradients([](const In& in) { return weighed(cholesky_solve(tril(in[0]), in[1])); },
                  {draw({4, 4}) + 3.0 * identity(4), draw({4, 2})});
}

TEST(LinearAlgebraGradients, OfQRInEveryShape) {
  for (const Shape& shape : {Shape{4, 4}, Shape{6, 3}, Shape{3, 5}, Shape{2, 4, 3}}) {
    check_gradients(
        [](const In& in) {
          const auto [q, r] = qr(in[0]);
          return weighed(q) + weighed(r);
        },
        {draw(shape)});
    check_gradients([](const In& in) { return weighed(qr(in[0]).r); }, {draw(shape)});
    check_gradients([](const In& in) { return weighed(qr(in[0]).q); }, {draw(shape)});
  }
  const Tensor tall = draw({4, 2});
  EXPECT_HAS_MESSAGE(grad(sum(qr(tall, {.full = true}).q), tall), "qr: got a gradient through a full basis");
  EXPECT_HAS_MESSAGE(grad(sum(svd(tall, {.full = true}).u), tall), "svd: got a gradient through a full basis");
}

TEST(LinearAlgebraGradients, OfLeastSquares) {
  check_gradients([](const In& in) { return weighed(lstsq(in[0], in[1])); }, {draw({5, 3}), draw({5, 2})});
  check_gradients([](const In& in) { return weighed(lstsq(in[0], in[1])); }, {draw({3, 5}), draw({3})});
}

TEST(LinearAlgebraGradients, OfSymmetricEigenvaluesAndVectors) {
  const Tensor x = draw({2, 4, 4}) + tensor({1.0, 3.0, 5.0, 7.0}) * identity(4);
  check_gradients([](const In& in) { return weighed(eigvalsh(symmetric(in[0]))); }, {x});
  check_gradients(
      [](const In& in) {
        const auto [w, v] = eigh(symmetric(in[0]));
        return weighed(w) + weighed(square(v));  // signs do not matter
      },
      {x});
  check_gradients(
      [](const In& in) {
        const auto [w, v] = eigh(symmetric(in[0]), matmul(in[1], transpose(in[1])) + identity(4));
        return weighed(w) + weighed(square(v));
      },
      {x, draw({2, 4, 4})});
}

TEST(LinearAlgebraGradients, OfSingularValuesAndVectors) {
  for (const Shape& shape : {Shape{4, 4}, Shape{5, 3}, Shape{3, 5}, Shape{2, 4, 3}}) {
    const Tensor x = draw(shape);
    check_gradients([](const In& in) { return weighed(svdvals(in[0])); }, {x});
    check_gradients(
        [](const In& in) {
          const auto [u, s, v] = svd(in[0]);
          return weighed(s) + weighed(square(u)) + weighed(square(v)) + weighed(matmul(u, transpose(v)));
        },
        {x});
    check_gradients([](const In& in) { return weighed(pinv(in[0])); }, {x});
  }
}

TEST(LinearAlgebraGradients, OfGeneralEigenvalues) {
  const Tensor a = tensor({1.0, 2.0, 0.5, -1.0, 1.5, 0.3, 0.2, -0.4, 4.0}, {3, 3});  // a conjugate pair and a real value
  check_gradients(
      [](const In& in) {
        const Tensor values = eigvals(in[0]);
        return sum(square(select(values, -1, 0))) + sum(exp(0.1 * square(select(values, -1, 1))));
      },
      {a});
  check_gradients(
      [](const In& in) {
        const Tensor v = eig(in[0]).vectors, sizes = sum(square(v), -1);  // phases do not matter
        return sum(sizes * sizes * cast(reshape(arange(3), {3, 1}), f64));
      },
      {a});
}

TEST(LinearAlgebraGradients, OfComposites) {
  const Tensor a = 0.3 * draw({3, 3}), b = draw({2, 2});
  check_gradients([](const In& in) { return weighed(matrix_exp(in[0])); }, {a});
  check_gradients([](const In& in) { return weighed(matrix_power(in[0], 5)); }, {a});
  check_gradients([](const In& in) { return weighed(matrix_power(in[0], -2)); }, {a + identity(3)});
  check_gradients([](const In& in) { return weighed(kron(in[0], in[1])); }, {a, b});
  for (const MatrixNorm norm : {MatrixNorm::Frobenius, MatrixNorm::Nuclear, MatrixNorm::Two, MatrixNorm::One, MatrixNorm::Infinity})
    check_gradients([norm](const In& in) { return matrix_norm(in[0], norm) + 0.1 * cond(in[0], norm); }, {a + identity(3)});
}

TEST(LinearAlgebraGradients, SecondOnesAreThoseOfTheFirst) {
  const Tensor a = draw({3, 3}) + 3.0 * identity(3), b = draw({3, 2});
  const auto second = [](auto f) {
    return [f](const In& in) {
      const Tensor g = grad(f(in), in[0]);
      return sum(sin(g));
    };
  };
  check_gradients(second([](const In& in) { return weighed(solve(in[0], in[1])); }), {a, b});
  check_gradients(second([](const In& in) { return weighed(square(det(in[0]))); }), {0.3 * a});
  check_gradients(second([](const In& in) { return weighed(slogdet(in[0]).logarithm); }), {a});
  check_gradients(second([](const In& in) { return weighed(cholesky(matmul(in[0], transpose(in[0])))); }), {a});
  check_gradients(second([](const In& in) { return weighed(qr(in[0]).r); }), {a});
  check_gradients(second([](const In& in) { return weighed(lu(in[0]).u); }), {a});
  check_gradients(second([](const In& in) { return weighed(eigvalsh(symmetric(in[0]))); }), {a + tensor({0.0, 2.0, 5.0}) * identity(3)});
  check_gradients(second([](const In& in) { return weighed(svdvals(in[0])); }), {a + tensor({0.0, 2.0, 5.0}) * identity(3)});
}

}  // namespace
}  // namespace tegula
