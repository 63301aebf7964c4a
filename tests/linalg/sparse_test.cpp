// Sums by an index that is sorted once, sparse matrices, bags: against the sums as they are written.

#include "tests/linalg/support.h"

namespace tegula {
namespace {

using test::apart;
using test::draw;
using test::most;
using In = std::vector<Tensor>;

Tensor weighed(const Tensor& x) { return sum(x * sin(1.0 + 0.7 * cast(reshape(arange(x.numel()), x.shape()), f64))); }
Tensor integers(std::int64_t count, std::int64_t high) { return randint(0, high, {count}); }
/// (rows, count): 1 where a line belongs to a row.
Tensor membership(const Tensor& index, std::int64_t rows) { return cast(transpose(one_hot(index, rows)), f64); }

TEST(Segments, SumsMeansAndSoftmaxAreThoseOfTheLines) {
  for (const std::int64_t rows : {1, 3, 40})
    for (const std::int64_t count : {0, 1, 7, 200})
      for (const std::int64_t width : {1, 5, 300}) {
        const Tensor index = integers(count, rows), x = draw({count, width}), member = membership(index, rows);
        const Segments s = segments(index, rows);
        const Tensor expected = matmul(member, x), counts = sum(member, 1, Keep::Yes);
        EXPECT_LT(apart(segment_sum(x, s), expected), 1e-12) << rows << " " << count;
        EXPECT_LT(apart(segment_mean(x, s), expected / maximum(counts, 1.0)), 1e-12);
        const Tensor nodes = draw({rows, width});
        EXPECT_EQ(segment_take(nodes, s).to_host<double>(), take(nodes, index, 0).to_host<double>());
        const Tensor share = segment_softmax(x, s);
        if (count == 0) continue;
        EXPECT_LT(apart(share, exp(x) / take(matmul(member, exp(x)), index, 0)), 1e-12);
        const std::vector<double> got = segment_max(x, s).to_host<double>(), values = x.to_host<double>();
        const std::vector<std::int64_t> row = index.to_host<std::int64_t>();
        std::vector<double> greatest(static_cast<std::size_t>(rows * width), -INFINITY);
        for (std::size_t i = 0; i < values.size(); ++i) {
          double& here =
              greatest[static_cast<std::size_t>(row[i / static_cast<std::size_t>(width)] * width) + i % static_cast<std::size_t>(width)];
          here = std::max(here, values[i]);
        }
        EXPECT_EQ(got, greatest);
      }
}

TEST(Segments, EveryDtypeAndMoreAxes) {
  const Tensor index = tensor<std::int64_t>({2, 0, 2, 1});
  const Segments s = segments(index, 4);
  for (const DType dtype : {f64, f32, f16, bf16, i64, i32, i8, u8}) {
    const Tensor x = cast(reshape(arange(24), {4, 3, 2}), dtype), y = segment_sum(x, s);
    EXPECT_EQ(y.shape(), (Shape{4, 3, 2}));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(cast(select(y, 0, 2), f64).to_host<double>(), (std::vector<double>{12, 14, 16, 18, 20, 22})) << name(dtype);
    EXPECT_EQ(most(select(y, 0, 3)), 0);
    if (is_float(dtype)) {
      EXPECT_EQ(cast(select(segment_max(x, s), 0, 2), f64).to_host<double>(), (std::vector<double>{12, 13, 14, 15, 16, 17}));
    }
    const Tensor back = segment_take(y, s);
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(apart(cast(back, f64), cast(take(y, index, 0), f64)), 0) << name(dtype);
  }
  EXPECT_HAS_MESSAGE(segments(tensor<std::int64_t>({0, 4}), 4).order.to_host<std::int64_t>(), "index 4");
  EXPECT_HAS_MESSAGE(segment_sum(draw({3, 2}), s), "segment_sum: got shape (3, 2)");
  EXPECT_HAS_MESSAGE(segment_max(ones({4}, i64), s), "expected a float dtype");
  EXPECT_HAS_MESSAGE(segment_take(draw({5, 2}), s), "segment_take: got shape (5, 2), expected (4, …)");
}

TEST(Segments, GradientsOfFirstAndSecondOrder) {
  const Segments s = segments(tensor<std::int64_t>({2, 0, 2, 1, 0, 2}), 4);
  const Tensor x = draw({6, 3});
  check_gradients([&](const In& in) { return weighed(square(segment_sum(in[0], s))); }, {x});
  check_gradients([&](const In& in) { return weighed(square(segment_mean(in[0], s))); }, {x});
  check_gradients([&](const In& in) { return weighed(square(segment_softmax(in[0], s))); }, {x});
  check_gradients([&](const In& in) { return weighed(square(slice(segment_max(in[0], s), 0, {0, 3}))); }, {x});
  check_gradients([&](const In& in) { return weighed(square(segment_take(in[0], s))); }, {draw({4, 3})});
  check_gradients([&](const In& in) { return sum(sin(grad(weighed(square(segment_take(in[0], s))), in[0]))); }, {draw({4, 3})});
  check_gradients([&](const In& in) { return sum(sin(grad(weighed(square(segment_sum(in[0], s))), in[0]))); }, {x});
}

TEST(SparseMatrices, MultiplyAsDenseOnesWithEqualPlacesAddedUp) {
  for (const std::int64_t count : {0, 1, 60}) {
    const Tensor row = integers(count, 9), column = integers(count, 7), values = draw({count}), b = draw({7, 4});
    const SparseMatrix a = sparse_coo(row, column, values, 9, 7);
    const Tensor dense = matmul(membership(row, 9) * values, transpose(membership(column, 7)));
    EXPECT_LT(apart(sparse_matmul(a, b), matmul(dense, b)), 1e-13) << count;
    EXPECT_LT(apart(sparse_matmul(a, select(b, 1, 0)), mv(dense, select(b, 1, 0))), 1e-13);
    EXPECT_LT(apart(sparse_matmul(a, 2.0 * values, b), 2.0 * matmul(dense, b)), 1e-13);
  }
  const SparseMatrix csr = sparse_csr(tensor<std::int64_t>({0, 2, 2, 3}), tensor<std::int64_t>({1, 0, 3}), tensor({5.0, 6.0, 7.0}), 4);
  EXPECT_EQ(sparse_matmul(csr, eye(4, std::nullopt, f64)).to_host<double>(), (std::vector<double>{6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}));
  EXPECT_HAS_MESSAGE(sparse_matmul(csr, draw({3, 2})), "sparse_matmul: got shapes (3,) and (3, 2)");
}

TEST(SparseMatrices, Gradients) {
  const Tensor row = integers(12, 5), column = integers(12, 4), values = draw({12}), b = draw({4, 3});
  const auto product = [&](const In& in) { return sparse_matmul(sparse_coo(row, column, in[0], 5, 4), in[1]); };
  check_gradients([&](const In& in) { return weighed(square(product(in))); }, {values, b});
  check_gradients([&](const In& in) { return sum(sin(grad(weighed(square(product(in))), in[1]))); }, {values, b});
}

TEST(SparseMatrices, TheSameBitsInEveryRunAndMode) {
  const Segments s = segments(integers(500, 30), 30);
  const Tensor x = draw({500, 16}, f32);
  eval(s.index, s.starts, s.order);
  auto f = jit([&](const Tensor& t) { return std::vector<Tensor>{segment_sum(t, s), grad(sum(square(segment_softmax(t, s))), t)}; });
  const std::vector<Tensor> once = f(x);
  for (int again = 0; again < 3; ++again) {
    const std::vector<Tensor> more = f(x);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(more[i].to_host<float>(), once[i].to_host<float>());
  }
  EXPECT_EQ(segment_sum(x, s).to_host<float>(), once[0].to_host<float>());
}

TEST(SparseMatrices, BagsOfEmbeddings) {
  const Tensor weight = draw({5, 3}), indices = tensor<std::int64_t>({1, 2, 4, 4, 3}), offsets = tensor<std::int64_t>({0, 2, 2, 5});
  const Tensor sums = embedding_bag(indices, offsets, weight, {.mode = BagMode::Sum}), means = embedding_bag(indices, offsets, weight);
  const auto row = [&](std::int64_t i) { return select(weight, 0, i); };
  EXPECT_LT(apart(sums, stack({row(1) + row(2), zeros({3}, f64), row(4) + row(4) + row(3)})), 1e-15);
  EXPECT_LT(apart(means, sums / unsqueeze(tensor({2.0, 1.0, 3.0}), -1)), 1e-15);
  check_gradients([&](const In& in) { return weighed(square(embedding_bag(indices, offsets, in[0]))); }, {weight});
}

TEST(SparseMatrices, GraphFilesHaveThem) {
  const Tensor index = integers(20, 6);
  const auto f = [index](const In& in) {
    const Segments s = segments(index, 6);
    return In{segment_softmax(in[0], s), segment_max(in[0], s), grad(sum(square(segment_sum(in[0], s))), in[0])};
  };
  const In in{draw({20, 3})};
  eval(index);
  save_graph("sparse.graph", f, in);
  const In got = jit(load_graph("sparse.graph"))(in), expected = jit(f)(in);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].to_host<double>(), expected[i].to_host<double>());
  std::remove("sparse.graph");
}

}  // namespace
}  // namespace tegula
