// Products of quantised numbers: sums that no f32 holds.

#include "tegula/ops/products/integer_products.h"

#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(IntegerProducts, integer_product_cases());

namespace {

TEST(IntegerProducts, SumsAreExact) {
  constexpr std::int64_t kTerms = 100'003;  // 255 * 127 of them are more than 2^31: the sum wraps
  const Tensor a = full({1, kTerms}, 255, u8), b = full({kTerms, 1}, 127, i8), y = matmul_integer(a, b);
  EXPECT_EQ(y.dtype(), i32);
  const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(std::uint64_t{255} * 127 * kTerms));
  EXPECT_EQ(y.to_host<std::int32_t>(), std::vector{wrapped});
  const Tensor z = conv_integer(reshape(a, {1, kTerms, 1}), reshape(b, {1, kTerms, 1}));
  EXPECT_EQ(z.dtype(), i32);
  EXPECT_EQ(z.to_host<std::int32_t>(), std::vector{wrapped});
}

TEST(IntegerProducts, OfEveryMixAreThoseOfWiderIntegers) {
  for (const DType left : {i8, u8, i16, u16}) {
    for (const DType right : {i8, u8, i16, u16}) {
      const Tensor a = cast(randint(-40000, 40000, {2, 5, 4}), left), b = cast(randint(-40000, 40000, {4, 3}), right);
      const Tensor expected = cast(matmul(cast(a, i64), cast(b, i64)), i32);
      EXPECT_EQ(matmul_integer(a, b).to_host<std::int32_t>(), expected.to_host<std::int32_t>()) << name(left) << name(right);
      // A convolution of windows of one element is that product.
      const Tensor image = transpose(a), filter = reshape(transpose(b), {3, 4, 1});  // (2, 4, 5)
      EXPECT_EQ(transpose(conv_integer(image, filter)).to_host<std::int32_t>(), expected.to_host<std::int32_t>())
          << name(left) << name(right);
    }
  }
}

TEST(IntegerProducts, Errors) {
  expect_part(refusal([] { matmul_integer(ones({2, 2}), ones({2, 2}, i8)); }),
              "matmul_integer: got f32 of shape (2, 2), expected integers of 8 or 16 bits");
  expect_part(refusal([] { conv_integer(ones({1, 2, 2}, i8), ones({1, 2, 2}, i32)); }), "conv_integer: got i32");
  expect_part(refusal([] { conv_integer(ones({1, 2}, i8), ones({1, 2}, i8)); }), "a weight of shape (1, 2)");
  expect_part(refusal([] { conv_integer(ones({1, 2, 5}, i8), ones({1, 3, 2}, i8)); }), "channels");
}

}  // namespace
}  // namespace tegula
