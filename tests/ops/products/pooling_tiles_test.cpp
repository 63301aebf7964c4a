// Pooling as tile programs: maxima bit for bit the CPU's, on the CPU's interpreter of tile programs and as generated for GPUs.

#include "tegula/ops/products/pooling_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "tegula/simt/card.h"
#include "tegula/simt/codegen.h"
#include "tegula/tegula.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;

/// A device without a call for pooling, where convolutions want their images channels-last or not.
class WithoutPooling final : public test::QueuedDevice {
 public:
  static WithoutPooling& create() { return *new WithoutPooling; }  // never destroyed, as QueuedDevice::create says
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    if (std::holds_alternative<runtime::Pooling>(d)) return {};
    std::vector<runtime::Candidate> out = QueuedDevice::candidates(d);
    for (runtime::Candidate& way : out) {
      auto* const convolution = std::get_if<runtime::Convolution>(&way.description);
      if (!convolution) continue;
      for (runtime::Operand* const one : {&convolution->input, &convolution->output}) {
        const Shape shape = one->layout.shape;
        one->layout = channels_last ? Layout::channels_last(shape) : Layout::dense(shape);
      }
    }
    return out;
  }
  bool channels_last = false;
};

struct Problem {
  Shape x;
  Dims window;
  PerAxis stride;
  Padding padding = 0;
  PerAxis dilation = 1;
};
std::string text(const Problem& p) { return to_string(p.x) + " by " + to_string(p.window); }

std::vector<Problem> problems() {
  return {{{2, 3, 9}, {3}, 2, 1},
          {{2, 8, 7, 9}, {3, 3}, 2, 1},
          {{2, 8, 6, 8}, {2, 2}, 2},
          {{1, 5, 8, 8}, {3, 3}, 1, {2, 1}, 2},
          {{2, 4, 9, 7}, {3, 2}, {1, 3}, 1, {2, 1}},
          {{1, 3, 11, 13}, {4, 5}, {3, 2}, 2},  // blocks of six
          {{1, 2, 12, 10}, {9, 9}, 1, 4},  // more taps than are written out
          {{1, 2, 20, 18}, {17, 16}, {1, 2}},  // too many for a byte
          {{1, 1, 5}, {2}, 2, 0, 4},  // one element
          {{1, 2, 5, 6, 4}, {2, 3, 2}, {2, 1, 2}, {1, 1, 0}}};
}

PerAxis per_axis(const Dims& window) {
  if (window.rank() == 1) return window[0];
  return window.rank() == 2 ? PerAxis{window[0], window[1]} : PerAxis{window[0], window[1], window[2]};
}

enum class Kind : std::uint8_t { Max, Mean, MeanOfInside };
Tensor pooled(const Tensor& x, const Problem& p, Kind kind) {
  const PerAxis window = per_axis(p.window);
  const bool counts = kind == Kind::Mean;
  const MaxPoolOptions most{.stride = p.stride, .padding = p.padding, .dilation = p.dilation};
  const AveragePoolOptions mean{.stride = p.stride, .padding = p.padding, .dilation = p.dilation, .count_include_pad = counts};
  switch (p.window.rank()) {
    case 1: return kind == Kind::Max ? max_pool1d(x, window, most) : avg_pool1d(x, window, mean);
    case 2: return kind == Kind::Max ? max_pool2d(x, window, most) : avg_pool2d(x, window, mean);
    default: return kind == Kind::Max ? max_pool3d(x, window, most) : avg_pool3d(x, window, mean);
  }
}

/// The result and its gradient; x has ties, and a NaN where that is asked for.
std::vector<Tensor> both(const Tensor& x, const Tensor& dy, const Problem& p, Kind kind) {
  auto compiled = jit([&](const Tensor& a, const Tensor& g) {
    const Tensor y = pooled(a, p, kind);
    return std::vector<Tensor>{y, vjp({y}, {g}, {a})[0]};
  });
  return compiled(x, dy);
}
/// `unit`: how far sums of quotients may be apart.
void expect_near(const Tensor& found, const Tensor& wanted, double unit, const std::string& what) {
  const auto a = found.to_host<double>(), b = wanted.to_host<double>();
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) {
      ASSERT_TRUE(std::isnan(a[i])) << what << ", element " << i;
    } else if (a[i] != b[i]) {  // infinities are equal
      ASSERT_NEAR(a[i], b[i], unit * std::max(std::abs(b[i]), 1.0)) << what << ", element " << i;
    }
  }
}

