// Kernels of well-known work, as they are generated for an H200: tests/golden/<name>.cu. A change of the generator shows as a difference;
// TEGULA_UPDATE_GOLDEN=1 writes them anew. With NVRTC at hand every one of them must also become a cubin.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/graph/variable.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"
#include "tests/support/emulator.h"
#include "tests/support/golden.h"
#include "tests/support/op_check.h"
#include "tests/support/tile_shape_kernels.h"

namespace tegula::gpu {
namespace {

class Nothing final : public runtime::Kernel {
 public:
  void launch(std::span<const runtime::ArgumentSet>, const runtime::LaunchOptions&) const override {}
  std::string listing() const override { return ""; }
};

/// The programs of `work`. Values that it reads are made before.
std::vector<tile::Program> programs_of(const std::function<void()>& work) {
  static std::vector<tile::Program>* seen = nullptr;
  static const auto device = device_with([](const tile::Program& program) -> std::unique_ptr<runtime::Kernel> {
    if (seen) seen->push_back(program);
    return std::make_unique<Nothing>();
  });
  std::vector<tile::Program> programs;
  runtime::Device& before = default_device();
  set_default_device(*device);
  seen = &programs;
  work();
  seen = nullptr;
  set_default_device(before);
  return programs;
}

Tensor leaf(const Shape& shape, DType dtype = f32) {
  return leaf_of(std::vector<double>(static_cast<std::size_t>(numel(shape)), 1.0), shape, dtype);
}

/// Aligned pointers, sizes that are multiples of 8.
std::vector<Generated> generated_of(const std::vector<tile::Program>& programs, bool many_sets) {
  std::vector<Generated> out;
  for (const tile::Program& program : programs) {
    Specialisation facts{.facts = {}, .many_sets = many_sets, .one_axis = true};
    for (const tile::Parameter& parameter : program.parameters)
      facts.facts.push_back(parameter.pointer ? 4 : is_integer(parameter.dtype) ? 3 | kShort : 0);
    out.push_back(generate(program, facts, 90));
  }
  return out;
}

struct Work {
  std::string name;
  std::function<void()> run;
  bool many_sets = false;
};

std::vector<Work> works() {
  return {
      {"softmax", [] { eval(softmax(leaf({256, 1024}))); }},
      {"softmax_long_rows", [] { eval(softmax(leaf({2, 262144}))); }},
      {"softmax_bf16", [] { eval(softmax(leaf({64, 8192}, bf16))); }},
      {"layer_norm_bf16_staged",
       [] { eval(layer_norm(leaf({64, 65536}, bf16), {65536}, {.weight = leaf({65536}, bf16), .bias = leaf({65536}, bf16)})); }},
      {"gelu_bf16", [] { eval(gelu(leaf({1024, 1024}, bf16))); }},
      {"layer_norm", [] { eval(layer_norm(leaf({256, 768}), {768})); }},
      {"layer_norm_backward",
       [] {
         Tensor x = leaf({256, 768});
         eval(grad(sum(square(layer_norm(x, {768}))), x));
       }},
      {"rms_norm_bf16_gradients",
       [] {
         Tensor x = leaf({2048, 768}, bf16), w = leaf({768}, bf16);
         auto d = vjp({rms_norm(x, {768}, {.weight = w})}, {leaf({2048, 768}, bf16)}, {x, w});
         eval(d[0], d[1]);
       }},
      {"cross_entropy", [] { eval(cross_entropy(leaf({256, 1000}), leaf({256}, i64))); }},
      {"cross_entropy_bf16_both",
       [] {
         Tensor x = leaf({64, 32768}, bf16), loss = cross_entropy(cast(x, f32), leaf({64}, i64));
         eval(loss, grad(loss, x));
       }},
      {"column_sums", [] { eval(sum(leaf({65536, 512}), 0)); }},
      {"all_sums", [] { eval(sum(leaf({1024, 1024}) * 3.0)); }},
      {"embedding", [] { eval(embedding(leaf({128}, i64), leaf({1000, 768}))); }},
      {"dropout", [] { eval(dropout(leaf({1024, 1024}), 0.1)); }},
      {"scan", [] { eval(cumsum(leaf({64, 1000}), 1)); }},
      {"transposed_copy", [] { eval(transpose(leaf({512, 512})) + 1.0); }},
      {"tile_assembly", [] { eval(moving::by_assembly({1}, leaf({8}), tile::out({8}))[0]); }},
      {"tile_print", [] { eval(moving::printed({2}, leaf({40}), tile::out({80}))[0]); }},
      {"adamw",
       [] {
         Variable a(leaf({512, 512})), b(leaf({512}));
         optim::AdamW optimizer({{"a", a.cell()}, {"b", b.cell()}});
         optimizer.step({leaf({512, 512}), leaf({512})});
         eval(Tensor(a), Tensor(b));
       },
       true},
  };
}

TEST(GoldenKernels, AreWhatTheyWereAndCompile) {
  std::string why;
  const bool compiles = nvrtc_available(&why);
  for (const Work& work : works()) {
    SCOPED_TRACE(work.name);
    std::string text;
    for (const Generated& code : generated_of(programs_of(work.run), work.many_sets)) { text += test::with_figures(code); }
    const std::string unit = with_prelude(text);
    text = std::regex_replace(text, std::regex("// golden_test.cpp:[0-9]+"), "// the user's line");
    text = std::regex_replace(text, std::regex("tile_shape_kernels.h:[0-9]+"), "the user's line");
    EXPECT_TRUE(test::is_golden(work.name, text));
    if (!compiles) continue;
    for (const int architecture : {75, 80, 90}) {
      if (architecture < 90 && text.find("__cluster_dims__") != std::string::npos) continue;
      EXPECT_GT(compile_cubin(unit, architecture).size(), 1000u);
    }
    for (const auto& [name, figure] : figures(unit, 90)) EXPECT_EQ(figure.spill_stores, 0u) << name;
  }
  if (!compiles) GTEST_SKIP() << why;
}

/// The folder in which kernels are kept during a test.
class Kept {
 public:
  explicit Kept(const std::string& name) : path(std::filesystem::current_path() / name) {
    std::filesystem::remove_all(path);
    if (const char* value = getenv("TEGULA_CACHE_DIR")) before = value;
    setenv("TEGULA_CACHE_DIR", path.c_str(), 1);
  }
  ~Kept() {
    before ? setenv("TEGULA_CACHE_DIR", before->c_str(), 1) : unsetenv("TEGULA_CACHE_DIR");
    std::filesystem::remove_all(path);
  }
  const std::filesystem::path path;
  std::optional<std::string> before;
};

TEST(Nvrtc, KeepsCubinsOnDiskAndSurvivesDamage) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << why;
  const Kept kept("tegula_nvrtc_test");
  const std::string source = "extern \"C\" __global__ void nothing() {}\n";
  const CompileCounters start = compile_counters();
  const auto first = compile_cubin(source, 90);
  EXPECT_EQ(compile_cubin(source, 90), first);
  EXPECT_EQ(compile_counters().from_disk, start.from_disk + 1);
  for (const auto& entry : std::filesystem::directory_iterator(kept.path)) std::filesystem::resize_file(entry.path(), 100);
  EXPECT_EQ(compile_cubin(source, 90), first);
  EXPECT_EQ(compile_cubin(source, 90), first);
  EXPECT_EQ(compile_counters().compiled, start.compiled + 2);
  EXPECT_THROW(compile_cubin("this is no program", 90), tegula::Error);
  EXPECT_EQ(figures(source, 90).count("nothing"), 1u);
  EXPECT_NE(compile_ptx(source, 90).find(".entry nothing"), std::string::npos);
}

TEST(Nvrtc, AProcessThatEndsWaitsForTheCompiler) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << why;
  const Kept kept("tegula_nvrtc_end_test");
  const auto end_early = [] {
    static std::vector<std::shared_future<std::vector<char>>> begun;
    // Runs after what is registered later: by then every kernel is compiled or given up.
    std::atexit([] {
      for (const auto& cubin : begun) {
        if (cubin.wait_for(std::chrono::seconds(0)) != std::future_status::ready) std::_Exit(4);
      }
    });
    for (int i = 0; i < 40; ++i) {
      begun.push_back(compile_cubin_later("extern \"C\" __global__ void kernel" + std::to_string(i) + "() {}\n", 90));
    }
    std::exit(3);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_early(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace tegula::gpu
