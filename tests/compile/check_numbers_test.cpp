// Checks are numbered within their program: its text, by which it is known to caches and files, is the same in every graph.

#include <gtest/gtest.h>

#include <string>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/scan.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace {

/// From the first line with the word to the end of the paragraph.
std::string paragraph_with(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "no " + word + " in " + text;
  const std::size_t begin = text.rfind("\n\n", at), end = text.find("\n\n", at);
  return text.substr(begin == std::string::npos ? 0 : begin + 2,
                     end == std::string::npos ? end : end - (begin == std::string::npos ? 0 : begin + 2));
}

TEST(CheckNumbers, DoNotDependOnTheRestOfTheGraph) {
  const Tensor logits = zeros({4, 6}), labels = tensor({1, 0, 3, 2});
  auto alone = jit([](const Tensor& x, const Tensor& t) { return cross_entropy(x, t); });
  auto behind = jit([](const Tensor& x, const Tensor& t) { return std::vector{cumsum(x * 2.0f, 1), cross_entropy(x, t)}; });
  alone(logits, labels), behind(logits, labels);
  const std::string check = default_device().number() == 0 ? "assert" : "report(";
  const std::string expected = paragraph_with(alone.print_kernels(), check);
  EXPECT_EQ(expected.find("no " + check), std::string::npos);
  EXPECT_EQ(paragraph_with(behind.print_kernels(), check), expected);
}

TEST(CheckNumbers, TellWhichOfSeveralChecksFailed) {
  const Tensor a = zeros({4, 6}), b = zeros({4, 7});
  const Tensor good = tensor({1, 0, 3, 2}), bad = tensor({1, 0, 9, 2});
  const int first = __LINE__ + 2, second = __LINE__ + 3;
  auto both = jit([](const Tensor& x, const Tensor& s, const Tensor& y, const Tensor& t) {
    const Tensor one = cross_entropy(x, s);
    const Tensor two = cross_entropy(y, t);
    return one + two;
  });
  both(a, good, b, good).item();
  const auto line_of = [&](const Tensor& s, const Tensor& t) {
    try {
      both(a, s, b, t).item();
    } catch (const Error& error) { return static_cast<int>(error.report().where.line()); }
    return 0;
  };
  EXPECT_EQ(line_of(bad, good), first);
  EXPECT_EQ(line_of(good, bad), second);
}

}  // namespace
}  // namespace tegula
