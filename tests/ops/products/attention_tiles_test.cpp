// Attention of many queries as a tile program: against the plain ops in f32, on the CPU and as generated for GPUs; and what is generated.

#include "tegula/ops/products/attention_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/ops/products/attention_op.h"
#include "tegula/simt/card.h"
#include "tegula/simt/codegen.h"
#include "tegula/tegula.h"
#include "tests/support/emulator.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula::attention_tiles {
namespace {

using test::drawn;

struct Problem {
  std::int64_t batch, heads, groups, queries, keys, width, features;
};
std::string text(const Problem& p) {
  std::string all;
  for (const std::int64_t n : {p.batch, p.heads, p.groups, p.queries, p.keys, p.width, p.features}) all += std::to_string(n) + " ";
  return all;
}

/// As a projection leaves them: (B, T, parts, H, D), a part of it with heads ahead.
Tensor of_projection(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width, DType dtype) {
  return permute(slice(drawn({batch, length, 2 * heads, width}, dtype), 2, {heads, 2 * heads}), {0, 2, 1, 3});
}
struct Inputs {
  Tensor q, k, v;
};
Inputs inputs_of(const Problem& p, DType dtype, bool dense) {
  if (dense)
    return {drawn({p.batch, p.heads, p.queries, p.width}, dtype), drawn({p.batch, p.groups, p.keys, p.width}, dtype),
            drawn({p.batch, p.groups, p.keys, p.features}, dtype)};
  return {of_projection(p.batch, p.heads, p.queries, p.width, dtype), of_projection(p.batch, p.groups, p.keys, p.width, dtype),
          of_projection(p.batch, p.groups, p.keys, p.features, dtype)};
}

/// What follows q, k and v: some rows see nothing, a mask and a bias are of all heads, or of all queries.
std::vector<Tensor> extras_of(const ops::AttentionForm& form, const Inputs& in) {
  const Shape &q = in.q.shape(), &k = in.k.shape(), scores{q[0], q[1], q[2], k[2]};
  std::vector<Tensor> extras;
  if (form.mask) extras.push_back(expand(drawn({q[0], 1, q[2], k[2]}, f32) > -0.3, scores) && iota(scores, 2) != 5);
  if (form.bias) extras.push_back(expand(drawn({1, q[1], 1, k[2]}, in.q.dtype()), scores));
  if (form.lengths) extras.push_back(iota({q[0]}, 0) * 40 + k[2] / 3);
  if (form.start) extras.push_back(iota({q[0]}, 0) * -20 + 13);
  return extras;
}
std::vector<Tensor> with(std::vector<Tensor> inputs, const std::vector<Tensor>& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}
std::vector<Tensor> widened(std::vector<Tensor> inputs) {
  for (Tensor& x : inputs)
    if (is_float(x.dtype())) x = cast(x, f32);
  return inputs;
}

/// Both results, beside those of the plain ops over the same numbers in f32.
void expect_like_the_plain_ops(const ops::AttentionForm& form, const Inputs& in, const std::string& what,
                               const ops::AttentionBlocks& blocks = {}) {
  const std::vector<Tensor> given = with({in.q, in.k, in.v}, extras_of(form, in));
  const std::vector<Tensor> found = ops::attention_tiles_nodes(form, given, blocks.keys, blocks.queries),
                            wanted = ops::plain_attention(form, widened(given));
  const double tolerance = in.q.dtype() == bf16 ? 1.6e-2 : 2e-3;
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_EQ(found[k].shape(), wanted[k].shape());
    const auto a = found[k].to_host<double>(), b = wanted[k].to_host<double>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isinf(b[i])) ASSERT_EQ(a[i], b[i]) << what << ", result " << k << ", element " << i;
      else
        ASSERT_NEAR(a[i], b[i], (k == 1 ? 1e-4 : tolerance) * std::max(1.0, std::abs(b[i])))
            << what << ", result " << k << ", element " << i;
    }
  }
}

