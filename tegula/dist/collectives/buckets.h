#pragma once
// Sets of tensors that travel together (tensor fusion: Sergeev and Del Balso, "Horovod", 2018).

#include <cstdint>
#include <functional>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// Neighbours of one dtype, joined along their last axis up to `most` bytes together, go through `exchange`, which keeps that axis; each result is a tensor's
/// slice of it. Buckets begin with the last tensor, the gradient that is there first. Undefined tensors (and their results) are left out.
std::vector<Tensor> in_buckets(const std::vector<Tensor>& tensors, std::int64_t most, const std::function<Tensor(const Tensor&)>& exchange,
                               const Line& where);

/// The same where an exchange has several results: those of each tensor.
std::vector<std::vector<Tensor>> several_in_buckets(const std::vector<Tensor>& tensors, std::int64_t most,
                                                    const std::function<std::vector<Tensor>(const Tensor&)>& exchange, const Line& where);

}  // namespace tegula::dist
