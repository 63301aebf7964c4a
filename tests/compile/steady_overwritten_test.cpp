// A value that stays from run to run is never the one that is written over: every way to write over something, over every kind of view, of
// everything that could be kept between runs.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/compile/pipeline.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/graph/structural.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// On the CPU, and on a device that queues its work.
class SteadyOverwritten : public ::testing::TestWithParam<bool> {
 protected:
  SteadyOverwritten() : before_(default_device()) {
    static test::QueuedDevice& queued = test::QueuedDevice::create();
    if (GetParam()) set_default_device(queued);
  }
  ~SteadyOverwritten() override { set_default_device(before_); }

 private:
  runtime::Device& before_;
};
INSTANTIATE_TEST_SUITE_P(Devices, SteadyOverwritten, ::testing::Bool(), [](const auto& info) { return info.param ? "Queued" : "Cpu"; });

template <class F>
struct Named {
  const char* name;
  F make;
};

/// (4, 6), made of unchanged Variables and captured tensors.
struct Steady {
  Variable left{normal({4, 8})}, right{normal({8, 6})}, terms{normal({3, 4, 6})}, matrix{normal({4, 6})};
  Tensor captured = normal({4, 6}), captured_left = normal({4, 8}), captured_terms = normal({3, 4, 6});

  using Make = std::function<Tensor(const Steady&)>;
  static std::vector<Named<Make>> values() {
    return {
        {"product", [](const Steady& s) { return matmul(s.left.read(), s.right.read()); }},
        {"product with a captured tensor", [](const Steady& s) { return matmul(s.captured_left, s.right.read()); }},
        {"product in half",
         [](const Steady& s) {
           const PrecisionScope half(Precision::bf16);
           return matmul(s.left.read(), s.right.read());
         }},
        {"sum", [](const Steady& s) { return sum(s.terms.read(), 0); }},
        {"sum of a captured tensor", [](const Steady& s) { return sum(s.captured_terms, 0); }},
        {"sum, kept in bf16", [](const Steady& s) { return cast(sum(s.terms.read(), 0), bf16); }},
        {"sum and what is made of it", [](const Steady& s) { return exp(sum(s.terms.read(), 0)) * s.matrix.read(); }},
        {"softmax", [](const Steady& s) { return softmax(s.matrix.read(), 1); }},
        {"elementwise", [](const Steady& s) { return exp(s.matrix.read()) + s.captured; }},
        {"Variable", [](const Steady& s) { return s.matrix.read(); }},
        {"captured tensor", [](const Steady& s) { return s.captured; }},
        {"bf16", [](const Steady& s) { return cast(s.matrix.read(), bf16); }},
    };
  }
  void change() {
    left = left.read() + 1.0;
    terms = terms.read() * 0.5 + 1.0;
    matrix = matrix.read() + 0.25;
    eval(left.read(), terms.read(), matrix.read());
  }
};

using View = std::function<Tensor(const Tensor&)>;
std::vector<Named<View>> views() {
  return {
      {"as it is", [](const Tensor& x) { return x; }},
      {"reshape", [](const Tensor& x) { return reshape(x, {24, 1}); }},
      {"transpose", [](const Tensor& x) { return transpose(x); }},
      {"slice of rows", [](const Tensor& x) { return slice(x, 0, {1, 3}); }},
      {"slice of columns", [](const Tensor& x) { return slice(x, 1, {1, 4}); }},
      {"select", [](const Tensor& x) { return expand_dims(select(x, 1, 2), 1); }},
      {"unsqueeze", [](const Tensor& x) { return expand_dims(x, 2); }},
      {"squeeze", [](const Tensor& x) { return squeeze(reshape(x, {4, 1, 6})); }},
      {"expand", [](const Tensor& x) { return expand(reshape(x, {24, 1}), {24, 3}); }},
      {"flip", [](const Tensor& x) { return flip(x, 0); }},
      {"cast to what it is", [](const Tensor& x) { return cast(reshape(x, {12, 2}), x.dtype()); }},
      {"split and permuted", [](const Tensor& x) { return permute(reshape(x, {2, 2, 6}), {1, 0, 2}); }},
      {"chain", [](const Tensor& x) { return reshape(expand_dims(reshape(transpose(transpose(x)), {24}), 1), {6, 4}); }},
  };
}

