// Random kernels of the tile language (random_tiles.h) give the same numbers one word at a time, on the default device, by the CPU's executor in each of its
// forms, and as a GPU's code run by the machine; that code passes the verifier, as an early launch, too.
//
//   TEGULA_TILES=n TEGULA_SEED=s   n kernels from seed s on (default: 60 from 1)

#include "tests/simt/random_tiles.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/kernel.h"
#include "tegula/simt/verify/verify.h"
#include "tegula/tegula.h"
#include "tests/support/same_on_a_gpu.h"
#include "tests/support/setting.h"

namespace tegula::gpu {
namespace {

using drawn::Recipe;

constexpr std::int64_t kInstances = 3, kNumber = 37, kFill = 5;

Tensor input(DType dtype, std::uint64_t seed) {
  const HostArray out = HostArray::empty(dtype, {drawn::kInput});
  drawn::Draw draw(seed);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < drawn::kInput; ++i) {
      T& element = out.values<T>()[i];
      if constexpr (std::is_same_v<T, bool>) element = draw.chance(50);
      else if constexpr (std::is_integral_v<T>) element = static_cast<T>(draw.word() >> (draw.chance(40) ? 0 : draw.from(50, 63)));
      else element = from_double<T>(static_cast<double>(draw.from(-9, 9)));
    }
  });
  return from_array(out);
}

std::vector<tile::OutShape> results(const Recipe& recipe) {
  std::vector<tile::OutShape> all;
  for (const DType dtype : recipe.own) all.push_back({{kInstances * drawn::kOwn}, kFill, dtype});
  for (const DType dtype : recipe.shared) all.push_back({{drawn::kRegions * drawn::kRegion}, kFill, dtype});
  for (int k = 0; k < 2; ++k) all.push_back({{kInstances * drawn::kShown * drawn::kMost}, kFill, {}});
  return all;
}

/// The last recipe's kernel.
std::vector<Tensor> launched(const std::vector<Tensor>& x, bool at_once) {
  const auto which = static_cast<int>(drawn::recipes().size()) - 1;
  const std::vector<tile::OutShape> out = results(drawn::recipes().back());
  const auto launch = [&](const auto& kernel) {
    return kernel({kInstances}, x[0], x[1], x[2], x[3], out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7], kNumber, which);
  };
  return at_once ? launch(drawn::kernel.check()) : launch(drawn::kernel);
}

std::vector<std::byte> bytes_of(const HostArray& array) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(array.size()) * size_of(array.dtype));
  std::memcpy(bytes.data(), array.buffer->data(), bytes.size());
  return bytes;
}

std::string differences(const char* how, const std::vector<HostArray>& got, const std::vector<HostArray>& expected) {
  std::string text;
  for (std::size_t k = 0; k < got.size(); ++k) {
    int count = 0;
    host::compare_memory(got[k].dtype, bytes_of(got[k]), bytes_of(expected[k]), 0, [&](std::size_t at, double a, double b) {
      if (++count > 3) return;
      text += std::string(how) + ", result " + std::to_string(k) + ", element " + std::to_string(at) + ": " + std::to_string(a) +
              " instead of " + std::to_string(b) + "\n";
    });
  }
  return text;
}

/// Returns the faults of a kernel, or nothing.
std::string wrong_with(const Recipe& recipe, tile::Program* shown) {
  drawn::recipes().push_back(recipe);  // each has a number of its own: a program is recorded once for equal constants
  std::vector<Tensor> x;
  for (std::size_t k = 0; k < 4; ++k) x.push_back(input(recipe.inputs[k], recipe.seed * 7 + k));
  try {
    const std::vector<Tensor> lazy = launched(x, false);
    const tile::Program program = TileKernelOp::of(kernel_node(lazy).op())->program().program;
    if (shown) *shown = program;
    std::vector<TestArgument> arguments;
    for (const Tensor& one : x) {
      arguments.push_back(TestArgument::empty(one.dtype(), drawn::kInput));
      arguments.back().bytes = bytes_of(one.to_array());
    }
    for (const Tensor& one : lazy)
      arguments.push_back(TestArgument::filled(one.dtype(), static_cast<std::size_t>(one.numel()), [](std::size_t) { return kFill; }));
    arguments.push_back(TestArgument::scalar(kNumber));
    const host::RunOptions run{.grids = {{kInstances, 1, 1}}};

    std::vector<HostArray> plain, at_once;
    for (const Tensor& one : lazy) plain.push_back(one.to_array());
    for (const Tensor& one : launched(x, true)) at_once.push_back(one.to_array());
    if (std::string text = differences("as a launch", plain, at_once); !text.empty()) return text;
    if (const auto same = host::agrees(program, arguments, run); !same) return std::string("the CPU's executor: ") + same.message();
    for (const bool aligned : {true, false}) {
      const EmulationOptions how{.aligned = aligned, .pace = aligned ? Pace::Even : Pace::Uneven};
      if (const auto same = emulation_agrees(program, arguments, run, how); !same) return std::string("the machine: ") + same.message();
    }
    tile::Program early = program;
    early.early = true;
    for (tile::Parameter& parameter : early.parameters) parameter.unwritten = parameter.pointer && !parameter.writable;
    for (const tile::Program& one : {program, early}) {
      for (const std::uint8_t fact : {std::uint8_t{0}, std::uint8_t{4}}) {
        const auto kernel = make_kernel(one, {.facts = std::vector<std::uint8_t>(one.parameters.size(), fact)}, 90);
        if (const auto faults = simt::faults(kernel); !faults.empty()) return "the verifier: " + faults.front();
      }
    }
    if (const auto same = emulation_agrees(early, arguments, run); !same) return std::string("an early launch: ") + same.message();
  } catch (const std::exception& error) { return std::string("thrown: ") + error.what(); }
  return "";
}

/// Without what is not needed to fail.
Recipe shrunk(Recipe recipe) {
  for (bool fewer = true; fewer;) {
    fewer = false;
    const std::set<std::uint64_t> said = drawn::recipes().back().said;
    for (const std::uint64_t one : said) {
      if (recipe.without.contains(one)) continue;
      Recipe smaller = recipe;
      smaller.without.insert(one);
      if (wrong_with(smaller, nullptr).empty()) continue;
      recipe = std::move(smaller);
      fewer = true;
    }
  }
  return recipe;
}

TEST(RandomTiles, WaysOfRunningAgree) {
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_TILES", 60);
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    const Recipe recipe(seed);
    if (wrong_with(recipe, nullptr).empty()) continue;
    ++failures;
    const Recipe small = shrunk(recipe);
    tile::Program program;
    const std::string wrong = wrong_with(small, &program);
    ADD_FAILURE() << "seed " << seed << ": " << wrong.substr(0, 4000) << "\n" << tile::to_string(program);
  }
}

}  // namespace
}  // namespace tegula::gpu