const ops::AttentionForm kForms[] = {
    {.scale = 0.3}, {.causal = true, .scale = 0.2}, {.causal = true, .window = 37, .scale = 0.3}, {.window = 20, .scale = 0.3}};
const ops::AttentionForm kMoreForms[] = {
    {.scale = 0.3, .mask = true},
    {.causal = true, .scale = 0.2, .bias = true},
    {.scale = 0.3, .lengths = true},
    {.causal = true, .window = 50, .scale = 0.3, .mask = true, .bias = true, .lengths = true, .start = true}};
// Lengths that no block divides, fewer and more keys than queries, groups of heads, widths that differ.
const Problem kProblems[] = {{1, 1, 1, 64, 128, 64, 64},  {2, 2, 1, 70, 70, 64, 64},   {1, 2, 2, 200, 131, 16, 64},
                             {1, 1, 1, 1, 300, 64, 128},  {1, 4, 2, 130, 1, 128, 128}, {1, 1, 1, 75, 140, 128, 64},
                             {1, 1, 1, 90, 90, 256, 128}, {2, 1, 1, 70, 260, 32, 32}};

TEST(AttentionTiles, AreThePlainOps) {
  manual_seed(3);
  for (const Problem& p : kProblems)
    for (const DType dtype : {bf16, f16})
      for (const bool dense : {true, false})
        for (const ops::AttentionForm& form : kForms)
          expect_like_the_plain_ops(form, inputs_of(p, dtype, dense), text(p) + std::string(name(dtype)));
}
TEST(AttentionTiles, AreThePlainOpsWithMasksAndBiasesAndLengths) {
  manual_seed(7);
  for (const Problem& p : kProblems)
    for (const ops::AttentionForm& form : kMoreForms)
      expect_like_the_plain_ops(form, inputs_of(p, p.heads == 1 ? bf16 : f16, p.batch == 1), text(p) + "more");
}
/// What a mask hides from all queries may be anything.
TEST(AttentionTiles, TakeNothingOfRowsThatNobodySees) {
  manual_seed(8);
  const Inputs in = inputs_of({1, 2, 2, 70, 140, 64, 64}, bf16, true);
  const Shape scores{1, 2, 70, 140};
  const Tensor seen = iota(scores, 3) != 77, nan = full({1, 2, 140, 64}, std::nan(""), bf16), here = iota({1, 2, 140, 64}, 2) == 77;
  const Tensor k = where(here, nan, in.k), v = where(here, nan, in.v);
  const auto found = ops::attention_tiles_nodes({.scale = 0.3, .mask = true}, std::vector{in.q, k, v, seen})[0].to_host<double>();
  for (const double x : found) ASSERT_FALSE(std::isnan(x));
}

gpu::Specialisation facts_of(const tile::Program& program) {
  gpu::Specialisation facts{.facts = {}, .one_axis = true, .maps = true};
  for (const tile::Parameter& parameter : program.parameters) facts.facts.push_back(parameter.pointer ? 4 : gpu::kShort);
  return facts;
}

/// As cut and generated for a GPU of that architecture, its statements executed.
runtime::Device& device_of(int architecture, const std::function<void(const tile::Program&)>& see = {}) {
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [=](const tile::Program& program) {
    if (see) see(program);
    return gpu::emulated_kernel(program, {.architecture = architecture});
  };
  device.preference = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
  return device;
}

TEST(AttentionTiles, AreTheSameAsGeneratedForGpus) {
  manual_seed(4);
  for (const int architecture : {90, 80}) {
    const test::OnDevice here(device_of(architecture));
    for (const Problem& p : kProblems) {
      const bool dense = p.batch == 1;
      const DType dtype = p.heads == 1 ? bf16 : f16;
      for (const ops::AttentionForm& form : kForms)
        expect_like_the_plain_ops(form, inputs_of(p, dtype, dense), text(p) + std::to_string(architecture));
    }
    for (const Problem& p : {kProblems[1], kProblems[4], kProblems[7]})
      for (const ops::AttentionForm& form : kMoreForms)
        expect_like_the_plain_ops(form, inputs_of(p, bf16, true), text(p) + "more, " + std::to_string(architecture));
  }
}

