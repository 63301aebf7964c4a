#include "tegula/cuda/dnn/dnn_plan.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

constexpr std::int64_t kAlignment = 16;      // bytes
constexpr std::int64_t kFirstVirtual = 100;  // a tensor's id, beyond those in memory

/// "17 2=3 12=0" of a configuration.
std::string engine_text(const DnnDescriptor& engine, const DnnDescriptor& configuration) {
  std::string text = std::to_string(engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  const auto knobs = configuration.get_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS);
  for (const DnnDescriptor& knob : knobs) {
    cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    text += " " + std::to_string(static_cast<int>(type)) + "=" + std::to_string(knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return text;
}

}  // namespace

DnnPlan::DnnPlan(const Dnn& dnn, DnnDescriptor configuration, std::string engine)
    : dnn_(&dnn),
      configuration_(std::move(configuration)),
      plan_(dnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
      engine_(std::move(engine)) {
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn.handle);
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration_);
  plan_.finalize();
  workspace_ = static_cast<std::size_t>(plan_.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

void DnnPlan::run(std::span<const DnnAddress> addresses, void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> at;
  for (const DnnAddress& address : addresses) {
    if (address.at) ids.push_back(address.id), at.push_back(address.at);
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  const std::scoped_lock lock(dnn_->mutex);
  DnnDescriptor pack(*dnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, at.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  dnn_->follow();
  dnn_->check(dnn_->execute(dnn_->handle, plan_.raw(), pack.raw()), "running a plan");
}

DnnDescriptor DnnGraph::tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type) const {
  DnnDescriptor d(*dnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, layout.shape);
  d.set(CUDNN_ATTR_TENSOR_STRIDES, layout.strides);
  return d;
}

const DnnDescriptor& DnnGraph::add_tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type) {
  return keep(tensor(id, layout, type));
}

const DnnDescriptor& DnnGraph::add_virtual(const Layout& layout, cudnnDataType_t type) {
  DnnDescriptor d = tensor(kFirstVirtual + static_cast<std::int64_t>(parts_.size()), layout, type);
  const bool yes = true;
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
  return keep(std::move(d));
}

const DnnDescriptor& DnnGraph::add_number(std::int64_t id, int rank, cudnnDataType_t type) {
  DnnDescriptor d = tensor(id, {Dims::filled(rank, 1), Dims::filled(rank, 1)}, type);
  const bool yes = true;
  d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes);
  return keep(std::move(d));
}

const DnnDescriptor& DnnGraph::keep(DnnDescriptor descriptor) {
  descriptor.finalize();
  return parts_.emplace_back(std::move(descriptor));
}

void DnnGraph::add_operation(DnnDescriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void DnnGraph::finish() {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const DnnDescriptor& operation : operations_) operations.push_back(operation.raw());
  graph_.emplace(*dnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn_->handle);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()),
              operations.data());
  graph_->finalize();
}

std::vector<DnnDescriptor> DnnGraph::configurations(cudnnBackendHeurMode_t mode) const {
  try {
    DnnDescriptor heuristic(*dnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph_);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    heuristic.finalize();
    const std::int64_t count = heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    return heuristic.get_all(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, std::min<std::int64_t>(count, 64));
  } catch (const Error&) {
    return {};  // this mode knows nothing about the graph
  }
}

std::vector<DnnPlan> DnnGraph::plans(std::size_t workspace, std::size_t most) const {
  std::vector<DnnPlan> plans;
  std::vector<std::string> seen;
  // Fallback plans take up to a thousand times as long, or a second to compile: measuring ResNet-50's layers with them takes a
  // minute, and none was ever the fastest.
  const std::array modes{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
  constexpr std::size_t kGuesses = 2;
  for (std::size_t m = 0; m < modes.size(); ++m) {
    if (m >= kGuesses && !plans.empty()) break;
    const std::size_t share = most * std::min(m + 1, kGuesses) / kGuesses;  // the second mode gets the share that the first did not use
    if (plans.size() >= std::max<std::size_t>(share, 1)) continue;
    for (DnnDescriptor& configuration : configurations(modes[m])) {
      if (plans.size() >= std::max<std::size_t>(share, 1)) break;
      try {
        const auto engine = configuration.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
        if (engine.empty() || !allows_(engine[0])) continue;
        std::string text = engine_text(engine[0], configuration);
        if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
        seen.push_back(text);
        DnnPlan plan(*dnn_, std::move(configuration), std::move(text));
        if (plan.workspace() <= workspace) plans.push_back(std::move(plan));
      } catch (const Error&) {
        continue;  // an engine that turns out not to fit
      }
    }
  }
  return plans;
}

std::optional<DnnPlan> DnnGraph::plan(const std::string& engine, std::size_t workspace) const {
  try {
    std::istringstream words(engine);
    std::int64_t index = -1;
    if (!(words >> index)) return std::nullopt;
    DnnDescriptor descriptor(*dnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    descriptor.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph_);
    descriptor.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
    descriptor.finalize();
    if (!allows_(descriptor)) return std::nullopt;
    std::vector<DnnDescriptor> knobs;
    std::vector<cudnnBackendDescriptor_t> raw;
    int type = 0;
    char equals = 0;
    std::int64_t value = 0;
    while (words >> type >> equals >> value) {
      DnnDescriptor& knob = knobs.emplace_back(*dnn_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      const auto kind = static_cast<cudnnBackendKnobType_t>(type);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &kind);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
      knob.finalize();
      raw.push_back(knob.raw());
    }
    DnnDescriptor configuration(*dnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, descriptor);
    if (!raw.empty())
      configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
                        raw.data());
    configuration.finalize();
    DnnPlan plan(*dnn_, std::move(configuration), engine);
    if (plan.workspace() > workspace) return std::nullopt;
    return plan;
  } catch (const Error&) { return std::nullopt; }
}

cudnnDataType_t dnn_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDNN_DATA_DOUBLE;
    case DType::f16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

std::vector<cudnnBackendNumericalNote_t> numerical_notes(const DnnDescriptor& engine) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  const std::int64_t count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data());
  notes.resize(static_cast<std::size_t>(count));
  return notes;
}

}  // namespace tegula::gpu
