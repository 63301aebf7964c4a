// The cost of new sizes: the number of kernels that a GPU has to compile for one function at all batch sizes or lengths. Counted with an H200's tiles and the real
// code generator; nothing is computed. The first two sizes are exact, the others on the ladder (docs/design.md, "Sizes"). The counts with an exact kernel for every size
// were 1026 (softmax), 64 (MLP forward), 737 (MLP training) and 2085 (GPT).

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "tegula/compile/jit.h"
#include "tegula/simt/codegen.h"
#include "tegula/simt/decide/layout.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// Its kernels are texts, and its calls do nothing.
class PaperDevice final : public test::QueuedDevice {
 public:
  static PaperDevice& create() { return *new PaperDevice; }  // never destroyed, as QueuedDevice::create says

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override {
    return queued(std::make_unique<PaperKernel>(program), program);
  }
  void prepare(std::span<const runtime::PlannedLaunch> launches) override {
    for (const runtime::PlannedLaunch& launch : launches) {
      const auto& program = static_cast<const PaperKernel&>(underneath(*launch.kernel)).program;
      gpu::Specialisation variant = gpu::specialise(program, launch.sets);
      variant.guarded = launch.guarded;
      constexpr std::size_t kMostParameterBytes = 4000;
      variant.many_sets = launch.sets.size() > 1 || program.parameters.size() * sizeof(runtime::Argument) > kMostParameterBytes;
      std::string source = gpu::generate(program, variant, gpu::Card().architecture).source;
      const auto [place, added] = sources_.insert(std::move(source));
      // TEGULA_KERNELS=folder: each in a file, to be looked at or compiled.
      if (const char* folder = std::getenv("TEGULA_KERNELS"); added && folder)
        std::ofstream(std::string(folder) + "/sizes_" + std::to_string(sources_.size()) + ".cu") << *place;
    }
  }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription& d) const override {
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    return product ? std::vector<runtime::Candidate>{{d, {}, gpu::programs_are_faster(*product)}} : QueuedDevice::candidates(d);
  }
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription&) override { return std::make_unique<PaperCall>(); }

  int sources() const { return static_cast<int>(sources_.size()); }

 private:
  PaperDevice() { preference = gpu::tiles_for(gpu::Card()); }
  struct PaperKernel final : runtime::Kernel {
    explicit PaperKernel(const tile::Program& program) : program(program) {}
    void launch(std::span<const runtime::ArgumentSet>, const runtime::LaunchOptions&) const override {}
    std::string listing() const override { return ""; }
    tile::Program program;
  };
  struct PaperCall final : runtime::Call {
    void run(std::span<void* const>, const runtime::RunOptions&) const override {}
    std::string describe() const override { return "nothing"; }
  };

  std::set<std::string> sources_;
};

class Sizes : public testing::Test {
 protected:
  Sizes() : device_(PaperDevice::create()), before_(default_device()) { set_default_device(device_); }
  ~Sizes() override { set_default_device(before_); }

  /// Sources that the function needs for sizes 1 to `most`; those behind 32 sizes apart. It is called once with each size, larger ones now and then
  /// before smaller ones.
  struct Sources {
    int all = 0, after_32 = 0;
  };
  template <class Call>
  Sources count(int most, Call call) {
    const int before = device_.sources();
    Sources out;
    for (int i = 0, size = 1; i < most; ++i, size = (size + most / 3 * 2 + 1) % most) {
      call(size + (size == 0 ? most : 0));
      device_.synchronize();  // or all sizes' memory is held until a thread waits for this device
      if (i + 1 == 32) out.after_32 = before - device_.sources();
    }
    out.all = device_.sources() - before;
    out.after_32 += out.all;
    return out;
  }

  static void expect_at_most(const Sources& used, const Sources& bound) {
    std::printf("%d sources, %d of them after 32 sizes\n", used.all, used.after_32);
    EXPECT_LE(used.all, bound.all);
    EXPECT_LE(used.after_32, bound.after_32);
    EXPECT_GT(used.all, 0);
  }

  PaperDevice& device_;

 private:
  runtime::Device& before_;
};

/// As a loader brings it: a batch that lies on the host.
Tensor batch(const Shape& shape, DType dtype = f32) {
  HostArray array = HostArray::empty(dtype, shape);
  std::memset(array.buffer->data(), 0, array.bytes());
  return from_array(array);
}

struct Mlp {
  Mlp() { eval(w1.read(), b1.read(), w2.read(), b2.read()); }
  Variable w1 = normal({784, 256}) * 0.1, b1 = zeros({256}), w2 = normal({256, 10}) * 0.1, b2 = zeros({10});
  Tensor logits(const Tensor& x) const { return matmul(relu(matmul(x, w1.read()) + b1.read()), w2.read()) + b2.read(); }
};

