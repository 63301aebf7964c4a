// The parts of the GPU's library calls that need no GPU: layouts for cuBLASLt and cuDNN, the tuning file.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tegula/core/error.h"
#include "tegula/cuda/blas/blas_layout.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/handwritten/plain_split_product.h"
#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::Convolution;
using runtime::Matmul;
using test::matrix;
using test::MatrixOrder;
using test::pick;
using test::square;
using test::Tensor;

/// The product as cuBLASLt's documentation defines it.
void multiply(const BlasProduct& p, const double* a, const double* b, double* c) {
  for (const auto& offset : p.offsets) {
    const double* left = p.swapped ? b + offset.b : a + offset.a;
    const double* right = p.swapped ? a + offset.a : b + offset.b;
    for (std::int64_t i = 0; i < p.batch; ++i) {
      const auto read = [&](const BlasMatrix& m, const double* from, std::int64_t row, std::int64_t column) {
        if (m.transposed) std::swap(row, column);
        EXPECT_LT(row, m.rows);
        EXPECT_LT(column, m.columns);
        return from[i * m.batch_stride + row + column * m.leading];
      };
      for (std::int64_t row = 0; row < p.m; ++row) {
        for (std::int64_t column = 0; column < p.n; ++column) {
          double sum = 0;
          for (std::int64_t k = 0; k < p.k; ++k) sum += read(p.left, left, row, k) * read(p.right, right, k, column);
          c[offset.c + i * p.result.batch_stride + row + column * p.result.leading] = sum;
        }
      }
    }
  }
}

void expect_product(const Matmul& d) {
  const BlasProduct p = blas_product(d);
  for (const BlasMatrix* m : {&p.left, &p.right, &p.result}) EXPECT_GE(m->leading, std::max<std::int64_t>(1, m->rows));
  EXPECT_FALSE(p.result.transposed);
  Tensor a(f64, d.a.layout), b(f64, d.b.layout), c(f64, d.c.layout);
  a.randomize(), b.randomize();
  multiply(p, static_cast<double*>(a.data()), static_cast<double*>(b.data()), static_cast<double*>(c.data()));
  EXPECT_TRUE(c.untouched_outside());
  const int rank = d.c.layout.shape.rank();
  double worst = 0;
  c.for_each([&](const Dims& index) {
    Dims in_a = index, in_b = index;
    double sum = 0;
    for (int i = 0; i + 2 < rank; ++i) in_a[i] = d.a.layout.shape[i] == 1 ? 0 : index[i], in_b[i] = d.b.layout.shape[i] == 1 ? 0 : index[i];
    for (std::int64_t k = 0; k < d.a.layout.shape[rank - 1]; ++k) {
      in_a[rank - 1] = in_b[rank - 2] = k;
      sum += a(in_a) * b(in_b);
    }
    worst = std::max(worst, std::abs(sum - c(index)));
  });
  EXPECT_LE(worst, 1e-12) << to_string(d.a.layout.shape) << to_string(d.a.layout.strides) << to_string(d.b.layout.shape)
                          << to_string(d.b.layout.strides) << to_string(d.c.layout.strides);
}

TEST(BlasLayout, EveryDescriptionBecomesTheSameProduct) {
  for (int round = 0; round < 500 && !testing::Test::HasFailure(); ++round) expect_product(test::random_matmul(f64, 12));
}

TEST(BlasLayout, BatchesThatShareTheRightOperandBecomeOneProduct) {
  const Matmul d{.a = {f32, Layout::dense({4, 5, 6, 7})},
                 .b = {f32, matrix({4, 5, 7, 8}, MatrixOrder::Rows, 0, true)},
                 .c = {f32, Layout::dense({4, 5, 6, 8})}};
  const BlasProduct p = blas_product(d);
  EXPECT_EQ(p.n, 4 * 5 * 6);
  EXPECT_EQ(p.batch, 1);
  EXPECT_EQ(p.offsets.size(), 1u);
  EXPECT_TRUE(p.swapped);
  expect_product({.a = {f64, d.a.layout}, .b = {f64, d.b.layout}, .c = {f64, d.c.layout}});
}

