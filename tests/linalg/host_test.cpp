// Linear algebra on devices that have no such routines: the host computes it in their queue.

#include "tests/linalg/support.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using test::apart;
using test::draw;
using test::identity;

class WithoutRoutines final : public test::QueuedDevice {
 public:
  static WithoutRoutines& device() {
    static auto& one = *new WithoutRoutines;  // see QueuedDevice::create
    return one;
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    if (std::holds_alternative<runtime::MatrixRoutine>(d)) return {};
    return QueuedDevice::candidates(d);
  }
};

class OnTheHost : public ::testing::Test {
 protected:
  test::OnDevice here_{WithoutRoutines::device()};
};

TEST_F(OnTheHost, EveryRoutineComputesTheSame) {
  const Tensor a = draw({3, 6, 6}) + 4.0 * identity(6), b = draw({3, 6, 2});
  const auto [p, l, u] = lu(a);
  EXPECT_LT(apart(matmul(p, matmul(l, u)), a), 1e-13);
  EXPECT_LT(apart(matmul(a, solve(a, b)), b), 1e-12);
  const auto [q, r] = qr(a);
  EXPECT_LT(apart(matmul(q, r), a), 1e-13);
  const auto [left, s, right] = svd(a);
  EXPECT_LT(apart(matmul(left * unsqueeze(s, -2), transpose(right)), a), 1e-12);
  EXPECT_LT(apart(svdvals(a), s), 1e-13);
  const auto [w, v] = eigh(a + transpose(a));
  EXPECT_LT(apart(matmul(a + transpose(a), v), v * unsqueeze(w, -2)), 1e-12);
  EXPECT_LT(apart(sum(select(eigvals(a), -1, 0), -1), trace(a)), 1e-12);
}

TEST_F(OnTheHost, PlansSayWhoComputes) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return solve(a, b); });
  const Tensor a = draw({8, 8}) + 4.0 * identity(8), b = draw({8, 2});
  for (int call = 0; call < 3; ++call) EXPECT_LT(apart(matmul(a, f(a, b)), b), 1e-12);
  EXPECT_NE(f.print_plan().find(", on the host"), std::string::npos) << f.print_plan();
  EXPECT_NE(f.print_plan().find("LU f64 8x8, by our own blocks"), std::string::npos) << f.print_plan();
}

TEST_F(OnTheHost, SingularMatricesAreErrorsThere) {
  auto f = jit([](const Tensor& a) { return sum(inverse(a)); });
  EXPECT_HAS_MESSAGE(f(stack({identity(2), zeros({2, 2}, f64)})).item<double>(), "inverse: got a singular matrix, number 1 of the batch");
  EXPECT_EQ(f(stack({identity(2), identity(2)})).item<double>(), 4);
}

}  // namespace
}  // namespace tegula