/// Blocks of several groups of four warps, for which a warp copies, and which multiply in turn.
TEST(AttentionTiles, AreTheSameInLargerBlocksAsGeneratedForGpus) {
  manual_seed(4);
  int copied = 0;
  const test::OnDevice here(device_of(90, [&](const tile::Program& program) {
    copied += gpu::decisions_of(program, facts_of(program), 90).find("a warp copies, the others multiply in turn") != std::string::npos;
  }));
  for (const Problem& p : kProblems) {
    for (const std::int64_t queries : {128, 256}) {
      if (queries == 256 && p.width > 64) continue;
      const DType dtype = p.heads == 1 ? bf16 : f16;
      for (const ops::AttentionForm& form : kForms)
        expect_like_the_plain_ops(form, inputs_of(p, dtype, p.batch == 1), text(p) + std::to_string(queries), {0, queries});
    }
    if (std::max(p.width, p.features) <= 64)
      for (const ops::AttentionForm& form : kForms)
        expect_like_the_plain_ops(form, inputs_of(p, bf16, true), text(p) + "128 of each", {128, 128});
  }
  for (const Problem& p : kProblems)
    for (const ops::AttentionForm& form : kMoreForms) expect_like_the_plain_ops(form, inputs_of(p, bf16, true), text(p) + "more", {0, 128});
  EXPECT_GT(copied, 0);
}

/// The gradients, beside those of the plain ops. `of_scores`: theirs, too.
void expect_gradients_like_the_plain_ops(const ops::AttentionForm& form, const Inputs& in, const std::string& what, bool of_scores = false,
                                         const ops::AttentionBlocks& blocks = {}) {
  const DType dtype = in.q.dtype();
  const std::vector<Tensor> given = with({in.q, in.k, in.v}, extras_of(form, in)), results = ops::plain_attention(form, widened(given));
  const Tensor o = cast(results[0], dtype);
  std::vector<Tensor> rest{o, results[1], drawn(o.shape(), dtype)};
  if (form.sum_gradient) rest.push_back(drawn(results[1].shape(), f32));
  std::vector<Tensor> found = ops::attention_tiles_gradients(form, with(given, rest), blocks);
  if (!of_scores) found.pop_back();  // nobody may want those of the scores
  const std::vector<Tensor> wanted = ops::plain_attention_gradients(form, widened(with(given, rest)));
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].shape(), wanted[k].shape());
    const auto a = found[k].to_host<double>(), b = wanted[k].to_host<double>();
    double largest = 1;
    for (const double x : b) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], (dtype == bf16 ? 1.2e-2 : 1.5e-3) * largest) << what << ", gradient " << k << ", element " << i;
  }
}
TEST(AttentionTiles, HaveTheGradientsOfThePlainOpsWithMasksAndBiasesAndLengths) {
  manual_seed(9);
  for (const Problem& p : kProblems) {
    const Inputs in = inputs_of(p, p.heads == 1 ? bf16 : f16, p.batch == 1);
    for (const ops::AttentionForm& form : kMoreForms) expect_gradients_like_the_plain_ops(form, in, text(p) + "more", form.bias);
    for (const ops::AttentionForm& form : {kForms[2], kForms[3]}) expect_gradients_like_the_plain_ops(form, in, text(p) + "window");
    expect_gradients_like_the_plain_ops({.scale = 0.3, .sum_gradient = true}, in, text(p) + "of sums");
  }
}
TEST(AttentionTiles, HaveTheGradientsOfThePlainOps) {
  manual_seed(5);
  for (const Problem& p : kProblems)
    for (const DType dtype : {bf16, f16})
      for (const ops::AttentionForm& form : {kForms[0], kForms[1]})
        expect_gradients_like_the_plain_ops(form, inputs_of(p, dtype, p.batch == 1), text(p) + std::string(name(dtype)));
}
TEST(AttentionTiles, HaveTheSameGradientsAsGeneratedForGpus) {
  manual_seed(6);
  for (const int architecture : {90, 80}) {
    const test::OnDevice here(device_of(architecture));
    for (const Problem& p : {kProblems[0], kProblems[1], kProblems[2], kProblems[5]})
      for (const ops::AttentionForm& form : {kForms[0], kForms[1]})
        expect_gradients_like_the_plain_ops(form, inputs_of(p, bf16, p.batch == 1), text(p) + std::to_string(architecture));
    for (const ops::AttentionForm& form : kMoreForms)
      expect_gradients_like_the_plain_ops(form, inputs_of(kProblems[1], bf16, true), "more, " + std::to_string(architecture), form.bias);
  }
}

