#include "tests/support/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/setting.h"

namespace tegula::test {
namespace {

constexpr std::size_t kScratchGuard = 256;

void run_on_host(const runtime::Call& call, const std::vector<Tensor*>& tensors, void* scratch, int threads) {
  std::vector<void*> buffers;
  for (const Tensor* tensor : tensors) buffers.push_back(tensor->data());
  call.run(buffers, {.scratch = scratch, .threads = threads});
}

void run_on_device(runtime::Device& device, const runtime::Call& call, const std::vector<Tensor*>& tensors, void* scratch, int threads) {
  std::vector<Ref<Buffer>> copies;
  std::vector<void*> buffers;
  for (const Tensor* tensor : tensors) {
    copies.push_back(device.allocate(tensor->storage_bytes()));
    device.copy_in(copies.back()->data(), tensor->storage(), tensor->storage_bytes());
    const auto before = static_cast<char*>(tensor->data()) - static_cast<char*>(tensor->storage());
    buffers.push_back(static_cast<char*>(copies.back()->data()) + before);
  }
  call.run(buffers, {.scratch = scratch, .threads = threads});
  device.synchronize();
  for (std::size_t i = 0; i < tensors.size(); ++i) device.copy_out(tensors[i]->storage(), copies[i]->data(), tensors[i]->storage_bytes());
}

}  // namespace

std::mt19937& generator() {
  static std::mt19937 engine(static_cast<std::mt19937::result_type>(number_of("TEGULA_SEED", 7)));
  return engine;
}

bool run_guarded(runtime::Device& device, const runtime::Call& call, const std::vector<Tensor*>& tensors, int threads) {
  const std::size_t bytes = call.scratch_bytes();
  std::vector<unsigned char> guard(kScratchGuard, 0x5a);
  if (device.number() == 0) {
    const auto scratch = allocate_host(bytes + kScratchGuard);
    std::memset(scratch->data(), 0x5a, bytes + kScratchGuard);
    run_on_host(call, tensors, scratch->data(), threads);
    std::memcpy(guard.data(), static_cast<char*>(scratch->data()) + bytes, kScratchGuard);
  } else {
    const auto scratch = device.allocate(bytes + kScratchGuard);
    char* const behind = static_cast<char*>(scratch->data()) + bytes;
    device.copy_in(behind, guard.data(), kScratchGuard);
    run_on_device(device, call, tensors, scratch->data(), threads);
    device.copy_out(guard.data(), behind, kScratchGuard);
  }
  return std::all_of(guard.begin(), guard.end(), [](unsigned char byte) { return byte == 0x5a; });
}

Tensor in_blocks(runtime::Device& device, const Tensor& weight, const Layout& over_axes, const runtime::Blocked& blocks, int threads) {
  if (!blocks) return weight;
  Tensor source = weight, packed(weight.dtype(), Layout::dense({runtime::elements(blocks)}));
  const auto pack = device.make(runtime::Packing{weight.dtype(), over_axes, blocks});
  EXPECT_TRUE(run_guarded(device, *pack, {&source, &packed}, threads)) << pack->describe();
  EXPECT_TRUE(packed.untouched_outside()) << pack->describe();
  return packed;
}

}  // namespace tegula::test