TEST_F(Sizes, SoftmaxOfRows) {
  auto f = jit([](Tensor x) { return softmax(x, -1); });
  const Sources used = count(1024, [&](std::int64_t n) { f(batch({64, n})); });
  expect_at_most(used, {17, 10});
}

TEST_F(Sizes, SumsOfRows) {  // nothing but the reduction has the axis that varies
  auto f = jit([](Tensor x) { return sum(x, 1); });
  const Sources used = count(1024, [&](std::int64_t n) { f(batch({64, n})); });
  expect_at_most(used, {17, 10});
}

TEST_F(Sizes, WhatIsReducedVariesEvenWhereItIsAsLongAsWhatDoesNot) {
  auto f = jit([](Tensor x) { return sum(x, 1); });
  for (const std::int64_t n : {1000, 904, 88}) f(batch({72, n}));  // two exact ones, then one on the ladder
  const int before = device_.sources();
  EXPECT_GT(before, 0);
  f(batch({72, 72}));
  EXPECT_EQ(device_.sources(), before) << "72 columns are taken for the 72 rows, which have always been so many";
}

TEST_F(Sizes, AsManyAsAFunctionNamesAreExact) {
  const auto sources = [&](int exact, std::initializer_list<std::int64_t> widths) {
    auto f = jit([](Tensor x) { return sum(x, 1); }, {.exact = exact});
    const int before = device_.sources();
    for (const std::int64_t n : widths) f(batch({64, n}));
    return device_.sources() - before;
  };
  EXPECT_EQ(sources(2, {1001, 905, 93, 91}), 3) << "two, and one for both of the others";
  EXPECT_EQ(sources(4, {1003, 907, 95, 89}), 4);
}

TEST_F(Sizes, MlpForward) {
  const Mlp net;
  auto f = jit([&](Tensor x) { return softmax(net.logits(x), -1); });
  const Sources used = count(256, [&](std::int64_t n) { f(batch({n, 784})); });
  expect_at_most(used, {12, 3});
}

TEST_F(Sizes, MlpTraining) {
  Mlp net;
  optim::Adam adam(Parameters{{"w1", net.w1.cell()}, {"b1", net.b1.cell()}, {"w2", net.w2.cell()}, {"b2", net.b2.cell()}}, {});
  auto f = jit([&](Tensor x, Tensor y) {
    const Tensor loss = cross_entropy(net.logits(x), y);
    adam.step(grad(loss, std::vector<Wrt>{net.w1, net.b1, net.w2, net.b2}));
    return loss;
  });
  const Sources used = count(256, [&](std::int64_t n) { f(batch({n, 784}), batch({n}, i64)); });
  expect_at_most(used, {40, 10});
}

TEST_F(Sizes, GptForward) {
  constexpr std::int64_t kWidth = 64, kHeads = 4, kVocabulary = 512, kLongest = 1024;
  struct Block {
    Variable qkv = normal({kWidth, 3 * kWidth}) * 0.1, out = normal({kWidth, kWidth}) * 0.1, up = normal({kWidth, 4 * kWidth}) * 0.1,
             down = normal({4 * kWidth, kWidth}) * 0.1, gain = ones({kWidth}), shift = zeros({kWidth});
  };
  const Block blocks[2];
  const Variable tokens = normal({kVocabulary, kWidth}), places = normal({kLongest, kWidth});
  auto f = jit([&](Tensor ids) {
    const std::int64_t n = ids.shape()[0];
    const auto heads = [&](const Tensor& t) { return transpose(reshape(t, {n, kHeads, kWidth / kHeads}), 0, 1); };
    Tensor x = take(tokens.read(), ids, 0) + slice(places.read(), 0, {0, n});
    const Tensor later = expand_dims(arange(n), 0) > expand_dims(arange(n), 1);
    for (const Block& b : blocks) {
      const auto normalised = [&](const Tensor& t) { return layer_norm(t, {kWidth}) * b.gain.read() + b.shift.read(); };
      const auto qkv = chunk(matmul(normalised(x), b.qkv.read()), 3, 1);
      const Tensor scores = matmul(heads(qkv[0]), transpose(heads(qkv[1]), 1, 2)) * 0.25;
      const Tensor mixed = matmul(softmax(where(later, -1e9, scores), -1), heads(qkv[2]));
      x = x + matmul(reshape(transpose(mixed, 0, 1), {n, kWidth}), b.out.read());
      x = x + matmul(gelu(matmul(normalised(x), b.up.read())), b.down.read());
    }
    return matmul(x, transpose(tokens.read(), 0, 1));
  });
  const Sources used = count(kLongest, [&](std::int64_t n) { f(batch({n}, i64)); });
  expect_at_most(used, {60, 20});
}

}  // namespace
}  // namespace tegula
