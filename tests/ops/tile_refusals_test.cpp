// Programs that the tile language refuses: each with a sentence, and the line where it is wrong.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tests/support/message.h"

namespace refused {
using namespace tegula::tile;

struct Program {
  int line;
  std::string sentence;
  std::function<std::vector<tegula::Tensor>()> launch;
};

template <class F>
Program program(int line, std::string sentence, F) {
  return {line, std::move(sentence), [] { return jit("refused", F())({1}, tegula::ones({4}), out({4}), 4); }};
}

// clang-format off: one program a line
#define REFUSED(sentence, ...) program(__LINE__, sentence, []([[maybe_unused]] Ptr<float> x, [[maybe_unused]] Out<float> z, [[maybe_unused]] Int n) { __VA_ARGS__; })
std::vector<Program> programs() {
  return {
      REFUSED("shapes (M, K), (K, N)", store(z, dot(zeros<float>({4, 8}), zeros<float>({4, 8})))),
      REFUSED("shapes (M, K), (K, N)", store(z, dot(zeros<float>({4}), zeros<float>({4})))),
      REFUSED("a multiple of 32 that is at most K", store(z, dot(zeros<float>({16, 32}), zeros<float>({32, 16}), DotOptions{.max_num_imprecise_acc = 32}))),
      REFUSED("a multiple of 32 that is at most K", store(z, dot(zeros<E4M3>({16, 32}), zeros<E4M3>({32, 16}), DotOptions{.max_num_imprecise_acc = 64}))),
      REFUSED("a multiple of 32 that is at most K", store(z, dot(zeros<E4M3>({16, 32}), zeros<E4M3>({32, 16}), DotOptions{.max_num_imprecise_acc = 16}))),
      REFUSED("operands of one dtype", store(z, dot(zeros<float>({4, 8}), zeros<double>({8, 4})))),
      REFUSED("integers", store(z, popcount(load(x)))),
      REFUSED("a pointer, or a tile of pointers", store(n, 1.0)),
      REFUSED("a pointer, or a tile of pointers", store(z, load(arange(0, 4)))),
      REFUSED("a pointer, or a tile of pointers", atomic_add(n, 1.0)),
      REFUSED("a bool tile", store(z + arange(0, 4), 1.0, arange(0, 4))),
      REFUSED("a bool tile", store(z + arange(0, 4), load(x + arange(0, 4), n))),
      REFUSED("shapes that broadcast", store(z + arange(0, 4), zeros<float>({4}) + zeros<float>({8}))),
      REFUSED("shapes that broadcast", store(z + arange(0, 4), where(arange(0, 8) < 4, zeros<float>({4}), 0.0))),
      REFUSED("sizes that are equal or 1", store(z + arange(0, 4), zeros<float>({8}))),
      REFUSED("a pointer and an integer offset", store(z + 1.0f * n, 1.0)),
      REFUSED("operands that are not pointers", store(z, x * 2)),
      REFUSED("choose the offsets instead", store(where(n > 0, z, z + 1), 1.0)),
      REFUSED("an axis from", store(z, expand_dims(arange(0, 4), 3))),
      REFUSED("a shape of 4 elements", store(z, reshape(arange(0, 4), {5}))),
      REFUSED("an axis from", store(z, sum(zeros<float>({4}), 1))),
      REFUSED("axis 0", store(z, sum(n, 0))),
      REFUSED("a tile", store(z, sum(3, 0))),
      REFUSED("a tile of rank 2", store(z, trans(zeros<float>({2, 2, 2})))),
      REFUSED("at most 5 dimensions", store(z, zeros<float>({2, 2, 2, 2, 2, 2}))),
      REFUSED("sizes of at least 1", store(z, sum(zeros<float>({0}), 0))),
      REFUSED("sizes of at least 1", store(z + arange(4, 2), 1.0)),
      REFUSED("a grid axis from 0 to 2", store(z, program_id(3))),
      REFUSED("a bool scalar", if_(arange(0, 4) < n, [&] { store(z, 1.0); })),
      REFUSED("a bool scalar", if_(n, [&] { store(z, 1.0); })),
      REFUSED("integer scalars", for (auto i : range(0.5)) store(z, i)),
      REFUSED("integer scalars", for (auto i : range(arange(0, 4))) store(z, i)),
      REFUSED("integer scalars", for (auto i : range(load(x))) store(z, i)),
      REFUSED("loops that run to their end", for (auto i : range(n)) { store(z, i); if (true) break; }),
      REFUSED("loops that run to their end", for (auto i : range(n)) { store(z, i); if (true) return; }),
      REFUSED("loops that run to their end", for (auto i : range(n)) for (auto k : range(i)) { store(z, k); if (true) break; }),
      REFUSED("one type in and out", auto a = zeros<float>({4}); for (auto i : range(n)) a = arange(0, 4) + i),
      REFUSED("one type in and out", auto a = zeros<float>({4}); if_(n > 0, [&] { a = zeros<float>({2, 4}); })),
      REFUSED("one type in and out", auto a = zeros<BFloat16>({4}); for ([[maybe_unused]] auto i : range(n)) a = load(x + arange(0, 4))),
      REFUSED("a value on every way to here", Tile a; for (auto i : range(n)) a = i; store(z, a)),
      REFUSED("a value on every way to here", Tile a; if_(n > 0, [&] { a = 1; }); store(z, a)),
      REFUSED("a value on every way to here", Tile a; store(z, a)),
      REFUSED("one type", Tile a; if_(n > 0, [&] { a = zeros<BFloat16>({4}); }, [&] { a = zeros<float>({4}); }); store(z + arange(0, 4), a)),
      REFUSED("equal types", Tile a; if_(n > 0, [&] { a = zeros<float>({4}); }, [&] { a = zeros<float>({2, 2}); })),
      REFUSED("integers of the tile's rank", store(z, gather(zeros<float>({4}), zeros<float>({4}), 0))),
      REFUSED("each axis once", store(z, permute(zeros<float>({2, 2}), {0, 0}))),
      REFUSED("a last axis of size 2", store(z, split(zeros<float>({4})).first)),
      REFUSED("tiles of one shape", store(z, join(zeros<float>({4}), zeros<float>({2})))),
      REFUSED("tiles of one dtype", store(z, cat(zeros<float>({4}), arange(0, 4)))),
      REFUSED("some of those that there are", store(z, slice(arange(0, 4), 0, 2, 4))),
      REFUSED("some of those that there are", store(z, topk(arange(0, 4), 5))),
      REFUSED("two of f32, i32 and u32", store(z, bitcast<double>(arange(0, 4) < n))),
      REFUSED("an integer dtype or bool", store(z + arange(0, 4), load(x + arange(0, 4)) & 1.5)),
      REFUSED("an integer dtype or bool", store(z + arange(0, 4), ~load(x + arange(0, 4)))),
      REFUSED("an integer dtype", store(z + arange(0, 4), load(x + arange(0, 4)) << 2)),
      REFUSED("a number that it begins with", atomic_add(z, 1.0)),
      REFUSED("a number that it begins with", atomic_xchg(z, 1.0)),
      REFUSED("a pointer to integers", atomic_and(z, 1)),
      REFUSED("a pointer to integers", atomic_cas(z, 0, 1)),
      REFUSED("a pointer, or a tile of pointers", atomic_max(n, 1)),
      REFUSED("a bool tile", atomic_min(z, 1.0, n)),
      REFUSED("a bool scalar", while_([&] { return arange(0, 4) < n; }, [] {})),
      REFUSED("a bool scalar", while_([&] { return n + 1; }, [] {})),
      REFUSED("one type in and out", auto a = zeros<float>({4}); while_([&] { return n > 0; }, [&] { a = arange(0, 4) + n; })),
      REFUSED("loops that run to their end", while_([&] { return n > 0; }, [&] { for (auto i : range(n)) { store(z, i); if (true) break; } })),
      REFUSED("at least 1", store(z, multiple_of(n, 0))),
      REFUSED("integers or pointers", store(z, multiple_of(load(x), 8))),
      REFUSED("a bool scalar", assume(arange(0, 4) < n); store(z, 1.0)),
      REFUSED("expected \"=f,f\"", store(z, inline_asm_elementwise<float>("mov.f32 $0, $1;", "=f,f,f", {load(x)}))),
      REFUSED("r for i32", store(z, inline_asm_elementwise<float>("mov.f32 $0, $1;", "=f,r", {load(x)}))),
      REFUSED("f32, f64, i32, u32, i64 or u64", store(z, inline_asm_elementwise<Half>("mov.b16 $0, $1;", "=h,f", {load(x)}))),
      REFUSED("or a pack of 4", store(z, inline_asm_elementwise<std::uint8_t>("not.b32 $0, $1;", "=r,r", {cast<std::uint8_t>(load(x))}, {}, {.pack = 2}))),
      REFUSED("a multiple of 3 elements", store(z, inline_asm_elementwise<float>("mov.b32 $0, $3;", "=f,=f,=f,f,f,f", {load(x + arange(0, 4))}, {}, {.pack = 3}))),
      REFUSED("a fallback that gives the same", store(z, inline_asm_elementwise<float>("ex2.approx.f32 $0, $1;", "=f,f", {load(x)}))),
      REFUSED("at least one bin", store(z, histogram(arange(0, 4), 0))),
  };
}
// clang-format on
}  // namespace refused

namespace tegula {
namespace {

TEST(TileRefusals, EachSaysWhatItExpectedAndWhere) {
  const auto programs = refused::programs();
  EXPECT_GE(programs.size(), 40u);
  for (const auto& program : programs) {
    // A GPU has the instruction itself.
    if (default_device().number() != 0 && program.sentence == "a fallback that gives the same") continue;
    const std::string text = message_of([&] { eval(program.launch()[0]); }),
                      line = "tile_refusals_test.cpp:" + std::to_string(program.line);
    EXPECT_TRUE(contains(text, program.sentence)) << program.line << ": " << (text.empty() ? "nothing" : text);
    EXPECT_TRUE(contains(text, line)) << program.line << ": " << text;
  }
}

}  // namespace
}  // namespace tegula
