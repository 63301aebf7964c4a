#include "tegula/cuda/handwritten/plain_all_reduce.h"

#include <algorithm>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_all_reduce.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kLineBytes = 8;  // of numbers
constexpr std::int64_t kVectorBytes = 16;  // that a thread takes at a time of what was copied
constexpr std::int64_t kThreads = 512;
constexpr std::int64_t kMostBlocks = 64;  // half of an H200's multiprocessors fill the wire, and what runs beside it has the others
constexpr std::int64_t kMostTaking = 264;  // blocks that take what was copied: two for each multiprocessor

PlainKernel arrived_kernel(const char* name, DType dtype, std::int64_t count, bool mean, int rank) {
  const std::int64_t vector = kVectorBytes / static_cast<std::int64_t>(size_of(dtype));
  PlainSource source(dtype, {Layout::dense({2 * count + vector})});
  for (const auto& [macro, value] : {std::pair<const char*, std::int64_t>{"COUNT", count},
                                     {"VECTOR", vector},
                                     {"WORDS", kVectorBytes / 4},
                                     {"ADDS", is_float(dtype) ? 1 : 0},
                                     {"MEAN", mean ? 1 : 0},
                                     {"RANK", rank},
                                     {"THREADS", kThreads}}) {
    source.define(macro, value);
  }
  source.add(kAgain);
  source.add(kPack);
  source.add(kArrivedCopies);
  return {name, source.text(), std::min(divide_up(count, vector * kThreads), kMostTaking), static_cast<int>(kThreads)};
}

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

PlainKernel add_arrived_kernel(DType dtype, std::int64_t count, bool mean) { return arrived_kernel("add_arrived", dtype, count, mean, 0); }
PlainKernel join_arrived_kernel(std::int64_t bytes, int rank) { return arrived_kernel("join_arrived", DType::u8, bytes, false, rank); }
PlainKernel wait_for_box_kernel() {
  PlainKernel kernel = arrived_kernel("wait_for_box", DType::u8, 1, false, 0);
  kernel.blocks = 1, kernel.threads = 1;
  return kernel;
}

}  // namespace tegula::gpu
