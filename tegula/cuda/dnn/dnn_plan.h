#pragma once
// Operations as a graph of cuDNN, the engines that can run it, and the plan that does.

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/cuda/dnn/dnn.h"

namespace tegula::gpu {

/// The address of a plan's tensor; a one-number tensor passed by value is in host memory.
struct DnnAddress {
  std::int64_t id = 0;
  void* at = nullptr;
};

/// A finished plan. "17 2=3 12=0": its engine and knobs as text.
class DnnPlan {
 public:
  DnnPlan(const Dnn& dnn, DnnDescriptor configuration, std::string engine);
  std::size_t workspace() const { return workspace_; }
  const std::string& engine() const { return engine_; }
  /// Queues it on the handle's stream. Addresses that are null are left out.
  void run(std::span<const DnnAddress> addresses, void* workspace) const;

 private:
  const Dnn* dnn_;
  DnnDescriptor configuration_, plan_;
  std::size_t workspace_ = 0;
  std::string engine_;
};

/// Descriptors of tensors and operations; then, finished, what cuDNN can do with them.
class DnnGraph {
 public:
  using Allows = std::function<bool(const DnnDescriptor& engine)>;
  DnnGraph(const Dnn& dnn, Allows allows) : dnn_(&dnn), allows_(std::move(allows)) {}

  /// A tensor in memory, or between two operations. Its descriptor stays where it is.
  const DnnDescriptor& add_tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type);
  const DnnDescriptor& add_virtual(const Layout& layout, cudnnDataType_t type);
  /// One number that comes with each run, from the host's memory.
  const DnnDescriptor& add_number(std::int64_t id, int rank, cudnnDataType_t type);
  DnnDescriptor descriptor(cudnnBackendDescriptorType_t type) const { return {*dnn_, type}; }
  /// Finalises an operation's descriptor beside its tensors, and keeps it.
  const DnnDescriptor& keep(DnnDescriptor descriptor);
  /// Finalises an operation, which comes after those so far.
  void add_operation(DnnDescriptor operation);
  /// Throws Error when cuDNN refuses the description.
  void finish();

  /// True if the library knows an engine for the graph, as far as that is known before one is compiled.
  bool has_engine() const { return !configurations(CUDNN_HEUR_MODE_A).empty(); }
  /// Up to `most` plans that need no more than `workspace` bytes: the first ones in each of the library's heuristics; the fallback's
  /// only if those know nothing.
  std::vector<DnnPlan> plans(std::size_t workspace, std::size_t most) const;
  /// The plan of a remembered engine, or nothing when it does not work here.
  std::optional<DnnPlan> plan(const std::string& engine, std::size_t workspace) const;

 private:
  DnnDescriptor tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type) const;
  std::vector<DnnDescriptor> configurations(cudnnBackendHeurMode_t mode) const;

  const Dnn* dnn_;
  Allows allows_;
  std::deque<DnnDescriptor> parts_;  // tensors and options: the operations refer to them
  std::vector<DnnDescriptor> operations_;
  std::optional<DnnDescriptor> graph_;
};

cudnnDataType_t dnn_type(DType dtype);

/// The notes that an engine gives on its arithmetic.
std::vector<cudnnBackendNumericalNote_t> numerical_notes(const DnnDescriptor& engine);

}  // namespace tegula::gpu
