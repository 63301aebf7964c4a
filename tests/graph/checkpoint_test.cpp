// checkpoint: the same values, gradients, random numbers and errors, in less memory.

#include <gtest/gtest.h>

#include <thread>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_close;

using List = std::vector<Tensor>;

/// First and second gradients of f and of f under checkpoint, by targets that `targets` takes from the inputs and the results.
void expect_gradients_agree(const Functions& f, const List& inputs,
                            const std::function<List(const List& inputs, const List& ys)>& targets) {
  const auto gradients = [&](const List& ys) {
    Tensor total = Tensor(0.0);
    for (std::size_t k = 0; k < ys.size(); ++k)
      if (is_float(ys[k].dtype())) total = total + mean(sin(ys[k] * (1 + 0.2 * static_cast<double>(k))));
    const List by = targets(inputs, ys);
    const std::vector<Wrt> wrt(by.begin(), by.end());
    List first = grad(total, wrt);
    Tensor squares = total;
    for (const Tensor& g : first) squares = squares + mean(g * g);
    const List second = grad(squares, wrt);
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  const List want = gradients(f(inputs)), got = gradients(checkpoints(f, inputs));
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k) expect_close(got[k], want[k], 1e-9);
}

TEST(Checkpoint, SeveralResultsInOneGo) {
  const Tensor x = drawn({3, 4}, f64, 0.7), w = drawn({4, 4}, f64, 0.7);
  const Functions f = [&](const List& in) {
    const Sorted s = sort(tanh(matmul(in[0], w)), 1);
    return List{s.values, exp(in[0]) * s.values, s.indices};
  };
  const List want = f({x}), got = checkpoints(f, {x});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(got[k].to_host<double>(), want[k].to_host<double>());
  expect_gradients_agree(f, {x}, [&](const List& in, const List&) { return List{in[0], w}; });
  auto step = jit([&](Tensor in) {
    const List ys = checkpoints(f, {in});
    return List{grad(sum(ys[0] * ys[1]), in), grad(sum(ys[1]), in), ys[2]};
  });
  for (int call = 0; call < 2; ++call) {
    const List results = step(x);
    expect_close(results[0], grad(sum(want[0] * want[1]), x), 1e-9);
    expect_close(results[1], grad(sum(want[1]), x), 1e-9);  // no gradient arrives at the first result
    EXPECT_EQ(results[2].to_host<double>(), want[2].to_host<double>());
  }
}

// The class of random graphs 2000341, 2242668, 2260293 and 7502057: targets are a result and one of its inputs, and first gradients were written
// with the result.
TEST(Checkpoint, SecondDerivativesByAResult) {
  const Tensor x = drawn({3, 4}, f64, 0.7), w = drawn({4, 4}, f64, 0.7);
  const auto by_both = [](const List& in, const List& ys) { return List{in[0], ys[0]}; };
  const auto by_result = [](const List&, const List& ys) { return List{ys[0]}; };
  const std::vector<Functions> functions{
      [](const List& in) { return List{softmax(in[0], 1)}; },
      [](const List& in) { return List{sqrt(square(in[0]) + 1)}; },
      [](const List& in) { return List{repeat(softmax(in[0], 1), {2, 1})}; },
      [&](const List& in) { return List{tanh(matmul(in[0], w))}; },
      [&](const List& in) {
        const Tensor e = exp(in[0]);  // no result of one function is computed from another one
        return List{e * in[0], softmax(e, 1), sigmoid(matmul(e, w))};
      },
  };
  for (const Functions& f : functions) {
    expect_gradients_agree(f, {x}, by_both);
    expect_gradients_agree(f, {x}, by_result);
    expect_gradients_agree([&](const List& in) { return checkpoints(f, in); }, {x}, by_both);
    expect_gradients_agree([&](const List& in) { return checkpoints(f, {checkpoint([](const List& v) { return sin(v[0]); }, in)}); }, {x},
                           by_both);
  }
}

TEST(Checkpoint, AnInputThatIsAResultIsItself) {
  const Tensor x = drawn({4}, f64, 0.7);
  const List got = checkpoints([](const List& in) { return List{in[0], in[0] * 2}; }, {x});
  EXPECT_EQ(got[0].node(), x.node());
  expect_close(grad(sum(got[0] * got[1]), x), x * 4.0, 1e-12);
  EXPECT_EQ(checkpoint([](const List& in) { return in[0]; }, {x}).node(), x.node());
}

