// Lesson 15: your own kernels.
//
// Tegula's ops become tile programs; a program may be written by hand, too. The language is Triton's (Tillet et al., 2019), in C++: the same lambda runs once
// for each point of a grid, an *instance*, and works on *tiles*, blocks of numbers or of pointers. Places outside of a tensor are masked. On the CPU an
// instance runs on a thread, on a GPU it is a block of threads: TEGULA_PRINT=kernel shows what it became. docs/tile.md says more; examples/tile/ has
// Triton's tutorials and others as whole programs, docs/from_triton.md a kernel of Triton's line by line.

#include <tegula/tile.h>

#include <cassert>
#include <cmath>
#include <cstdio>

// Tiles have words of the same names as tensors: kernels stand in a namespace that sees their own.
namespace kernels {
using namespace tegula::tile;

// --- 1. Vectors are added -------------------------------------------------------------------------------------------------------------------
// Instance p has the elements p · BLOCK … p · BLOCK + BLOCK - 1. Elements behind the end are not loaded and not stored. An Int is known when the kernel runs,
// a Const while it is recorded: other ones make another program.
const auto add = jit("add", [](Ptr<float> x, Ptr<float> y, Out<float> z, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);  // (BLOCK)
  auto mask = i < n;
  store(z + i, load(x + i, mask) + load(y + i, mask), mask);
});

// --- 2. Softmax: a row stays where it is computed ---------------------------------------------------------------------------------------------
// One row an instance: read once, written once; the maximum, the exponentials and their sum never go through memory.
const auto softmax_rows = jit("softmax_rows", [](Ptr<float> x, Out<float> y, Int columns, Const<int, "BLOCK"> BLOCK) {
  auto j = arange(0, BLOCK);  // as many as a row has, or more
  auto at = program_id(0) * columns + j;
  auto v = load(x + at, j < columns, -INFINITY);  // -inf behind the row
  auto e = exp(v - max(v, 0));
  store(y + at, e / sum(e, 0), j < columns);
});

// --- 3. A matrix product in blocks ----------------------------------------------------------------------------------------------------------
// Instance (p, q) makes a block (BM, BN) of C and walks along K. The loop's body is recorded once; its assignments carry over to the next iteration.
const auto product = jit("product", [](Ptr<float> a, Ptr<float> b, Out<float> c, Int M, Int N, Int K, Const<int, "BM"> BM,
                                       Const<int, "BN"> BN, Const<int, "BK"> BK) {
  auto m = col(program_id(0) * BM + arange(0, BM));  // (BM, 1): col(x) is x[:, None]
  auto n = row(program_id(1) * BN + arange(0, BN));  // (1, BN): row(x) is x[None, :]
  auto sums = zeros<float>({BM, BN});
  for (auto first : range(0, K, BK)) {
    auto k = first + arange(0, BK);  // (BK)
    auto left = load(a + m * K + row(k), m < M && row(k) < K);  // (BM, BK)
    auto right = load(b + col(k) * N + n, col(k) < K && n < N);  // (BK, BN)
    sums = dot(left, right, sums);
  }
  store(c + m * N + n, sums, m < M && n < N);
});

// --- 4. Dropout without a mask in memory, and its gradient ------------------------------------------------------------------------------------
// The random number of element i is a function of the seed and i (Philox): the backward pass makes the same ones again.
Tile dropped(Tile x, Tile i, Tile seed) { return where(randint(seed, i) >= 0, x * 2, 0.0); }  // 32 bits, one of them the sign: one half

const auto drop_forward = jit("drop", [](Ptr<float> x, Out<float> y, Int n, Int seed, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(y + i, dropped(load(x + i, i < n), i, seed), i < n);
});
// Over the same grid and numbers: of the input and the result's gradient the input's gradient.
const auto drop_backward = jit("drop_backward", [](Ptr<float>, Ptr<float> dy, Out<float> dx, Int n, Int seed, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(dx + i, dropped(load(dy + i, i < n), i, seed), i < n);
});
const auto drop = drop_forward.gradient(drop_backward);

// --- 5. A histogram: instances add to one result, and check their inputs -----------------------------------------------------------------------
// Several instances add to the same element: the result begins with its fill, 0. A result without a fill is uninitialised memory, and exactly one
// instance must store each element.
const auto count_labels =
    jit("count_labels", [](Ptr<std::int64_t> labels, Out<float> counts, Int n, Int classes, Const<int, "BLOCK"> BLOCK) {
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      auto label = load(labels + i, i < n);  // 0 behind the end
      auto valid = label >= 0 && label < classes;
      device_assert(valid, label, "a label is one of the classes");  // an Error with the label, this sentence and this line
      atomic_add(counts + label, 1.0, i < n && valid);
    });