/// A function of a table and rows for it, filled with `value`; `at`: the place, a number in memory.
using Write = std::function<Tensor(const Tensor& table, const Tensor& value, const Tensor& at)>;
Tensor rows_like(const Tensor& table, const Tensor& value, std::int64_t count = 1) {
  Shape shape = table.shape();
  shape[0] = count;
  return cast(expand(value, shape), table.dtype());
}
std::vector<Named<Write>> writes() {
  return {
      {"update_slice", [](const Tensor& t, const Tensor& v, const Tensor& at) { return update_slice(t, rows_like(t, v), at, 0); }},
      {"two update_slices",
       [](const Tensor& t, const Tensor& v, const Tensor& at) {
         const Tensor row = rows_like(t, v);
         return update_slice(reshape(update_slice(t, row, at, 0), t.shape()), row * 2.0, at + 1, 0);
       }},
      {"update_slice of a product",  // stores its row there
       [](const Tensor& t, const Tensor& v, const Tensor& at) {
         const std::int64_t width = t.numel() / t.shape()[0];
         const Tensor row = matmul(full({1, 5}, 0.5, f32) * v, ones({5, width}));
         return update_slice(t, cast(reshape(row, rows_like(t, v).shape()), t.dtype()), at, 0);
       }},
      {"scatter",
       [](const Tensor& t, const Tensor& v, const Tensor& at) {
         const Tensor row = rows_like(t, v);
         return scatter(t, 0, expand(at, row.shape()), row);
       }},
      {"index_add", [](const Tensor& t, const Tensor& v, const Tensor& at) { return index_add(t, 0, reshape(at, {1}), rows_like(t, v)); }},
      {"rows of a loop",
       [](const Tensor& t, const Tensor& v, const Tensor& at) {
         const Tensor row = rows_like(t, v);
         return scan(
                    [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
                      return Scanned{{update_slice(carry[0], row + cast(x[0], row.dtype()), x[0], 0)}, {}};
                    },
                    {t}, {stack({at, at + 1}, 0)})
             .carry[0];
       }},
      {"rows of a long loop",
       [](const Tensor& t, const Tensor& v, const Tensor& at) {
         const Tensor row = rows_like(t, v);
         return scan(
                    [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
                      return Scanned{{update_slice(carry[0], row * cast(x[0], row.dtype()), x[0], 0)}, {}};
                    },
                    {t}, {remainder(arange(20) + at, 2)})
             .carry[0];
       }},
      {"concat", [](const Tensor& t, const Tensor& v, const Tensor&) { return concat({t, rows_like(t, v), t}, 0); }},
  };
}

TEST_P(SteadyOverwritten, EveryWriteOverEveryViewOfEveryKindOfValue) {
  int wrong = 0;
  for (const auto& value : Steady::values()) {
    for (const auto& view : views()) {
      for (const auto& write : writes()) {
        Steady steady;
        const auto table = [&] { return view.make(value.make(steady)); };
        const auto written = [&](const Tensor& v, const Tensor& at) { return write.make(table(), v, at); };
        auto run = jit([&](Tensor v, Tensor at) { return written(v, at); });
        for (int call = 0; call < 4 && wrong < 10; ++call) {
          if (call == 2) steady.change();
          const Tensor v = full({}, 3 + call, f32), at = full({}, call % 2 == 0 ? 0 : -2, i64);
          eval(v, at);
          const std::vector<double> got = run(v, at).to_host<double>(), want = written(v, at).to_host<double>();
          ASSERT_EQ(got.size(), want.size());
          double difference = 0;
          for (std::size_t i = 0; i < got.size(); ++i) {
            const double d = std::abs(got[i] - want[i]) / (1 + std::abs(want[i]));
            difference = d <= difference ? difference : d;  // NaN counts
          }
          if (difference <= 1e-2) continue;  // a half is rounded in other places
          ADD_FAILURE() << write.name << " over " << view.name << " of " << value.name << ", call " << call << ": differs by " << difference
                        << "\n"
                        << run.print_plan();
          ++wrong;
        }
      }
    }
  }
}

// The reduced cases: a table that is written over is computed at each run, with the bits of plain code.
TEST_P(SteadyOverwritten, AReshapedProductOfAVariable) {
  const Variable w(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2}));
  auto product = jit([&](Tensor row, Tensor i) { return update_slice(reshape(matmul(w.read(), w.read()), {4, 1}), row, i, 0); });
  auto total = jit([&](Tensor row, Tensor i) { return update_slice(reshape(sum(w.read(), 0), {2, 1}), row, i, 0); });
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(product(ones({1, 1}), full({}, 0, i64)).to_host(), (std::vector<float>{1, 10, 15, 22}));
    EXPECT_EQ(total(ones({1, 1}), full({}, 0, i64)).to_host(), (std::vector<float>{1, 6}));
  }
}

