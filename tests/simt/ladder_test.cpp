// Kernels on the ladder of sizes give what exact ones give: around every rung, for one element and none, in every dtype. They are those of an H200,
// run by the machine (tegula/simt/machine), and compared with the CPU's exact ones.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tegula/compile/jit.h"
#include "tegula/ops/case.h"
#include "tegula/tegula.h"
#include "tests/support/emulated_queue.h"

namespace tegula {
namespace {

struct Function {
  std::string name;
  std::function<Tensor(Tensor)> of;  // x (5, n)
  bool integers = true, floats = true;
  std::int64_t least = 0;  // n
};

std::vector<Function> functions() {
  std::vector<Function> all;
  const auto add = [&](std::string name, std::function<Tensor(Tensor)> of) -> Function& {
    all.push_back({std::move(name), std::move(of)});
    return all.back();
  };
  const auto floats = [](Function& f) -> Function& { return f.integers = false, f; };
  add("sum of rows", [](Tensor x) { return sum(x, 1); });
  add("sum of columns", [](Tensor x) { return sum(x, 0); });
  add("sum of columns of the transposed", [](Tensor x) { return sum(transpose(x, 0, 1), 0); });
  add("sum", [](Tensor x) { return sum(x); });
  add("maximum of rows", [](Tensor x) { return max(x, 1); }).least = 1;
  add("sum of rows beside x", [](Tensor x) { return x - sum(x, 1, Keep::Yes); });
  add("transposed copy", [](Tensor x) { return transpose(x, 0, 1) + 1; });
  add("outer", [](Tensor x) { return expand_dims(select(x, 0, 0), 0) * expand_dims(select(x, 0, 1), 1); });
  add("triangle", [](Tensor x) { return where(iota({5, x.shape()[1]}, 1) > iota({5, x.shape()[1]}, 0), x, 0); });
  add("join", [](Tensor x) { return concat({x, flip(x, 1), x}, 1); });
  add("pad", [](Tensor x) { return pad(x, {{1, 2}, {3, 0}}); });
  add("argmax", [](Tensor x) { return argmax(x, 1); }).least = 1;
  add("running sum", [](Tensor x) { return cumsum(x, 1); });
  add("running sum of columns", [](Tensor x) { return cumsum(x, 0); });
  add("sorted rows", [](Tensor x) { return sort(x, 1).values; });
  add("order of rows", [](Tensor x) { return argsort(x, 1, Order::Descending); });
  add("taken", [](Tensor x) { return take(x, arange(x.shape()[1]) % 3, 0); });
  floats(add("softmax", [](Tensor x) { return softmax(x, 1); }));
  floats(add("softmax of columns", [](Tensor x) { return softmax(x, 0); }));
  floats(add("layer norm", [](Tensor x) { return layer_norm(x, {x.shape()[1]}); })).least = 1;
  floats(add("layer norm of five", [](Tensor x) { return layer_norm(transpose(x, 0, 1), {5}); }));
  floats(add("mean and variance", [](Tensor x) { return var(x, 1) + mean(x, 1); })).least = 2;
  floats(add("gelu of a product", [](Tensor x) { return gelu(matmul(transpose(x, 0, 1), x)); }));
  return all;
}

Tensor numbers(std::int64_t n, DType dtype) {
  HostArray array = HostArray::empty(f32, {5, n});
  for (std::int64_t i = 0; i < 5 * n; ++i)
    array.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 13 % 5) - (i % 3 == 0 ? 1 : 0);
  Tensor x = from_array(array);
  if (is_unsigned(dtype)) x = abs(x);
  return dtype == boolean ? x > 0 : cast(x, dtype);
}

std::vector<double> wide(const Tensor& y) {
  const HostArray array = cast(y, f64).to_array();
  return {array.values<double>().begin(), array.values<double>().end()};
}

class OnLadder : public testing::TestWithParam<DType> {
 protected:
  OnLadder() : before_(default_device()) {}
  ~OnLadder() override { set_default_device(before_); }
  static runtime::Device& emulated() {
    static runtime::Device& device = test::EmulatedQueue::create();
    return device;
  }
  runtime::Device& before_;
};

TEST_P(OnLadder, GivesWhatExactKernelsGive) {
  const DType dtype = GetParam();
  const double tolerance = dtype == f64 ? 1e-12 : dtype == f32 ? 1e-5 : dtype == f16 ? 4e-3 : dtype == bf16 ? 3e-2 : 0;
  for (const Function& function : functions()) {
    if (is_float(dtype) ? !function.floats : !function.integers) continue;
    if (dtype == boolean &&
        (function.name.starts_with("running") || function.name.find("sum of rows beside") == 0 || function.name == "outer"))
      continue;
    set_default_device(emulated());
    auto f = jit(function.of, {.signatures = 100});
    for (const std::int64_t n : {40, 72, 1, 0, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 257}) {
      if (n < function.least) continue;
      set_default_device(before_);
      const Tensor x = numbers(n, dtype);
      eval(x);
      const std::vector<double> expected = wide(function.of(x));
      set_default_device(emulated());
      const std::vector<double> got = wide(f(numbers(n, dtype)));
      ASSERT_EQ(got.size(), expected.size()) << function.name << " n = " << n;
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
        ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << function.name << " n = " << n << " at " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, OnLadder, testing::ValuesIn(kComputed), [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace tegula
