// Grouped sums as tile programs: those of the CPU's call, whose order of additions is the same, on the interpreter of tile programs and as generated for GPUs.

#include "tegula/ops/sparse/grouped_op.h"
#include "tegula/simt/card.h"
#include "tests/linalg/support.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

class WithoutGroupedSums final : public test::QueuedDevice {
 public:
  static WithoutGroupedSums& create() { return *new WithoutGroupedSums; }  // never destroyed, as QueuedDevice::create says
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    return std::holds_alternative<runtime::GroupedSum>(d) ? std::vector<runtime::Candidate>() : QueuedDevice::candidates(d);
  }
};

struct Problem {
  std::int64_t count, rows, length, width;  // lines, of so many; sums, of so many columns
  bool weighted = false;
  DType dtype = f32;
};

/// Groups of none to three lines, and the rest in the last one; some numbers of lines are outside.
std::vector<double> sums_of(const Problem& p) {
  std::vector<std::int64_t> starts{0}, lines;
  for (std::int64_t row = 0; row < p.length; ++row)
    starts.push_back(row + 1 == p.length ? p.count : std::min(p.count, starts.back() + row % 4));
  for (std::int64_t k = 0; k < p.count; ++k) lines.push_back((7 * k + 3) % (p.rows + 2) - 1);
  std::vector<double> source, weights;
  for (std::int64_t i = 0; i < p.rows * p.width; ++i)
    source.push_back(static_cast<double>((i * 37) % 101 - 40) / (is_float(p.dtype) ? 7 : 1));
  for (std::int64_t k = 0; k < p.count; ++k) weights.push_back(static_cast<double>(k % 5 - 2));
  auto sums = jit([&](const Tensor& starts, const Tensor& lines, const Tensor& x, const Tensor& w) {
    return ops::grouped_sum({.here = {starts, lines, {}}}, x, p.weighted ? w : Tensor(), Line::current());
  });
  return sums(tensor(starts), tensor(lines, {p.count}), cast(tensor(source, {p.rows, p.width}), p.dtype),
              cast(tensor(weights, {p.count}), p.dtype))
      .to_host<double>();
}

void expect_the_cpus(WithoutGroupedSums& device, const std::string& where) {
  for (const Problem& p : std::initializer_list<Problem>{{90, 20, 30, 8},
                                                         {40, 9, 5, 3, true},
                                                         {50, 20, 40, 33, true, f64},
                                                         {50, 7, 3, 300, true, bf16},
                                                         {70, 20, 40, 64, false, f16},
                                                         {12, 6, 7, 2, false, i64},
                                                         {30, 6, 7, 4, true, i8},
                                                         {0, 3, 4, 2},
                                                         {5, 3, 1, 1, true}}) {
    const std::vector<double> wanted = sums_of(p);
    const test::OnDevice here(device);
    const std::vector<double> found = sums_of(p);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], wanted[i], is_float(p.dtype) && p.weighted ? 1e-6 * std::abs(wanted[i]) : 0)
          << where << " " << p.count << " lines of " << p.width << " " << name(p.dtype) << ", sum " << i;
  }
}

TEST(GroupedTiles, AddTheLinesOfEachRow) {
  WithoutGroupedSums& device = WithoutGroupedSums::create();
  int kernels = 0;
  device.make_kernel = [&](const tile::Program& program) {
    kernels += program.name == "grouped_sum";
    return runtime::cpu().compile(program);
  };
  expect_the_cpus(device, "interpreted");
  EXPECT_GE(kernels, 7);
}

TEST(GroupedTiles, AreTheSameAsGeneratedForGpus) {
  for (const int architecture : {90, 75}) {
    WithoutGroupedSums& device = WithoutGroupedSums::create();
    device.make_kernel = [=](const tile::Program& program) { return gpu::emulated_kernel(program, {.architecture = architecture}); };
    device.preference = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
    expect_the_cpus(device, std::to_string(architecture));
  }
}

}  // namespace
}  // namespace tegula