void expect_like_the_cpu(WithoutPooling& device, const std::vector<Problem>& all, const std::vector<DType>& dtypes,
                         const std::string& where) {
  for (const Problem& p : all) {
    for (const DType dtype : dtypes) {
      for (const Kind kind : {Kind::Max, Kind::Mean, Kind::MeanOfInside}) {
        const double unit = kind == Kind::Max ? 0 : dtype == bf16 ? 8e-3 : dtype == f16 ? 1e-3 : dtype == f32 ? 1e-6 : 1e-14;
        std::vector<double> numbers = floor(drawn(p.x, f32) * 4).to_host<double>();  // sums of them are exact
        if (kind == Kind::Max) numbers[numbers.size() / 2] = std::numeric_limits<double>::quiet_NaN();
        const Tensor x = cast(tensor(numbers, p.x), dtype), y = pooled(x, p, kind), dy = cast(floor(drawn(y.shape(), f32) * 4), dtype);
        const std::vector<Tensor> wanted = both(x, dy, p, kind);
        const std::vector<double> given_x = x.to_host<double>(), given_dy = dy.to_host<double>();
        for (const bool channels_last : {false, true}) {
          device.channels_last = channels_last;
          const test::OnDevice here(device);
          const auto found = both(cast(tensor(given_x, p.x), dtype), cast(tensor(given_dy, y.shape()), dtype), p, kind);
          const std::string what = where + " " + text(p) + " " + std::string(name(dtype)) + (channels_last ? " channels last" : "");
          expect_near(found[0], wanted[0], unit, what);
          expect_near(found[1], wanted[1], unit, what + " gradient");
        }
      }
    }
  }
}

TEST(PoolingTiles, AreTheCpus) {
  manual_seed(1);
  WithoutPooling& device = WithoutPooling::create();
  std::set<std::string> names;
  device.make_kernel = [&](const tile::Program& program) {
    names.insert(program.name);
    return runtime::cpu().compile(program);
  };
  expect_like_the_cpu(device, problems(), {f32, f64, bf16, f16}, "interpreted");
  for (const char* name : {"max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward"}) EXPECT_TRUE(names.contains(name)) << name;
}
// Results that are not seen to go to different places are written one by one: 150 times as long on a card.
TEST(PoolingTiles, StoreSideBySide) {
  manual_seed(3);
  for (const bool channels_last : {false, true}) {
    WithoutPooling& device = WithoutPooling::create();
    device.channels_last = channels_last;
    int seen = 0;
    device.make_kernel = [&](const tile::Program& program) {
      if (program.name.find("_pool") != std::string::npos) {
        gpu::Specialisation facts{.facts = {}};
        for (const tile::Parameter& parameter : program.parameters) facts.facts.push_back(parameter.pointer ? 4 : gpu::kShort);
        EXPECT_EQ(gpu::generate(program, facts, 90).source.find("write_in_order"), std::string::npos) << program.name;
        ++seen;
      }
      return runtime::cpu().compile(program);
    };
    const test::OnDevice here(device);
    for (const Kind kind : {Kind::Max, Kind::Mean}) {
      const Problem p{{2, 8, 14, 16}, {3, 3}, 2, 1};
      const Tensor x = drawn(p.x, bf16);
      both(x, drawn({2, 8, 7, 8}, bf16), p, kind)[1].to_host<double>();
    }
    EXPECT_EQ(seen, 4);
  }
}
TEST(PoolingTiles, AreTheSameAsGeneratedForGpus) {
  manual_seed(2);
  const std::vector<Problem> all = problems();
  for (const int architecture : {90, 75}) {
    WithoutPooling& device = WithoutPooling::create();
    device.make_kernel = [=](const tile::Program& program) { return gpu::emulated_kernel(program, {.architecture = architecture}); };
    device.preference = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
    expect_like_the_cpu(device, architecture == 90 ? std::vector{all[1], all[3], all[5], all[6], all[8]} : std::vector{all[0], all[2]},
                        {bf16}, std::to_string(architecture));
  }
}

}  // namespace
}  // namespace tegula
