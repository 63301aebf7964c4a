#include "tegula/cuda/handwritten/plain_all_reduce.h"

#include <algorithm>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_all_reduce.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kLineBytes = 8;  // of numbers
constexpr std::int64_t kVectorBytes = 16;  // that a thread adds up at a time
constexpr std::int64_t kThreads = 512;
constexpr std::int64_t kMostBlocks = 64;  // half of an H200's multiprocessors fill the wire, and what runs beside it has the others
constexpr std::int64_t kMostAdding = 264;  // blocks that add up what was copied: two for each multiprocessor

}  // namespace

PlainKernel all_reduce_kernel(const PlainAllReduce& d) {
  const std::int64_t vector = kLineBytes / static_cast<std::int64_t>(size_of(d.dtype)), lines = divide_up(d.count, vector);
  PlainSource source(d.dtype, {Layout::dense({d.count + vector})});
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"COUNT", d.count},
                                    {"LINES", lines},
                                    {"BOX_LINES", d.box_bytes / kLineBytes},
                                    {"VECTOR", vector},
                                    {"WORDS", kLineBytes / 4},
                                    {"RANKS", d.ranks},
                                    {"MOST_RANKS", kMostReducingRanks},
                                    {"MEAN", d.mean ? 1 : 0},
                                    {"THREADS", kThreads}}) {
    source.define(name, value);
  }
  source.add(kAgain);
  source.add(kPack);
  source.add(kAllReduce);
  return {"all_reduce", source.text(), std::min(divide_up(lines, kThreads), kMostBlocks), static_cast<int>(kThreads)};
}

PlainKernel add_arrived_kernel(DType dtype, std::int64_t count, bool mean) {
  const std::int64_t vector = kVectorBytes / static_cast<std::int64_t>(size_of(dtype));
  PlainSource source(dtype, {Layout::dense({count + vector})});
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"COUNT", count},
                                    {"VECTOR", vector},
                                    {"WORDS", kVectorBytes / 4},
                                    {"MEAN", mean ? 1 : 0},
                                    {"THREADS", kThreads}}) {
    source.define(name, value);
  }
  source.add(kAgain);
  source.add(kPack);
  source.add(kAddArrived);
  return {"add_arrived", source.text(), std::min(divide_up(count, vector * kThreads), kMostAdding), static_cast<int>(kThreads)};
}

PlainKernel wait_for_box_kernel(DType dtype) {
  PlainKernel kernel = add_arrived_kernel(dtype, 1, false);
  kernel.name = "wait_for_box", kernel.blocks = 1, kernel.threads = 1;
  return kernel;
}

}  // namespace tegula::gpu