/// Blocks of two groups of four warps, which take turns at three and at four products.
TEST(AttentionTiles, HaveTheSameGradientsInLargerBlocksAsGeneratedForGpus) {
  manual_seed(6);
  std::set<std::string> in_turn;
  const test::OnDevice here(device_of(90, [&](const tile::Program& program) {
    const tile::Program one = program;
    if (gpu::decisions_of(one, facts_of(one), 90).find("the others multiply in turn") != std::string::npos) in_turn.insert(one.name);
  }));
  for (const Problem& p : {kProblems[0], kProblems[1], kProblems[2], kProblems[5]})
    for (const ops::AttentionForm& form : kForms)
      expect_gradients_like_the_plain_ops(form, inputs_of(p, bf16, p.batch == 1), text(p) + "128", false, {128, 128});
  for (const ops::AttentionForm& form : kMoreForms)
    expect_gradients_like_the_plain_ops(form, inputs_of(kProblems[1], bf16, true), "more, 128", form.bias, {128, 128});
  EXPECT_EQ(in_turn, (std::set<std::string>{"attention_tiles_of_keys", "attention_tiles_of_queries"}));
}

/// A program for rows that lie as a dense (B, H, T, D).
tile::Program program_of(std::int64_t width, std::int64_t keys = 0, std::int64_t queries = 0,
                         const ops::AttentionForm& form = {.causal = true, .scale = 0.1}) {
  std::vector<tile::Program> programs;
  const test::OnDevice here(device_of(90, [&](const tile::Program& program) {
    if (program.name == "attention_tiles") programs.push_back(program);
  }));
  const Inputs in = inputs_of({1, 2, 2, 64, 128, width, width}, bf16, true);
  eval(ops::attention_tiles_nodes(form, with({in.q, in.k, in.v}, extras_of(form, in)), keys, queries)[0]);
  return programs.at(0);
}
TEST(AttentionTiles, KeepScoresInRegistersAndFetchKeysAndValuesApart) {
  for (const std::int64_t width : {64, 128}) {
    const tile::Program program = program_of(width);
    const std::string text = gpu::generate(program, facts_of(program), 90).source,
                      decided = gpu::decisions_of(program, facts_of(program), 90);
    EXPECT_NE(text.find("multiply_bf16_" + std::to_string(width) + "_packed_right("), std::string::npos) << decided;
    EXPECT_NE(text.find("copy_box<"), std::string::npos) << decided;
    EXPECT_NE(text.find("Tiles come apart"), std::string::npos) << decided;
    EXPECT_EQ(decided.find("\nwritten "), std::string::npos) << decided;
  }
}

