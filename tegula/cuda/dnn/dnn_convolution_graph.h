#pragma once
// One convolution as an operation graph of cuDNN.

#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/dnn/dnn_plan.h"

namespace tegula::gpu {

/// The tensors of a plan by these numbers.
enum class ConvolutionTensor : std::int64_t { Input = 1, Weight, Output, Bias, Addend };

struct ConvolutionPointers {
  void *input = nullptr, *weight = nullptr, *output = nullptr, *bias = nullptr, *addend = nullptr;
};
void run(const DnnPlan& plan, const ConvolutionPointers& pointers, void* workspace);

/// Throws Error when cuDNN refuses the description. Its engines give the same bits every time, add up in the described precision, and leave out
/// transforms that lose accuracy.
DnnGraph convolution_graph(const Dnn& dnn, const runtime::Convolution& description, const DnnProblem& problem, bool fused);

}  // namespace tegula::gpu
