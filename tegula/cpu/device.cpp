#include "tegula/runtime/device.h"

#include <limits>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/attention.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/executor/executor.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/properties.h"
#include "tegula/runtime/operand_layout.h"

namespace tegula::host {
namespace {

void require_instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  throw Error({.op = "cpu", .got = "a processor without AVX2 and FMA", .expected = "x86-64-v3 or newer (Intel from 2013, AMD from 2017)"});
#endif
}

class CpuDevice final : public runtime::Device, public runtime::Attends, public runtime::LaysOutOperands, public runtime::PricesHalves {
 public:
  CpuDevice() { require_instruction_set(); }

  std::string name() const override { return "cpu"; }
  int number() const override { return 0; }
  Ref<Buffer> allocate(std::size_t bytes) override { return allocate_for({}, bytes); }
  Ref<Buffer> allocate_for(const runtime::Purpose& purpose, std::size_t bytes) override {
    Ref<Buffer> buffer = try_allocate_host(bytes);
    if (!buffer) throw runtime::OutOfMemory(no_host_memory(bytes, purpose.what, purpose.where));
    return buffer;
  }
  runtime::Queue& queue(runtime::Use use) override { return queues_[use]; }
  void synchronize() override {}

  std::unique_ptr<runtime::Kernel> compile(const tile::Program& program) override { return compile_program(program); }
  /// Measured by bench/executor: a handful of tiles of this size share the first-level cache.
  runtime::TilePreference tiles() const override { return {.elements = 2048, .longest_row = 32768}; }
  /// A fork and join costs about 2 us, and 10 to 20 beside a busy process.
  runtime::StepCosts costs() const override {
    return {.bytes_per_second = 25e9,
            .tile_operations_per_second = 15e9,
            .call_operations_per_second = 80e9,
            .threads_seconds = 40e-6,
            .awake_seconds = 10e-6,
            .streaming_bytes = 24 << 20};
  }

  std::unique_ptr<runtime::Call> matmul(const runtime::Matmul& description) override { return make_matmul(description); }
  std::unique_ptr<runtime::Call> convolution(const runtime::Convolution& description) override { return make_convolution(description); }
  std::unique_ptr<runtime::Call> pooling(const runtime::Pooling& description) override { return make_pooling(description); }
  std::unique_ptr<runtime::Call> scatter_sum(const runtime::ScatterSum& description) override { return make_scatter_sum(description); }
  /// Halves are here for trying out, and no group of products leaves them for speed.
  Seconds price_product(const runtime::Matmul&) const override { return {.in_f32 = std::numeric_limits<double>::infinity()}; }
  Seconds price_convolution(double, double) const override { return {.in_f32 = std::numeric_limits<double>::infinity()}; }
  /// A training step in bf16 and in f32 on one thread: an autoencoder of convolutions 12.3 and 9.8 ms, a text CNN 14.7 and 13.6 (Zen 5), a small ResNet 96
  /// and 75 (a Xeon); an MLP 0.66 and 1.06, a ViT 73 and 106 (Zen 5). In f16, which is here for trying out, they are what they are on a GPU.
  bool converts_convolutions(DType half) const override { return half == bf16; }
  bool wants_rows(const runtime::Matmul& description, int index, std::int64_t products) const override {
    return host::wants_rows(description, index, products);
  }
  bool attends(const runtime::Attention&) const override { return true; }
  std::unique_ptr<runtime::Call> attention(const runtime::Attention& description) override { return make_attention(description); }
  bool prefers_channels_last(const runtime::Convolution& description) const override {
    return convolution_prefers_channels_last(description);
  }

  int max_threads() const override { return num_threads(); }
  runtime::DeviceProperties properties() override {
    static const runtime::DeviceProperties properties = find_properties(num_threads());
    return properties;
  }

 private:
  runtime::QueuesOf<runtime::ImmediateQueue> queues_{*this};
};

}  // namespace
}  // namespace tegula::host

namespace tegula::runtime {

Device& cpu() {
  static tegula::host::CpuDevice device;
  return device;
}

}  // namespace tegula::runtime