TEST(BlasLayout, BatchAxesThatLieBehindOneAnotherBecomeOneBatch) {
  EXPECT_EQ(blas_product(
                {.a = {f32, Layout::dense({4, 5, 6, 7})}, .b = {f32, Layout::dense({4, 5, 7, 8})}, .c = {f32, Layout::dense({4, 5, 6, 8})}})
                .batch,
            20);
  // The heads of attention lie between the rows: the longer axis is the batch, the other is walked.
  const Layout a{{2, 4, 16, 8}, {16 * 32, 8, 32, 1}}, b{{2, 4, 8, 16}, {16 * 32, 8, 1, 32}};
  const Matmul attention{.a = {f64, a}, .b = {f64, b}, .c = {f64, Layout::dense({2, 4, 16, 16})}};
  const BlasProduct p = blas_product(attention);
  EXPECT_EQ(p.batch, 4);
  EXPECT_EQ(p.offsets.size(), 2u);
  expect_product(attention);
}

TEST(BlasLayout, ResultsByRowsHaveTheirBiasAlongTheRowsOfTheProblem) {
  for (const std::int64_t columns : {1, 5}) {
    for (const std::int64_t rows : {1, 3}) {
      EXPECT_TRUE(
          blas_product(
              {.a = {f32, Layout::dense({rows, 4})}, .b = {f32, Layout::dense({4, columns})}, .c = {f32, Layout::dense({rows, columns})}})
              .swapped);
    }
  }
}

TEST(BlasLayout, LayoutsThatOverlapAreRefused) {
  const Layout dense = Layout::dense({4, 4});
  EXPECT_THROW(blas_product({.a = {f32, Layout{{4, 4}, {2, 1}}}, .b = {f32, dense}, .c = {f32, dense}}), Error);
  EXPECT_THROW(blas_product({.a = {f32, Layout{{4, 4}, {8, 2}}}, .b = {f32, dense}, .c = {f32, dense}}), Error);
  EXPECT_THROW(blas_product({.a = {i32, dense}, .b = {i32, dense}, .c = {i32, dense}}), Error);
  EXPECT_THROW(blas_product({.a = {f32, dense}, .b = {f32, Layout::dense({3, 4})}, .c = {f32, dense}}), Error);
}

TEST(DnnLayout, EveryAttemptHasTheDescribedOutputs) {
  for (int round = 0; round < 500 && !testing::Test::HasFailure(); ++round) {
    const Convolution d = test::describe(test::random_convolution(f32), test::kPasses[round % 3]);
    for (const DnnAttempt& attempt : dnn_attempts(d)) {
      const DnnProblem p = dnn_problem(d, attempt);
      ASSERT_GE(p.stride.rank(), 2);
      for (int i = 0; i < p.stride.rank(); ++i) {
        EXPECT_GE(p.pre[i], 0);
        EXPECT_GE(p.post[i], 0);
        const std::int64_t room = p.input.shape[i + 2] + p.pre[i] + p.post[i] - p.dilation[i] * (p.weight.shape[i + 2] - 1) - 1;
        EXPECT_EQ(room / p.stride[i] + 1, p.output.shape[i + 2]) << key_of(d, attempt);
        // The first tap of the first output lies at the same described input; a single axis has become the last of two.
        const int axis = i - (p.stride.rank() - d.stride.rank());
        EXPECT_EQ(p.shift[i + 2] + p.pre[i], axis < 0 ? 0 : d.pad_low[axis]) << key_of(d, attempt);
      }
      const auto lies = [&](const Layout& x) {
        return lies_ordered(x, attempt.order) || (attempt.slices && ordered_slice(x, attempt.order, d.dtype()));
      };
      EXPECT_TRUE(lies(p.input) && lies_ordered(p.weight, attempt.order) && lies(p.output));
    }
  }
}

// cuDNN 9.19 computes those of rows wrong (dnn_attempts).
TEST(DnnLayout, WhatTensorCoresComputeWithPixelsLeftOutLiesChannelsLast) {
  using runtime::Arithmetic;
  for (const auto& [dtype, arithmetic] :
       {std::pair{f16, Arithmetic::Full}, {bf16, Arithmetic::Full}, {f32, Arithmetic::TF32}, {f32, Arithmetic::Full}}) {
    test::ConvolutionOptions o = square(4, 6, 8, 4, 1, 2, 0, 0);
    o.dtype = dtype, o.arithmetic = arithmetic;
    const auto attempts = dnn_attempts(test::describe(o, runtime::ConvolutionPass::Forward));
    EXPECT_FALSE(attempts.empty());
    EXPECT_EQ(std::ranges::any_of(attempts, [](const DnnAttempt& attempt) { return attempt.order == ChannelOrder::First; }),
              dtype == f32 && arithmetic == Arithmetic::Full);
  }
}

