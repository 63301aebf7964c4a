// Lesson 15: kernels of one's own.
//
// Tegula's ops become tile programs; a program may be written by hand, too. The model is Triton's (Tillet et al., 2019): the same program runs once for
// each point of a grid, an *instance*, and works on *tiles*, blocks of numbers or of pointers. What lies outside of a tensor is masked. On the CPU an
// instance runs on a thread, on a GPU it is a block of threads: TEGULA_PRINT=kernel shows what it became.

#include <tegula/ops/tile_kernel.h>
#include <tegula/tegula.h>

#include <cassert>
#include <cmath>
#include <cstdio>

using namespace tegula;
using tile::Builder, tile::Reduction, tile::Value;

namespace {

float difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// --- 1. Vectors are added -------------------------------------------------------------------------------------------------------------------
// Instance p has the elements p · B … p · B + B - 1. Those behind the end are not loaded and not stored.
void vector_add(Builder& b, const TileArguments& a) {
  const auto block = a.constants[0];  // known while the program is built
  const Value n = a.numbers[0];  // known when it runs
  const Value i = b.program_id(0) * block + b.arange(0, block);  // (B) i64
  const Value x = b.load(a.inputs[0] + i, i < n), y = b.load(a.inputs[1] + i, i < n);
  b.store(a.outputs[0] + i, x + y, i < n);
}

void add_vectors() {
  const std::int64_t n = 98'432;
  const Tensor x = uniform({n}), y = uniform({n});
  const Tensor z = tile_kernel("vector_add", vector_add, {x, y},
                               {.grid = {divide_up(n, 1024)}, .outputs = {{{n}, f32}}, .numbers = {n}, .constants = {1024}})[0];
  std::printf("vector add: %g away from x + y\n", difference(z, x + y));
  assert(difference(z, x + y) == 0);
}

// --- 2. Softmax: a row stays where it is computed ---------------------------------------------------------------------------------------------
// One row an instance: read once, written once; the maximum, the exponentials and their sum never go through memory.
void softmax_rows(Builder& b, const TileArguments& a) {
  const Value columns = a.numbers[0];
  const Value j = b.arange(0, a.constants[0]);  // (C), C a power of two that holds a row
  const Value at = b.program_id(0) * columns + j;
  const Value x = b.load(a.inputs[0] + at, j < columns, b.constant(-INFINITY, f32));  // (C), -inf behind the row
  const Value e = formula::exp(x - tile::reduce(x, 0, Reduction::Max));
  b.store(a.outputs[0] + at, e / tile::reduce(e, 0, Reduction::Sum), j < columns);
}

void softmax_of_rows() {
  const Tensor x = normal({1823, 781});
  const Tensor y = tile_kernel("softmax_rows", softmax_rows, {x},
                               {.grid = {1823}, .outputs = {{x.shape(), f32}}, .numbers = {781}, .constants = {1024}})[0];
  std::printf("softmax: %g away from softmax(x)\n", difference(y, softmax(x, 1)));
  assert(difference(y, softmax(x, 1)) < 1e-6f);
}

// --- 3. A matrix product in blocks ----------------------------------------------------------------------------------------------------------
// Instance (p, q) makes a block (BM, BN) of C and walks along K: `for_` builds its body once; what it returns is carried to the next round.
void matrix_product(Builder& b, const TileArguments& a) {
  const Value M = a.numbers[0], N = a.numbers[1], K = a.numbers[2];
  const auto BM = a.constants[0], BN = a.constants[1], BK = a.constants[2];
  const Value m = tile::col(b.program_id(0) * BM + b.arange(0, BM));  // (BM, 1): col(x) is x[:, None]
  const Value n = tile::row(b.program_id(1) * BN + b.arange(0, BN));  // (1, BN): row(x) is x[None, :]
  const Value zero = b.constant(std::int64_t{0}, i64), step = b.constant(BK, i64);
  const auto sums = b.for_(zero, K, step, {b.full({BM, BN}, 0, f32)}, [&](Value first, std::span<const Value> carried) {
    const Value k = first + b.arange(0, BK);  // (BK)
    const Value left = b.load(a.inputs[0] + m * K + tile::row(k), m < M && tile::row(k) < K);  // (BM, BK)
    const Value right = b.load(a.inputs[1] + tile::col(k) * N + n, tile::col(k) < K && n < N);  // (BK, BN)
    return std::vector<Value>{tile::dot(left, right, carried[0])};
  });
  b.store(a.outputs[0] + m * N + n, sums[0], m < M && n < N);
}

void multiply() {
  const std::int64_t M = 100, N = 70, K = 130;
  const Tensor x = normal({M, K}), y = normal({K, N});
  const Tensor z = tile_kernel("matrix_product", matrix_product, {x, y},
                               {.grid = {divide_up(M, 32), divide_up(N, 32)},
                                .outputs = {{{M, N}, f32}},
                                .numbers = {M, N, K},
                                .constants = {32, 32, 16},
                                .operations = 2.0 * M * N * K})[0];
  std::printf("product: %g away from matmul(x, y)\n", difference(z, matmul(x, y)));
  assert(difference(z, matmul(x, y)) < 1e-4f);
}

// --- 4. Dropout without a mask in memory, and its gradient ------------------------------------------------------------------------------------
// The random number of element i is a function of the seed and i (Philox): the backward pass makes the same ones again.
void drop(Builder& b, const TileArguments& a) {
  const Value n = a.numbers[0], seed = a.numbers[1];
  const Value i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]);
  const Value kept = tile::random_bits(seed, i) >= 0;  // 32 bits, one of them the sign: one half
  const Value x = b.load(a.inputs[0] + i, i < n);
  b.store(a.outputs[0] + i, tile::select(kept, x * 2, x * 0), i < n);
}