/// The warp that copies waits for free tiles, the others for full ones and for their turn; in the loop they meet nowhere else.
TEST(AttentionTiles, OfSeveralGroupsMeetInTheLoopOnlyForTheirTurns) {
  for (const std::int64_t width : {64, 128}) {
    for (const ops::AttentionForm& form : {kForms[1], kMoreForms[0], kMoreForms[2], kMoreForms[3]}) {
      const tile::Program program = program_of(width, 0, 128, form);
      const std::string text = gpu::generate(program, facts_of(program), 90).source;
      const std::size_t loop = text.find("in turn"), end = text.find("for the others", loop);
      ASSERT_NE(end, std::string::npos) << text;
      const std::string inside = text.substr(loop, text.find("\n    }\n", loop) - loop);
      EXPECT_EQ(inside.find("__syncthreads"), std::string::npos) << inside;
      EXPECT_EQ(inside.find("team_barrier"), std::string::npos) << inside;
      EXPECT_NE(inside.find("wait_at(2 + group, 256)"), std::string::npos) << inside;
    }
  }
}

TEST(AttentionTiles, SpillNothing) {
  if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  struct Kind {
    int architecture;
    std::int64_t width, keys, queries;
  };
  for (const auto& [architecture, width, keys, queries] : {Kind{80, 64, 64, 64},
                                                           {80, 128, 64, 64},
                                                           {90, 64, 0, 64},
                                                           {90, 128, 0, 64},
                                                           {90, 64, 0, 128},
                                                           {90, 64, 128, 128},
                                                           {90, 128, 0, 128}}) {
    {
      const tile::Program program = program_of(width, keys, queries);
      const gpu::Generated code = gpu::generate(program, facts_of(program), architecture);
      testing::internal::CaptureStderr();
      const auto used = gpu::figures(gpu::prelude() + code.source, architecture).at(code.name);
      const std::string what = "sm_" + std::to_string(architecture) + ", width " + std::to_string(width) + ", keys " +
                               std::to_string(keys) + ", queries " + std::to_string(queries) + ", registers " +
                               std::to_string(used.registers);
      EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << what;
      EXPECT_EQ(used.spill_stores, 0u) << what;
      EXPECT_EQ(used.stack_bytes, 0u) << what;
      RecordProperty("registers_" + std::to_string(architecture) + "_" + std::to_string(width) + "_" + std::to_string(keys) + "_" +
                         std::to_string(queries),
                     used.registers);
    }
  }
}

