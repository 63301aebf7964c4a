// Attention of many queries as a tile program: against the plain ops in f32, on the CPU and as generated for GPUs; and what is generated.

#include "tegula/ops/products/attention_tiles.h"

#include <gtest/gtest.h>

#include <cmath>
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

/// Both results, beside those of the plain ops over the same numbers in f32.
void expect_like_the_plain_ops(const ops::AttentionForm& form, const Inputs& in, const std::string& what) {
  const std::vector<Tensor> found = ops::attention_tiles_nodes(form, std::vector{in.q, in.k, in.v}),
                            wanted = ops::plain_attention(form, std::vector{cast(in.q, f32), cast(in.k, f32), cast(in.v, f32)});
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
  }
}

/// The gradients, beside those of the plain ops.
void expect_gradients_like_the_plain_ops(const ops::AttentionForm& form, const Inputs& in, const std::string& what) {
  const std::vector<Tensor> wide{cast(in.q, f32), cast(in.k, f32), cast(in.v, f32)}, results = ops::plain_attention(form, wide);
  const DType dtype = in.q.dtype();
  const Tensor o = cast(results[0], dtype), g = drawn(o.shape(), dtype);
  const std::vector<Tensor> given{in.q, in.k, in.v, o, results[1], g};
  std::vector<Tensor> found = ops::attention_tiles_gradients(form, given);
  found.pop_back();  // nobody may want those of the scores
  const std::vector<Tensor> wanted =
      ops::plain_attention_gradients(form, std::vector{wide[0], wide[1], wide[2], cast(o, f32), results[1], cast(g, f32)});
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_EQ(found[k].shape(), wanted[k].shape());
    const auto a = found[k].to_host<double>(), b = wanted[k].to_host<double>();
    double largest = 1;
    for (const double x : b) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], (dtype == bf16 ? 1.2e-2 : 1.5e-3) * largest) << what << ", gradient " << k << ", element " << i;
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
  }
}

/// A program for rows that lie as a dense (B, H, T, D).
tile::Program program_of(std::int64_t width, std::int64_t keys = 0) {
  std::vector<tile::Program> programs;
  const test::OnDevice here(device_of(90, [&](const tile::Program& program) {
    if (program.name == "attention_tiles") programs.push_back(program);
  }));
  const Inputs in = inputs_of({1, 2, 2, 64, 128, width, width}, bf16, true);
  eval(ops::attention_tiles_nodes({.causal = true, .scale = 0.1}, std::vector{in.q, in.k, in.v}, keys)[0]);
  return programs.at(0);
}
gpu::Specialisation facts_of(const tile::Program& program) {
  gpu::Specialisation facts{.facts = {}, .one_axis = true, .maps = true};
  for (const tile::Parameter& parameter : program.parameters) facts.facts.push_back(parameter.pointer ? 4 : gpu::kShort);
  return facts;
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

TEST(AttentionTiles, SpillNothing) {
  if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  for (const int architecture : {80, 90}) {
    for (const std::int64_t width : {64, 128}) {
      const tile::Program program = program_of(width, architecture == 80 ? 64 : 0);
      const gpu::Generated code = gpu::generate(program, facts_of(program), architecture);
      testing::internal::CaptureStderr();
      const auto used = gpu::figures(gpu::prelude() + code.source, architecture).at(code.name);
      const std::string what =
          "sm_" + std::to_string(architecture) + ", width " + std::to_string(width) + ", registers " + std::to_string(used.registers);
      EXPECT_EQ(testing::internal::GetCapturedStderr().find("Potential Performance Loss"), std::string::npos) << what;
      EXPECT_EQ(used.spill_stores, 0u) << what;
      EXPECT_EQ(used.stack_bytes, 0u) << what;
      RecordProperty("registers_" + std::to_string(architecture) + "_" + std::to_string(width), used.registers);
    }
  }
}

TEST(AttentionTiles, SayWhatTheyDoNotDescribe) {
  const auto describes = [](const ops::AttentionForm& form, const Shape& shape, DType dtype) {
    const Tensor x = zeros(shape, dtype);
    return ops::describes_attention_tiles(form, std::vector{x, x, x});
  };
  EXPECT_TRUE(describes({}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({}, {1, 2, 70, 64}, f32));
  EXPECT_FALSE(describes({}, {1, 2, 70, 48}, bf16));
  EXPECT_FALSE(describes({.scale = -1}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({.mask = true}, {1, 2, 70, 64}, bf16));
  EXPECT_FALSE(describes({}, {1, 2, 0, 64}, bf16));
}

}  // namespace
}  // namespace tegula::attention_tiles
