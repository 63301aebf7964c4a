// Einstein's summation: what equations mean, which products they become, and errors that name the letter.

#include "tegula/ops/products/einsum.h"

#include "tegula/compile/jit.h"
#include "tegula/graph/print.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Einsum, einsum_cases());

namespace {

void expect_same(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  expect_values(got, expected.to_host<double>(), 1e-12);
}

TEST(Einsum, MeansWhatItSays) {
  const Tensor a = counted({2, 3}), b = counted({3, 4}), v = counted({3});
  expect_same(einsum("ij,jk->ik", {a, b}), matmul(a, b));
  expect_same(einsum("ij, jk -> ki", {a, b}), transpose(matmul(a, b)));
  expect_same(einsum("ij,jk", {a, b}), matmul(a, b));  // j occurs twice
  expect_same(einsum("ba", {a}), transpose(a));      // in alphabetical order
  expect_same(einsum("ij->", {a}), sum(a));
  expect_same(einsum("i,i->", {v, v}), sum(v * v));
  expect_same(einsum("i,i->i", {v, v}), v * v);
  expect_same(einsum("i,j->ij", {v, v}), outer(v, v));
  expect_same(einsum("ij,ij->j", {a, a}), sum(a * a, 0));
  expect_same(einsum(",i->i", {Tensor(2.0), v}), v * 2);
  expect_same(einsum("i,", {v, 2}), v * 2);
}

TEST(Einsum, DiagonalsAndTraces) {
  const Tensor m = counted({3, 3}), t = counted({3, 2, 3});
  expect_values(einsum("ii->i", {m}), {0, 4, 8});
  expect_values(einsum("ii", {m}), {12});
  expect_values(einsum("iji->j", {t}), {0 + 7 + 14, 3 + 10 + 17});
  expect_values(einsum("iii->i", {counted({2, 2, 2})}), {0, 7});
}

TEST(Einsum, TheEllipsisStandsForLeadingAxesThatBroadcast) {
  const Tensor a = counted({2, 1, 3, 4}), b = counted({5, 4, 2});
  expect_same(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b));
  expect_same(einsum("...ij,...jk", {a, b}), matmul(a, b));
  expect_same(einsum("i...->...i", {counted({2, 3, 4})}), permute(counted({2, 3, 4}), {1, 2, 0}));
  expect_same(einsum("...->", {a}), sum(a));
  expect_same(einsum("i...->i...", {counted({3})}), counted({3}));  // it may stand for none
}

TEST(Einsum, SizesOfOneBroadcast) {
  expect_same(einsum("ij,jk->ik", {counted({2, 1}), counted({3, 4})}), counted({2, 1}) * sum(counted({3, 4}), 0));
  EXPECT_EQ(einsum("bi,bi->bi", {counted({1, 3}), counted({4, 3})}).shape(), (Shape{4, 3}));
}

TEST(Einsum, DtypesArePromotedAndIntegersStay) {
  EXPECT_EQ(einsum("ij->i", {counted({2, 3}, i32)}).dtype(), i32);
  EXPECT_EQ(einsum("i,i->", {counted({3}, f16), counted({3}, f32)}).dtype(), f32);
  expect_values(einsum("i,i->", {counted({3}, i64), counted({3}, i64)}), {5});
  // A half's sum is rounded once: 2048 + 1 + 1 + … stays 2048 when it is added up in f16.
  expect_values(einsum("i,i->", {full({4096}, 1, f16), full({4096}, 1, f16)}), {4096});
}

TEST(Einsum, TheCheapestPairComesFirst) {
  // (1000, 2) (2, 1000) (1000, 2): from the left that is 4e6 multiplications and a million numbers in between, from the right 8e3.
  const Tensor a = full({1000, 2}, 1.0), b = full({2, 1000}, 1.0), c = full({1000, 2}, 1.0);
  const Tensor y = einsum("ij,jk,kl->il", {a, b, c});
  EXPECT_EQ(y.shape(), (Shape{1000, 2}));
  const std::string graph = to_dot(std::span(&y, 1));
  EXPECT_EQ(graph.find("1000, 1000"), std::string::npos) << graph;
  expect_values(slice(y, 0, {0, 1}), {2000, 2000});
}

TEST(Einsum, InAJitAsPlain) {
  const auto f = [](const Tensor& a, const Tensor& b) { return einsum("bij,bkj->bik", {a, b}); };
  const Tensor a = counted({2, 3, 4}), b = counted({2, 5, 4});
  expect_same(jit(f)(a, b), f(a, b));
}

TEST(Einsum, ErrorsNameTheLetter) {
  const Tensor a = counted({2, 3}), b = counted({4, 5});
  const auto says = [](const std::function<void()>& f, const std::string& part) { expect_part(refusal(f), part); };
  says([&] { einsum("ij,jk->ik", {a, b}); }, "letter 'j' of size 3 in operand 0 and 4 in operand 1 for \"ij,jk->ik\"");
  says([&] { einsum("ij->k", {a}); }, "letter 'k' in the result for \"ij->k\", expected letters that an operand has");
  says([&] { einsum("ij->ii", {a}); }, "letter 'i' twice in the result");
  says([&] { einsum("ijk->i", {a}); }, "operand 0 of shape (2, 3) for \"ijk->i\", expected 3 axes");
  says([&] { einsum("i->i", {a}); }, "operand 0 of shape (2, 3) for \"i->i\", expected 1 axis");
  says([&] { einsum("ijk...->i", {a}); }, "expected 3 axes or more");
  says([&] { einsum("ij,jk->ik", {a}); }, "1 operands for \"ij,jk->ik\", expected 2");
  says([&] { einsum("i1->i", {a}); }, "'1' for \"i1->i\", expected letters");
  says([&] { einsum("i..->i", {a}); }, "'.' for");
  says([&] { einsum("......->", {a}); }, "'.' for");
  says([&] { einsum("ij->i->j", {a}); }, "'-' for");
  says([&] { einsum("ii->i", {a}); }, "letter 'i' of size 2 in operand 0 and 3 in operand 0");
  says([&] { einsum("ii->i", {counted({1, 3})}); }, "letter 'i' of sizes 1 and 3 in operand 0");
  says([&] { einsum("...i,...i", {counted({2, 3}), counted({4, 3})}); },
       "axis -1 of the \"...\" of size 2 in operand 0 and 4 in operand 1");
  says([&] { einsum("i->i", {counted({3}, boolean)}); }, "einsum: got booleans");
  says([&] { einsum("ij->i", std::vector<Tensor>{}); }, "0 operands");
  says([&] { einsum("abcde,fghij->abcdefghij", {zeros({1, 1, 1, 1, 1}), zeros({1, 1, 1, 1, 1})}); }, "a result of 10 axes");
}

TEST(Einsum, ErrorsNameTheUsersLine) {
  const Tensor a = counted({2, 3});
  const int line = __LINE__ + 1;
  const std::string text = refusal([&] { einsum("ij,jk->ik", {a, a}); });
  EXPECT_NE(text.find("einsum_test.cpp:" + std::to_string(line)), std::string::npos) << text;
}

}  // namespace
}  // namespace tegula