TEST(AttentionTiles, SpillNothingOfGradients) {
  if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  std::vector<tile::Program> programs;
  {
    const test::OnDevice here(device_of(90, [&](const tile::Program& program) { programs.push_back(program); }));
    const Inputs in = inputs_of({1, 2, 2, 64, 128, 64, 64}, bf16, true);
    const Tensor o = drawn({1, 64, 2, 64}, bf16), sums = drawn({1, 2, 64}, f32);
    for (const std::int64_t rows : {64, 128})
      for (const Tensor& one :
           ops::attention_tiles_gradients({.causal = true, .scale = 0.1}, std::vector{in.q, in.k, in.v, o, sums, o}, {rows, rows}))
        if (one.shape() != Shape{1, 2, 64, 128}) eval(one);
  }
  int seen = 0;
  for (const tile::Program& program : programs) {
    if (program.name != "attention_tiles_of_keys" && program.name != "attention_tiles_of_queries") continue;
    ++seen;
    const gpu::Generated code = gpu::generate(program, facts_of(program), 90);
    testing::internal::CaptureStderr();
    const auto used = gpu::figures(gpu::prelude() + code.source, 90).at(code.name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << program.name;
    EXPECT_EQ(used.spill_stores, 0u) << program.name;
  }
  EXPECT_GE(seen, 4);
}

TEST(AttentionTiles, StandForAttentionThatADeviceHasNoCallFor) {
  manual_seed(11);
  const auto both = [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = mask});
    const std::vector<Tensor> gradients = grad(sum(cast(y * y, f32)), {q, k, v});
    return std::vector<Tensor>{y, gradients[0], gradients[1], gradients[2]};
  };
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const DType dtype = precision == Precision::fp32 ? bf16 : f32;  // halves of the caller's, or of the precision
    const Shape shape{1, 2, 80, 32};
    const Tensor q = drawn(shape, dtype), k = drawn(shape, dtype), v = drawn(shape, dtype), mask = drawn({1, 1, 80, 80}) > -0.5;
    const std::vector<Tensor> wanted = both(cast(q, f32), cast(k, f32), cast(v, f32), mask);
    std::vector<std::vector<double>> numbers;
    for (const Tensor& one : wanted) numbers.push_back(one.to_host<double>());
    auto& device = test::QueuedDevice::create();
    std::set<std::string> names;
    device.make_kernel = [&](const tile::Program& program) {
      names.insert(program.name);
      return runtime::cpu().compile(program);
    };
    device.preference = gpu::tiles_for({.architecture = 90, .multiprocessors = 132});
    const test::OnDevice here(device);
    const PrecisionScope scope(precision);
    auto compiled = jit(both);
    const std::vector<Tensor> found = compiled(q, k, v, mask);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto a = found[i].to_host<double>();
      for (std::size_t e = 0; e < a.size(); ++e) ASSERT_NEAR(a[e], numbers[i][e], 0.06 * std::max(1.0, std::abs(numbers[i][e]))) << i;
    }
    for (const char* name : {"attention_tiles", "attention_tiles_of_keys", "attention_tiles_of_queries"})
      EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(AttentionTiles, StandForNothingWhereBlocksHaveLittleSharedMemory) {
  auto& device = test::QueuedDevice::create();
  std::set<std::string> names;
  device.make_kernel = [&](const tile::Program& program) {
    names.insert(program.name);
    return runtime::cpu().compile(program);
  };
  device.preference = gpu::tiles_for({.architecture = 75, .multiprocessors = 40});
  const test::OnDevice here(device);
  const Tensor q = drawn({1, 2, 80, 32}, f16), mask = drawn({1, 1, 80, 80}) > -0.5;
  auto compiled = jit([](const Tensor& x, const Tensor& seen) { return scaled_dot_product_attention(x, x, x, {.mask = seen}); });
  compiled(q, mask).to_host<double>();
  EXPECT_FALSE(names.contains("attention_tiles"));
}

/// What was measured on an H200 decides there, and nowhere else.
TEST(AttentionTiles, AreOf128QueriesWhereThatIsFasterOnACard) {
  using ops::AttentionBlocks;
  const auto blocks = [](int architecture, const ops::AttentionForm& form, std::int64_t length, std::int64_t width) {
    const Shape x{1, 2, length, width};
    return ops::attention_blocks(form, std::vector{x, x, x}, gpu::tiles_for({.architecture = architecture, .multiprocessors = 132}));
  };
  const ops::AttentionForm full, causal{.causal = true};
  for (const std::int64_t length : {4096, 16384}) {
    EXPECT_EQ(blocks(90, full, length, 128), (AttentionBlocks{128, 128}));
    EXPECT_EQ(blocks(90, causal, length, 128), (AttentionBlocks{128, 128}));
    EXPECT_EQ(blocks(90, causal, length, 64), (AttentionBlocks{128, 128}));
    EXPECT_EQ(blocks(90, full, length, 64), (AttentionBlocks{128, 128}));
    for (const ops::AttentionForm& form : kMoreForms)
      EXPECT_EQ(blocks(90, form, length, 128), (form.mask || form.bias ? AttentionBlocks{128, 64} : AttentionBlocks{128, 128}));
    EXPECT_EQ(blocks(90, {.causal = true, .window = 512}, length, 128), (AttentionBlocks{128, 128}));
    EXPECT_EQ(blocks(90, {.causal = true, .window = 512}, length, 64), (AttentionBlocks{64, 64}));
    EXPECT_EQ(blocks(90, causal, length, 256), (AttentionBlocks{64, 64}));
    EXPECT_EQ(blocks(90, causal, length, 32), (AttentionBlocks{64, 64}));
    for (const int architecture : {75, 80, 89}) {
      EXPECT_EQ(blocks(architecture, causal, length, 128), (AttentionBlocks{128, 64})) << architecture;
      EXPECT_EQ(blocks(architecture, causal, length, 64), (AttentionBlocks{64, 64})) << architecture;
    }
  }
  EXPECT_EQ(blocks(90, full, 1024, 128), (AttentionBlocks{128, 64}));
  EXPECT_EQ(blocks(90, causal, 1024, 64), (AttentionBlocks{64, 64}));
}