// --- 6. Tensors with sizes and strides, and sizes of tiles that are measured ---------------------------------------------------------------------
// A TensorOf brings them along. The tensor may lie in any way: a transposed matrix is read where it lies, a Ptr would be given a copy.
const auto row_sums = jit("row_sums", [](TensorOf<float, 2> x, Out<float> y, Const<int, "BLOCK"> BLOCK) {
  auto j = arange(0, BLOCK);
  auto sums = zeros<float>({BLOCK});
  for (auto first : range(0, x.size(1), BLOCK)) {
    auto at = first + j;
    sums += load(x + (program_id(0) * x.stride(0) + at * x.stride(1)), at < x.size(1), 0.0);
  }
  store(y + program_id(0), sum(sums, 0));
});
// The first launch with tensors of some shape tries both, later ones know the faster one, in this process and the next.
const auto tuned_row_sums = row_sums.tune({{.constants = {{"BLOCK", 32}}}, {.constants = {{"BLOCK", 256}}}}, {.seconds = 1});

// --- 7. A kernel's mistakes -------------------------------------------------------------------------------------------------------------------
// The mask of the store is missing. kernel.check() runs the lambda itself, instance by instance, and this is an Error with its line. TEGULA_CHECK=tile in the
// environment checks every kernel, and `tegula debug ./program` stops in one and shows its tiles.
const auto careless = jit("careless", [](Ptr<float> x, Out<float> y, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(y + i, load(x + i, i < n) * 2);
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

namespace {

float difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

void add_vectors() {
  const std::int64_t n = 98'432;
  const Tensor x = uniform({n}), y = uniform({n});
  const Tensor z = kernels::add({cdiv(n, 1024)}, x, y, out({n}), n, 1024)[0];
  std::printf("vector add: %g away from x + y\n", difference(z, x + y));
  assert(difference(z, x + y) == 0);
}

void softmax_of_rows() {
  const Tensor x = normal({1823, 781});
  const Tensor y = kernels::softmax_rows({1823}, x, out({1823, 781}), 781, 1024)[0];
  std::printf("softmax: %g away from softmax(x)\n", difference(y, softmax(x, 1)));
  assert(difference(y, softmax(x, 1)) < 1e-6f);
}

void multiply() {
  const std::int64_t M = 100, N = 70, K = 130;
  const Tensor x = normal({M, K}), y = normal({K, N});
  const Tensor z = kernels::product({cdiv(M, 32), cdiv(N, 32)}, x, y, out({M, N}), M, N, K, 32, 32, 16)[0];
  std::printf("product: %g away from matmul(x, y)\n", difference(z, matmul(x, y)));
  assert(difference(z, matmul(x, y)) < 1e-4f);
}

void dropout_with_gradient() {
  const std::int64_t n = 10'000, seed = 42;
  const Tensor x = ones({n}), y = kernels::drop({cdiv(n, 1024)}, x, out({n}), n, seed, 1024)[0], dx = grad(sum(y), x);
  std::printf("dropout: mean %.3f; the gradient is zero where the result is: %s\n", mean(y).item(), difference(dx, y) == 0 ? "yes" : "no");
  assert(std::abs(mean(y).item() - 1) < 0.05f);
  assert(difference(dx, y) == 0);  // for a dy of ones both are the factors, 0 and 2
}

/// True if f throws an Error, which is printed.
template <class F>
bool refused(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

void count() {
  const Tensor labels = randint(0, 10, {5000});
  const auto histogram = [&](std::int64_t classes) {
    return kernels::count_labels({cdiv(5000, 256)}, labels, out({classes}, 0), 5000, classes, 256)[0];
  };
  const Tensor counts = histogram(10);
  std::printf("histogram: %g away from the columns' sums of one_hot\n", difference(counts, sum(one_hot(labels, 10), 0)));
  assert(difference(counts, sum(one_hot(labels, 10), 0)) == 0);
  [[maybe_unused]] const bool stopped = refused([&] { histogram(9).to_host(); });
  assert(stopped);
}

void sum_rows() {
  const Tensor x = uniform({300, 70}), sums = kernels::tuned_row_sums({70}, transpose(x), out({70}))[0];  // BLOCK is decided by tune()
  std::printf("row sums: %g away from sum(x)\n", difference(sums, sum(x, 0)));
  assert(difference(sums, sum(x, 0)) < 1e-3f);
}

void check() {
  [[maybe_unused]] const bool found = refused([] { kernels::careless.check()({1}, ones({100}), out({100}), 100, 128); });
  assert(found);
}

}  // namespace

int main() {
  manual_seed(1);
  add_vectors();
  softmax_of_rows();
  multiply();
  dropout_with_gradient();
  count();
  sum_rows();
  check();
}
