#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/support/library.h"

namespace tegula::test {

std::vector<std::int64_t> random_rows(Named named, std::int64_t count, std::int64_t length) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  const int last = static_cast<int>(length) - 1, one = pick(0, last);
  for (std::int64_t& row : rows) {
    switch (named) {
      case Named::Anything: row = pick(-2, last + 2); break;
      case Named::OneRow: row = one; break;
      case Named::FewRows: row = pick(0, 3) * last / 3; break;
      case Named::EachOnce: break;
    }
  }
  if (named != Named::EachOnce) return rows;
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  std::shuffle(rows.begin(), rows.end(), generator());
  return rows;
}

void expect_scatter_sum(runtime::Device& device, const runtime::Call& call, const runtime::ScatterSum& d,
                        const std::vector<std::int64_t>& rows, int threads) {
  Tensor index(i64, Layout::dense({d.count})), source(d.dtype, Layout::dense({d.outer, d.count, d.width}));
  const Layout result = Layout::dense({d.outer, d.length, d.width});
  Tensor sums(d.dtype, result), again(d.dtype, result), expected(f64, result), terms(f64, result);
  for (std::size_t k = 0; k < rows.size(); ++k) index.set({static_cast<std::int64_t>(k)}, static_cast<double>(rows[k]));
  source.randomize();
  expected.for_each([&](const Dims& at) { expected.set(at, 0), terms.set(at, 0); });
  source.for_each([&](const Dims& at) {
    if (is_integer(d.dtype)) source.set(at, pick(is_unsigned(d.dtype) ? 0 : -100, 100));
    Dims to = at;
    to[1] = rows[static_cast<std::size_t>(at[1])];
    if (to[1] < 0 || to[1] >= d.length) return;
    expected.set(to, expected(to) + source(at));
    terms.set(to, terms(to) + 1);
  });
  ASSERT_TRUE(run_guarded(device, call, {&index, &source, &sums}, threads)) << call.describe();
  ASSERT_TRUE(run_guarded(device, call, {&index, &source, &again}, 1)) << call.describe();
  EXPECT_TRUE(sums.untouched_outside()) << call.describe();
  EXPECT_EQ(std::memcmp(sums.storage(), again.storage(), sums.storage_bytes()), 0) << call.describe();
  int wrong = 0;
  sums.for_each([&](const Dims& at) {
    const double stored = visit(d.dtype, [&](auto zero) { return as_double(from_double<decltype(zero)>(expected(at))); });
    const double allowed = is_float(d.dtype) ? tolerance(d.dtype, terms(at)) : 0;
    wrong += !(std::abs(sums(at) - stored) <= allowed);
  });
  EXPECT_EQ(wrong, 0) << call.describe() << " " << name(d.dtype) << " outer " << d.outer;
}

}  // namespace tegula::test
