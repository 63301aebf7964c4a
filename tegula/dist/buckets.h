#pragma once
// Which tensors travel together (tensor fusion: Sergeev and Del Balso, "Horovod", 2018).

#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::dist {

inline std::int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<std::int64_t>(size_of(x.dtype())); }

/// From the last tensor, the gradient that is there first, to the first: neighbours of one dtype, up to so many bytes together. Empty ones are left out.
inline std::vector<std::vector<std::size_t>> buckets_of(const std::vector<Tensor>& tensors, std::int64_t most) {
  std::vector<std::vector<std::size_t>> buckets;
  std::int64_t bytes = 0;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    if (!tensors[i].defined()) continue;
    const bool fits = !buckets.empty() && bytes + bytes_of(tensors[i]) <= most && tensors[buckets.back()[0]].dtype() == tensors[i].dtype();
    if (!fits) buckets.emplace_back(), bytes = 0;
    buckets.back().push_back(i);
    bytes += bytes_of(tensors[i]);
  }
  return buckets;
}

}  // namespace tegula::dist
