#pragma once
// The CPU's library calls: matmul, convolution, pooling and sums by index as runtime/device.h describes them.

#include <memory>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// Each throws Error for a dtype that it does not know (matmul, convolution and pooling: other than floats) and for layouts that break the rules of device.h.
std::unique_ptr<runtime::Call> make_matmul(const runtime::Matmul& description);
std::unique_ptr<runtime::Call> make_convolution(const runtime::Convolution& description);
std::unique_ptr<runtime::Call> make_pooling(const runtime::Pooling& description);
std::unique_ptr<runtime::Call> make_scatter_sum(const runtime::ScatterSum& description);
/// True if the terms of a grouped sum are words that the CPU has; also without terms.
bool sums_terms(const runtime::GroupedSum& description);
std::unique_ptr<runtime::Call> make_grouped_sum(const runtime::GroupedSum& description);
std::unique_ptr<runtime::Call> make_packing(const runtime::Packing& description);
std::unique_ptr<runtime::Call> make_cuda_kernel(const runtime::CudaKernel& description);

/// The candidates of runtime::Device.
std::vector<runtime::Candidate> candidates(const runtime::CallDescription& description);
/// The candidates for a matmul, from the way that make_matmul takes (ways.h).
std::vector<runtime::Candidate> matmul_candidates(const runtime::Matmul& description);

/// The blocks in which this call would have its weight, which does not lie in blocks in the description; none where it would not.
runtime::Blocked weight_blocks(const runtime::Matmul& description);
runtime::Blocked weight_blocks(const runtime::Convolution& description);
/// True if the activations of this convolution should have the layout (N, spatial…, C).
bool convolution_prefers_channels_last(const runtime::Convolution& description);

}  // namespace tegula::host