TEST(DnnLayout, PaddingThatIsNeverReadIsMadeSymmetric) {
  // 3x3, stride 2, on 12 pixels: low 1 and high 0 read the same as low 1 and high 1.
  const DnnProblem p = dnn_problem(test::describe(square(1, 2, 12, 2, 3, 2, 1, 0), runtime::ConvolutionPass::Forward), {});
  EXPECT_EQ(p.pre, (Dims{1, 1}));
  EXPECT_EQ(p.post, (Dims{1, 1}));
  const DnnProblem q = dnn_problem(test::describe(square(1, 2, 12, 2, 3, 2, 0, 1), runtime::ConvolutionPass::Forward), {});
  EXPECT_EQ(q.pre, (Dims{0, 0}));
  EXPECT_EQ(q.post, (Dims{1, 1}));
}

TEST(DnnLayout, TheOrderInMemoryIsKept) {
  auto o = square(2, 8, 6, 4, 3, 1, 1, 1);
  EXPECT_EQ(dnn_attempts(test::describe(o, runtime::ConvolutionPass::Forward)).front().order, ChannelOrder::First);
  o.input = o.output = test::Memory::ChannelsLast;
  EXPECT_EQ(dnn_attempts(test::describe(o, runtime::ConvolutionPass::Forward)).front().order, ChannelOrder::Last);
  EXPECT_TRUE(dnn_attempts(test::describe(o, runtime::ConvolutionPass::Forward)).front().fused);
  EXPECT_FALSE(dnn_attempts(test::describe(o, runtime::ConvolutionPass::BackwardWeight)).front().fused);
}

// Every orientation, ragged edges, a batch, a bias along either side, in every cut.
TEST(SplitProduct, EveryCutIsTheNaiveSum) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const auto numbers = [&](std::size_t n) {
    std::vector<float> x(n);
    for (float& v : x) v = normal(random);
    return x;
  };
  using test::matrix;
  using test::MatrixOrder;
  int round = 0;
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{33, 40, 260}, {64, 36, 128}, {7, 65, 513}, {100, 1, 96}}) {
    for (int order = 0; order < 8; ++order) {
      const auto of = [&](int bit) { return order >> bit & 1 ? MatrixOrder::Rows : MatrixOrder::Columns; };
      const runtime::Matmul d{.a = {f32, matrix({2, m, k}, of(0))},
                              .b = {f32, matrix({2, k, n}, of(1))},
                              .c = {f32, matrix({2, m, n}, of(2))},
                              .epilogue = test::with_bias(order % 2 == 0, order % 3 == 0 ? runtime::relu(f32) : runtime::Expression())};
      const BlasProduct p = blas_product(d);
      const SplitChoice choice{.tile_m = round % 2 ? 64 : 32, .parts = 1 << round % 4};
      ++round;
      std::vector<float> a = numbers(static_cast<std::size_t>(2 * m * k)), b = numbers(static_cast<std::size_t>(2 * k * n)),
                         bias = numbers(static_cast<std::size_t>(n)), c(static_cast<std::size_t>(2 * m * n), 77);
      std::vector<void*> pointers{p.swapped ? b.data() : a.data(), p.swapped ? a.data() : b.data()};
      if (order % 2 == 0) pointers.push_back(bias.data());
      pointers.push_back(c.data());
      emulate(split_product_kernel(d, p, choice), pointers, choice.parts, std::size_t{48} << 10);
      for (std::int64_t batch = 0; batch < 2; ++batch) {
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            const auto at = [&](const std::vector<float>& x, const Layout& layout, std::int64_t r, std::int64_t col) {
              return static_cast<double>(
                  x[static_cast<std::size_t>(batch * layout.strides[0] + r * layout.strides[1] + col * layout.strides[2])]);
            };
            double sum = order % 2 == 0 ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0;
            for (std::int64_t l = 0; l < k; ++l) sum += at(a, d.a.layout, i, l) * at(b, d.b.layout, l, j);
            if (order % 3 == 0) sum = std::max(sum, 0.0);
            ASSERT_NEAR(at(c, d.c.layout, i, j), sum, 1e-4) << choice.text() << " order " << order << " of " << m << "x" << n << "x" << k;
          }
        }
      }
    }
  }
}

