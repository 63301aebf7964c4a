// Functions of linear algebra in graph files: every op of the room, with its gradient.

#include <cstdio>

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::draw;
using test::identity;

std::vector<Tensor> everything(const std::vector<Tensor>& in) {
  const Tensor &a = in[0], &b = in[1];
  const auto [p, l, u] = lu(a);
  const auto [q, r] = qr(a);
  const auto [left, s, right] = svd(a);
  const Tensor loss = sum(solve(a, b)) + sum(l) + sum(u) + sum(r) + sum(s) + sum(eigvalsh(a + transpose(a))) + sum(det(a)) +
                      sum(square(eigvals(a))) + sum(cholesky(matmul(a, transpose(a))));
  return {p, l, u, q, r, left, s, right, loss, grad(loss, a)};
}

TEST(LinearAlgebraFiles, GraphsComeBackWithEveryOp) {
  const std::vector<Tensor> in{draw({2, 4, 4}) + tensor({2.0, 4.0, 6.0, 8.0}) * identity(4), draw({2, 4, 3})};
  const std::vector<Tensor> expected = jit([](const std::vector<Tensor>& x) { return everything(x); })(in);
  save_graph("linalg.graph", [](const std::vector<Tensor>& x) { return everything(x); }, in);
  auto loaded = jit(load_graph("linalg.graph"));
  const std::vector<Tensor> got = loaded(in);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host<double>(), expected[i].to_host<double>()) << i;
  std::remove("linalg.graph");
}

}  // namespace
}  // namespace tegula