// A product whose result is a half is no place for f32 numbers: it is widened first.
TEST_P(SteadyOverwritten, AProductInHalf) {
  const Variable w(ones({2, 8})), u(ones({8, 3}));
  const auto product = [&](const Tensor& a) {
    const PrecisionScope half(Precision::bf16);
    return matmul(a, u.read());
  };
  const auto written = [&](const Tensor& a, const Tensor& at) {
    const Tensor row = full({1, 3}, 3, f32);
    const Tensor sliced = update_slice(product(a), row, at, 0), scattered = scatter(product(a), 0, expand(at, {1, 3}), row);
    return concat({sliced, scattered, transpose(update_slice(reshape(product(a), {3, 2}), full({1, 2}, 3, f32), at, 0))}, 0);
  };
  const Tensor at = full({}, 1, i64), x = ones({2, 8});
  eval(at, x);
  auto of_weights = jit([&](Tensor i) { return written(w.read(), i); });
  auto of_inputs = jit([&](Tensor a, Tensor i) { return written(a, i); });
  const std::vector<float> want{8, 8, 8, 3, 3, 3, 8, 8, 8, 3, 3, 3, 8, 3, 8, 8, 3, 8};
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(written(x, at).to_host(), want);
    EXPECT_EQ(of_weights(at).to_host(), want);
    EXPECT_EQ(of_inputs(x, at).to_host(), want);
  }
}

// Other readers of the table keep it as before: only the copy that is overwritten is made again.
TEST_P(SteadyOverwritten, WhatIsReadAsWellIsStillKept) {
  const Variable w(normal({32, 32})), u(normal({32, 32}));
  auto run = jit([&](Tensor x, Tensor row, Tensor i) {
    const Tensor table = matmul(w.read(), u.read());
    return sum(update_slice(reshape(table, {1024, 1}), row, i, 0)) + sum(matmul(x, table));
  });
  const auto want = [&](const Tensor& x, const Tensor& row, const Tensor& i) {
    const Tensor table = matmul(w.read(), u.read());
    return sum(update_slice(reshape(table, {1024, 1}), row, i, 0)) + sum(matmul(x, table));
  };
  const Tensor x = normal({4, 32}), row = ones({1, 1}), i = full({}, 5, i64);
  eval(x, row, i);
  for (int call = 0; call < 3; ++call) EXPECT_NEAR(run(x, row, i).item(), want(x, row, i).item(), 1e-2);
  EXPECT_EQ(run.refreshes(), 1) << run.print_plan();
}

// The first plan of any build would show a pass that made a leaf of an overwritten value.
TEST(MakePlan, RefusesToWriteOverALeafThatIsNotUpdated) {
  const Tensor x = zeros({4, 2}), row = ones({1, 2}), i = full({}, 1, i64);
  eval(x, row, i);
  const Tensor y = update_slice(reshape(sin(x), {8, 1}), reshape(row, {2, 1}), i, 0);
  const std::vector<const Node*> outputs{y.node().get()};
  compile::Graph graph = compile::flatten(compile::read(outputs), outputs, {});
  compile::optimize(graph, runtime::cpu());
  EXPECT_NO_THROW(compile::make_plan(graph, runtime::cpu()));
  for (compile::Item& item : graph.items) {
    if (item.op->name() != "sin") continue;
    graph.leaves.push_back({item.shape, item.dtype, compile::layout_of(item)});
    item = {.op = leaf_op(),
            .inputs = {},
            .shape = item.shape,
            .dtype = item.dtype,
            .origin = item.origin,
            .slot = static_cast<int>(graph.leaves.size()) - 1,
            .epilogue = {},
            .order = {}};
  }
  const std::string message = message_of([&] { static_cast<void>(compile::make_plan(graph, runtime::cpu())); });
  EXPECT_NE(message.find("update_slice written over leaf#"), std::string::npos) << message;
  EXPECT_NE(message.find("which the graph does not update"), std::string::npos) << message;
  EXPECT_NE(message.find("this is a bug in Tegula"), std::string::npos) << message;
}

}  // namespace
}  // namespace tegula
