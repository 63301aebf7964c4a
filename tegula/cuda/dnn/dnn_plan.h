#pragma once
// One convolution as an operation graph of cuDNN, the engines that can run it, and the plan that does.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tegula/cuda/dnn/dnn.h"
#include "tegula/cuda/dnn/dnn_layout.h"

namespace tegula::gpu {

/// The tensors of a plan by these numbers.
enum class DnnRole : std::int64_t { Input = 1, Weight, Output, Bias, Addend };

struct DnnPointers {
  void *input = nullptr, *weight = nullptr, *output = nullptr, *bias = nullptr, *addend = nullptr;
};

/// A finished plan. "17 2=3 12=0": its engine and knobs as text.
class DnnPlan {
 public:
  DnnPlan(const Dnn& dnn, DnnDescriptor configuration, std::string engine);
  std::size_t workspace() const { return workspace_; }
  const std::string& engine() const { return engine_; }
  /// Queues it on the handle's stream.
  void run(const DnnPointers& pointers, void* workspace) const;

 private:
  const Dnn* dnn_;
  DnnDescriptor configuration_, plan_;
  std::size_t workspace_ = 0;
  std::string engine_;
};

class DnnGraph {
 public:
  /// Throws Error when cuDNN refuses the description.
  DnnGraph(const Dnn& dnn, const runtime::Convolution& description, const DnnProblem& problem, bool fused);

  /// Up to `most` plans that need no more than `workspace` bytes: what each of the library's ways of guessing ranks first; what it falls back
  /// on only where they know nothing. All give the same bits every time, add up in the described precision, and leave out transforms that
  /// lose accuracy.
  std::vector<DnnPlan> plans(std::size_t workspace, std::size_t most) const;
  /// The plan of a remembered engine, or nothing when it does not work here.
  std::optional<DnnPlan> plan(const std::string& engine, std::size_t workspace) const;

 private:
  void add_tensor(DnnRole role, const Layout& layout);
  void add_virtual(const Layout& layout);
  DnnDescriptor tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type) const;
  void add_operation(const DnnProblem& problem, bool fused);
  void add_epilogue(const DnnProblem& problem);
  std::vector<DnnDescriptor> configurations(cudnnBackendHeurMode_t mode) const;
  void add_pointwise(cudnnPointwiseMode_t mode, const DnnDescriptor& x, const DnnDescriptor* b, const DnnDescriptor& y);
  bool is_allowed(const DnnDescriptor& engine) const;

  const Dnn& dnn_;
  runtime::Convolution description_;
  std::vector<DnnDescriptor> parts_;  // tensors and option descriptors: the operations refer to them
  std::vector<DnnDescriptor> operations_;
  std::optional<DnnDescriptor> graph_;
};

}  // namespace tegula::gpu