/// Whose numbers nobody reads.
class IdleKernel : public runtime::Kernel {
 public:
  void launch(std::span<const runtime::ArgumentSet>, const runtime::LaunchOptions&) const override {}
  std::string listing() const override { return ""; }
};

/// The device's own blocks are the first of those that are tried, and what stands for a call that the device does not have.
TEST(AttentionTiles, BeginWithTheBlocksOfTheDevice) {
  for (const int architecture : {90, 80}) {
    const tile::TilePreference tiles = gpu::tiles_for({.architecture = architecture, .multiprocessors = 132});
    const Shape x{1, 1, 4096, 64}, o{1, 4096, 1, 64}, sums{1, 1, 4096};
    const auto operand = [](const Shape& shape, DType dtype) { return KernelContext::Operand{shape, dtype, Layout::dense(shape).strides}; };
    const std::vector<KernelContext::Operand> inputs(3, operand(x, bf16)), outputs{operand(o, bf16), operand(sums, f32)};
    const std::vector<bool> wanted{true, true};
    std::vector<std::string> names;
    for (const TileWay& way : ops::attention_ways({.causal = true, .scale = 0.1}, false, {inputs, outputs, wanted}, tiles))
      names.push_back(way.text);
    ASSERT_EQ(names.size(), 4u);
    EXPECT_EQ(names[0], architecture == 90 ? "tiles of 128 keys and 128 queries" : "tiles of 64 keys");
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
              (std::set<std::string>{"tiles of 64 keys", "tiles of 128 keys", "tiles of 64 keys and 128 queries",
                                     "tiles of 128 keys and 128 queries"}));

    std::set<std::int64_t> rows;  // of the products
    auto& device = test::QueuedDevice::create();
    device.preference = tiles;
    device.make_kernel = [&](const tile::Program& program) {
      if (program.name == "attention_tiles")
        for (const tile::Instruction& one : program.instructions)
          if (one.word == tile::Word::Dot) rows.insert(one.type.shape[0]);
      return std::make_unique<IdleKernel>();
    };
    const test::OnDevice here(device);
    const Tensor q = drawn(x, bf16), k = drawn({1, 1, 4096, 64}, bf16);
    auto compiled = jit([](const Tensor& a, const Tensor& b) { return scaled_dot_product_attention(a, b, b, {.causal = true}); });
    eval(compiled(q, k));
    EXPECT_EQ(rows, (std::set<std::int64_t>{architecture == 90 ? 128 : 64}));
  }
}

TEST(AttentionTiles, SayWhatTheyDoNotDescribe) {
  const auto describes = [](const ops::AttentionForm& form, const Shape& shape, DType dtype) {
    return ops::describes_attention_tiles(form, std::vector{shape, shape, shape}, dtype);
  };
  EXPECT_TRUE(describes({}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({}, {1, 2, 70, 64}, f32));
  EXPECT_FALSE(describes({}, {1, 2, 70, 48}, bf16));
  EXPECT_FALSE(describes({.scale = -1}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({.dropout = 0.1}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({}, {1, 2, 0, 64}, bf16));
  EXPECT_TRUE(describes({}, {1, 2, 70, 256}, bf16));
  const Shape wide{1, 2, 70, 256}, x{1, 2, 70, 128};
  EXPECT_FALSE(ops::describes_attention_tiles_backward({}, std::vector{wide, wide, wide}, bf16));
  EXPECT_TRUE(ops::describes_attention_tiles_backward({.mask = true}, std::vector{x, x, x}, bf16));
}

}  // namespace
}  // namespace tegula::attention_tiles
