#include "tegula/cuda/handwritten/plain_grouped.h"

#include <cstdint>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/handwritten/plain_grouped.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {

PlainKernel grouped_sum_kernel(const runtime::GroupedSum& d) {
  constexpr int kThreads = 256;
  PlainSource source(d.dtype, {});
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"OUTER", d.outer},
                                    {"COUNT", d.count},
                                    {"ROWS", d.rows},
                                    {"LENGTH", d.length},
                                    {"WIDTH", d.width},
                                    {"WEIGHTED", d.weighted ? 1 : 0}})
    source.define(name, value);
  source.add(kGrouped);
  return {"grouped_sum", source.text(), divide_up(d.outer * d.length * d.width, std::int64_t{kThreads}), kThreads};
}

}  // namespace tegula::gpu
