// Maps of tensors for the copy engine: what the driver is asked for, and launches where it takes none. On the driver of the tests as "paper".

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tegula/bench/tile_product.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/occurrences.h"

namespace kernels {
using namespace tegula::tile;

/// Three operands of 128 KiB: more than the shared memory of a block.
const auto cube = jit("cube", [](Ptr<double> x, Out<double> y, Const<int> N) {
  auto i = arange(0, N);
  auto at = col(i) * N + row(i);
  auto whole = load(x + at);
  store(y + at, dot(dot(whole, whole), whole));
});
}  // namespace kernels

namespace tegula {
namespace {

class CudaTensorMaps : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const driver = std::getenv("TEGULA_FAKE_DRIVER");
    if (!driver || std::string(driver) != "paper") GTEST_SKIP() << "needs the driver of the tests";
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << why;
    before_ = &default_device();
    set_default_device(cuda());
  }
  void TearDown() override {
    unsetenv("TEGULA_FAKE_MAPS");
    if (before_) set_default_device(*before_);
  }
  /// The driver's words while a (M, K) and b (K, N) are multiplied.
  std::string said(DType dtype, const Shape& a, const Shape& b, bool turned, const TileOfProduct& tile) {
    const Tensor x = zeros(a, dtype), y = zeros(b, dtype);
    eval(x), eval(y);
    testing::internal::CaptureStderr();
    eval(tile_product(x, y, turned, tile));
    return testing::internal::GetCapturedStderr();
  }
  Device* before_ = nullptr;
};

TEST_F(CudaTensorMaps, SayWhatTheArgumentsAre) {
  setenv("TEGULA_FAKE_MAPS", "listed", 1);
  const std::string halves = said(bf16, {72, 88}, {88, 136}, false, {64, 128, 64});
  EXPECT_NE(halves.find("map of 72 x 88 elements of 2 bytes, rows of 176 bytes, boxes of 64 x 64\n"), std::string::npos) << halves;
  EXPECT_NE(halves.find("map of 88 x 136 elements of 2 bytes, rows of 272 bytes, boxes of 64 x 64\n"), std::string::npos) << halves;
  EXPECT_EQ(test::occurrences(halves, "map of"), 2) << halves;
  const std::string bytes = said(e4m3, {72, 96}, {136, 96}, true, {64, 128, 128, 0, false});
  EXPECT_NE(bytes.find("map of 72 x 96 elements of 1 bytes, rows of 96 bytes, boxes of 64 x 128\n"), std::string::npos) << bytes;
  EXPECT_NE(bytes.find("map of 136 x 96 elements of 1 bytes, rows of 96 bytes, boxes of 128 x 128\n"), std::string::npos) << bytes;
}

TEST_F(CudaTensorMaps, AreNotAskedForWhereRowsBeginAnywhere) {
  setenv("TEGULA_FAKE_MAPS", "listed", 1);
  EXPECT_EQ(said(bf16, {72, 87}, {87, 135}, false, {64, 128, 64}).find("map of"), std::string::npos);
}

/// The head of the kernel that was launched.
std::string launched(const Tensor& a, const Tensor& b) {
  auto product = jit([](const Tensor& x, const Tensor& y) { return tile_product(x, y, false, {64, 128, 64}); });
  testing::internal::CaptureStderr();
  eval(product(a, b));
  const std::string lines = testing::internal::GetCapturedStderr(), text = product.print_kernels();
  const std::size_t at = lines.rfind("k_product");
  EXPECT_NE(at, std::string::npos) << lines;
  const std::string name = at == std::string::npos ? "k_product" : lines.substr(at, lines.find(' ', at) - at);
  const std::size_t head = text.find(" " + name + "(");
  return head == std::string::npos ? "another one than was asked for first" : text.substr(head, text.find('{', head) - head);
}
/// Threads copy then: another kernel, which has no maps among its parameters.
TEST_F(CudaTensorMaps, LeaveTheLaunchToAnotherKernelWhereTheDriverTakesNone) {
  const Tensor b = zeros({88, 136}, bf16);
  EXPECT_NE(launched(zeros({72, 88}, bf16), b).find("TensorMap map1"), std::string::npos);
  setenv("TEGULA_FAKE_MAPS", "refused", 1);
  EXPECT_EQ(launched(zeros({80, 88}, bf16), b).find("TensorMap"), std::string::npos);
  unsetenv("TEGULA_FAKE_MAPS");  // of no terms rows have no stride
  EXPECT_EQ(launched(zeros({72, 0}, bf16), zeros({0, 136}, bf16)).find("TensorMap"), std::string::npos);
}

/// A grid of as many blocks as the card holds is enough for those that stay.
TEST_F(CudaTensorMaps, ComeWithBlocksThatStay) {
  const auto grid = [](const std::string& lines) {
    const std::size_t at = lines.find("grid", lines.find("k_product"));
    return at == std::string::npos ? -1 : std::atoi(lines.c_str() + at + 4);
  };
  const TileOfProduct apart{64, 128, 64, 0, true}, together{64, 128, 64, 0, false};
  EXPECT_EQ(grid(said(bf16, {8192, 64}, {64, 8192}, false, together)), 128 * 64);
  const int most = grid(said(bf16, {8192, 64}, {64, 8192}, false, apart));
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 128 * 64);
  EXPECT_EQ(grid(said(bf16, {64, 64}, {64, 256}, false, apart)), 2);
  const TileOfProduct in_parts{.rows = 256, .columns = 256, .specialize = true, .blocks = 2};  // whole clusters
  const int blocks = grid(said(bf16, {8192, 64}, {64, 8192}, false, in_parts));
  EXPECT_GT(blocks, 0);
  EXPECT_LE(blocks, 132);
  EXPECT_EQ(blocks % 2, 0);
  EXPECT_EQ(grid(said(bf16, {300, 64}, {64, 256}, false, in_parts)), 4);
}

/// The second launch of a refused kernel finds nothing that the first has left.
TEST_F(CudaTensorMaps, ATileThatABlockDoesNotHoldIsRefusedEachTime) {
  const Tensor x = zeros({128, 128}, f64);
  eval(x);
  for (int launch = 0; launch < 3; ++launch) {
    SCOPED_TRACE(launch);
    EXPECT_HAS_MESSAGE(eval(kernels::cube({1}, x, tile::out({128, 128}), 128)[0]), "bytes of shared memory");
  }
}

}  // namespace
}  // namespace tegula