void dropout_with_gradient() {
  const std::int64_t n = 10'000, seed = 42;
  const TileLaunch launch{.grid = {divide_up(n, 1024)}, .outputs = {{{n}, f32}}, .numbers = {n, seed}, .constants = {1024}};
  const auto dropped = [&](const Tensor& t) {
    return custom_function(
        "drop", [&](const std::vector<Tensor>& in) { return tile_kernel("drop", drop, in, launch)[0]; },
        [&](const std::vector<Tensor>&, const Tensor&, const Tensor& dy) { return tile_kernel("drop", drop, {dy}, launch); }, {t});
  };
  const Tensor x = ones({n}), y = dropped(x), dx = grad(sum(y), x);
  std::printf("dropout: mean %.3f; the gradient is zero where the result is: %s\n", mean(y).item(), difference(dx, y) == 0 ? "yes" : "no");
  assert(std::abs(mean(y).item() - 1) < 0.05f);
  assert(difference(dx, y) == 0);  // of ones both are the factors, 0 and 2
}

// --- 5. A histogram: instances add to one result, and check what they are given ----------------------------------------------------------------
// Several instances add to the same element: the result begins with its fill, 0. Without one a result begins with what memory held, and each element
// must be stored by one instance. TEGULA_CHECK=tile in the environment finds elements that are not, and places outside of a tensor.
void count_labels(Builder& b, const TileArguments& a) {
  const Value n = a.numbers[0], classes = a.numbers[1];
  const Value i = b.program_id(0) * a.constants[0] + b.arange(0, a.constants[0]);
  const Value label = b.load(a.inputs[0] + i, i < n);  // (B) i64, 0 behind the end
  const Value valid = label >= 0 && label < classes;
  b.check(valid, label, "a label is one of the classes");  // an Error with the label, this sentence and this line
  b.atomic_add(a.outputs[0] + label, b.constant(1.0, f32), i < n && valid);
}

Tensor histogram(const Tensor& labels, std::int64_t classes) {
  const std::int64_t n = labels.numel();
  return tile_kernel("count_labels", count_labels, {labels},
                     {.grid = {divide_up(n, 256)}, .outputs = {{{classes}, f32, 0}}, .numbers = {n, classes}, .constants = {256}})[0];
}

void count() {
  const Tensor labels = randint(0, 10, {5000}), counts = histogram(labels, 10);
  std::printf("histogram: %g away from the columns' sums of one_hot\n", difference(counts, sum(one_hot(labels, 10), 0)));
  assert(difference(counts, sum(one_hot(labels, 10), 0)) == 0);
  bool refused = false;
  try {
    histogram(labels, 9).to_host();
  } catch (const Error& error) {
    refused = true;
    std::printf("%s\n", error.what());
  }
  assert(refused);
}

}  // namespace

int main() {
  manual_seed(1);
  add_vectors();
  softmax_of_rows();
  multiply();
  dropout_with_gradient();
  count();
}