TEST(Checkpoint, WhatIsCapturedAloneIsComputedAgainToo) {
  const Tensor x = drawn({64, 64}, f64, 0.7);
  auto bytes = [&](bool checkpointed) {
    auto step = jit([&](Tensor in) {
      Tensor h = in;
      for (int block = 0; block < 4; ++block) {
        const Tensor now = h;
        const auto own = [&, now](const List&) {
          Tensor y = now;
          for (int k = 0; k < 6; ++k) y = matmul(sin(y), sin(y) * 0.1);
          return y;
        };
        h = checkpointed ? checkpoint(own, {}) : own({});
      }
      return grad(mean(square(h)), in);
    });
    const Tensor g = step(x);
    g.to_host<double>();
    const std::string plan = step.print_plan();
    const auto at = plan.find("arena ");
    EXPECT_NE(at, std::string::npos) << plan;
    const double number = std::stod(plan.substr(at + 6));
    return plan.find("MiB", at) == plan.find_first_of("KMG", at) ? number * 1024 : number;
  };
  EXPECT_LT(bytes(true), 0.7 * bytes(false));
}

TEST(Checkpoint, DropoutIsTheSameAgainAndVariablesAreAssignedOnce) {
  const auto run = [](bool checkpointed, bool jitted) {
    Generator generator(5);
    Variable count(Tensor(0.0)), scale(Tensor(2.0));
    const Tensor x = ones({6, 8}, f64);
    const auto all = [&](const Tensor& in) {
      const Function f = [&](const List& v) {
        count = count.read() + 1;
        const Tensor h = dropout(v[0], 0.5, &generator) * scale.read();
        return dropout(tanh(h * count.read()), 0.25, &generator);
      };
      const Tensor y = checkpointed ? checkpoint(f, {in}) : f({in});
      const Tensor later = uniform({3}, 0, 1, {.dtype = f64, .generator = &generator});
      return List{y, grad(sum(y * y), in), grad(sum(y), scale.read()), later};
    };
    auto in_jit = jit([&](Tensor in) { return all(in); });
    List out;
    for (int call = 0; call < 3; ++call) {
      const List now = jitted ? in_jit(x) : all(x);
      out.insert(out.end(), now.begin(), now.end());
    }
    out.push_back(count.read());
    return out;
  };
  for (const bool jitted : {false, true}) {
    const List want = run(false, jitted), got = run(true, jitted);
    for (std::size_t k = 0; k < want.size(); ++k) expect_close(got[k], want[k], 1e-12);
    EXPECT_EQ(got.back().item<double>(), 3);
  }
}

TEST(Checkpoint, ACheckInsideIsStillMade) {
  const Tensor table = drawn({5}, f64, 0.7);
  Variable calls(Tensor(0.f));
  auto step = jit([&](Tensor index, Tensor x) {
    calls = calls.read() + 1;
    return grad(sum(checkpoint([&](const List& in) { return take(table, index, 0) * sin(in[0]); }, {x})), x);
  });
  const Tensor x = drawn({2}, f64, 0.7);
  expect_close(step(tensor({std::int64_t{0}, std::int64_t{4}}), x), take(table, tensor({std::int64_t{0}, std::int64_t{4}}), 0) * cos(x),
               1e-12);
  EXPECT_THROW(step(tensor({std::int64_t{0}, std::int64_t{5}}), x).to_host<double>(), Error);
  EXPECT_EQ(calls.read().item(), 1);
}

TEST(Checkpoint, OfAScanAndInAScan) {
  const Tensor xs = drawn({7, 3}, f64, 0.7), start = drawn({3}, f64, 0.7), w = drawn({3, 3}, f64, 0.7);
  const Functions loop = [&](const List& in) {
    const Scanned out = scan(
        [&](const List& c, const List& x) {
          const Tensor h = checkpoint([&](const List& v) { return tanh(matmul(expand_dims(v[0], 0), w) + v[1]); }, {c[0], x[0]});
          const Tensor flat = reshape(h, {3});
          return Scanned{{flat}, {flat * x[0]}};
        },
        {in[0]}, {in[1]});
    return List{out.carry[0], out.ys[0]};
  };
  expect_gradients_agree(loop, {start, xs}, [&](const List& in, const List&) { return List{in[0], in[1], w}; });
  expect_gradients_agree(loop, {start, xs}, [&](const List& in, const List& ys) { return List{in[0], ys[0], ys[1]}; });
}

TEST(Checkpoint, OtherThreadsNodesAreNotInside) {
  const Tensor x = drawn({8}, f64, 0.7), w = drawn({8}, f64, 0.7);
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> got(4);
  const auto gradient = [&](const Tensor& in) {
    Tensor y = in;
    for (int k = 0; k < 20; ++k) y = checkpoint([&](const List& v) { return sin(v[0]) * w; }, {y});
    return grad(sum(y), in).to_host<double>();
  };
  for (std::size_t t = 0; t < got.size(); ++t) threads.emplace_back([&, t] { got[t] = gradient(x + 0.0); });
  for (auto& thread : threads) thread.join();
  for (const auto& one : got) EXPECT_EQ(one, got[0]);
}

}  // namespace
}  // namespace tegula
