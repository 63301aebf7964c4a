// A training step that has been replayed a few times allocates no memory.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "tegula/compile/jit.h"
#include "tegula/core/buffer.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tests/support/sanitizers.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
#ifndef TEGULA_THREAD_SANITIZER
void* counted(std::size_t size) {
  if (counting) ++allocations;
  return std::malloc(size);
}
void* counted_or_throw(std::size_t size) {
  if (void* memory = counted(size)) return memory;
  throw std::bad_alloc();
}
#endif
}  // namespace

#ifndef TEGULA_THREAD_SANITIZER
void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace tegula {
namespace {

TEST(SteadyState, AReplayedStepAllocatesNothing) {
#ifdef TEGULA_THREAD_SANITIZER
  GTEST_SKIP() << "skipped: allocations cannot be counted under ThreadSanitizer";
#endif
  if (const char* device = std::getenv("TEGULA_TEST_DEVICE");
      device && (std::string_view(device) == "queued" || std::string_view(device) == "emulated")) {
    GTEST_SKIP() << "skipped: the device " << device << " allocates for itself";
  }
  Variable w1(normal({784, 16}) * 0.05), b1(zeros({16})), w2(normal({16, 10}) * 0.2), b2(zeros({10}));
  auto step = jit([&](Tensor x, Tensor y, Tensor lr) {
    Tensor loss = cross_entropy(matmul(relu(matmul(x, w1) + b1), w2) + b2, y);
    const auto g = grad(loss, std::vector<Wrt>{w1, b1, w2, b2});
    Variable* variables[] = {&w1, &b1, &w2, &b2};
    for (int i = 0; i < 4; ++i) *variables[i] = *variables[i] - lr * g[static_cast<std::size_t>(i)];
    return loss;
  });
  Tensor x = normal({1, 784}), y = tensor({std::int64_t{3}}), lr = 0.01f;
  eval(x, y, lr);
  for (int i = 0; i < 20; ++i) step(x, y, lr);  // the next call that is traced to compare is the 256th
  const auto before = host_pool_counters().system_allocations;
  counting = true;
  for (int i = 0; i < 100; ++i) step(x, y, lr);
  counting = false;
  EXPECT_EQ(host_pool_counters().system_allocations, before);
  // The result handle travels in one vector; nothing else is asked for.
  EXPECT_LE(allocations.load(), 100 * 2);
}

}  // namespace
}  // namespace tegula