TEST(SplitProduct, ChoicesAreTextAndBack) {
  for (const SplitChoice& choice : {SplitChoice{}, SplitChoice{.tile_m = 64}, SplitChoice{.parts = 8}}) {
    EXPECT_EQ(SplitChoice::from(choice.text()), choice);
  }
  EXPECT_FALSE(SplitChoice::from("17"));
}

class Tuning : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name) const { return (folder_ / name).string(); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(path) << text;
  }
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "tegula-tuning";
};

TEST_F(Tuning, ChoicesAreThereForTheNextProcess) {
  TuningFile first(file("a.json"));
  EXPECT_FALSE(first.find("card", "matmul"));
  first.store("card", "matmul", "17", 3.5);
  EXPECT_EQ(first.find("card", "matmul"), "17");
  TuningFile second(file("a.json"));
  EXPECT_EQ(second.find("card", "matmul"), "17");
  EXPECT_FALSE(second.find("card", "convolution"));
  EXPECT_FALSE(second.find("another card", "matmul"));
  EXPECT_TRUE(TuningFile(file("a.json")).knows("matmul"));
  EXPECT_FALSE(second.knows("convolution"));
}

TEST_F(Tuning, WhatOthersWroteMeanwhileStays) {
  TuningFile first(file("a.json")), second(file("a.json"));
  first.store("card", "a", "1", 1);
  second.store("card", "b", "2", 1);
  first.store("card", "c", "3", 1);
  TuningFile third(file("a.json"));
  for (const auto& [key, choice] : {std::pair{"a", "1"}, {"b", "2"}, {"c", "3"}}) EXPECT_EQ(third.find("card", key), choice);
}

TEST_F(Tuning, AFileThatCannotBeReadIsAsGoodAsNone) {
  for (const char* text :
       {"", "{", "[1, 2]", "{\"tegula tuning\": 2, \"card\": {\"a\": {\"choice\": \"1\"}}}", "{\"card\": {\"a\": {\"choice\": \"1\"}}}",
        "{\"tegula tuning\": 1, \"card\": {\"a\": {\"choice\": 1}, \"b\": 3}}", "\xff\xfe"}) {
    write(file("a.json"), text);
    TuningFile broken(file("a.json"));
    EXPECT_FALSE(broken.find("card", "a")) << text;
    broken.store("card", "a", "9", 1);
    EXPECT_EQ(TuningFile(file("a.json")).find("card", "a"), "9") << text;
  }
}

TEST_F(Tuning, AVersionIsKnownWhileTheFileIsWhatItWas) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&zlibVersion), &info), 0);
  write(file("a"), "");
  const std::filesystem::path copy = file("library.so");
  std::filesystem::copy_file(std::filesystem::canonical(info.dli_fname), copy);
  void* const library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "zlib is not a library of its own: " << dlerror();
  const std::string name = "library of " + copy.string();
  EXPECT_EQ(known_version(name), std::nullopt);
  remember_version(name, dlsym(library, "zlibVersion"), 1203);
  EXPECT_EQ(known_version(name), 1203);
  const char* const before = std::getenv("CUDA_HOME");
  const std::string kept = before ? before : "";
  setenv("CUDA_HOME", "/somewhere/else", 1);  // another file may be found there
  EXPECT_EQ(known_version(name), std::nullopt);
  before ? setenv("CUDA_HOME", kept.c_str(), 1) : unsetenv("CUDA_HOME");
  EXPECT_EQ(known_version(name), 1203);
  std::filesystem::last_write_time(copy, std::filesystem::last_write_time(copy) + std::chrono::seconds(5));
  EXPECT_EQ(known_version(name), std::nullopt);
  dlclose(library);
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(known_version(name), std::nullopt);
}

TEST_F(Tuning, AFileThatCannotBeWrittenIsNoError) {
  write(file("a"), "not a folder");
  TuningFile nowhere(file("a") + "/b.json");
  nowhere.store("card", "a", "1", 1);
  EXPECT_EQ(nowhere.find("card", "a"), "1");
  TuningFile memory("");
  memory.store("card", "a", "1", 1);
  EXPECT_EQ(memory.find("card", "a"), "1");
}

}  // namespace
}  // namespace tegula::gpu
