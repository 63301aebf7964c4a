#include "tegula/cuda/dnn/dnn_plan.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::gpu {
namespace {

using runtime::Activation;
using runtime::Arithmetic;
using runtime::Convolution;
using runtime::ConvolutionPass;

constexpr std::int64_t kAlignment = 16;  // bytes

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDNN_DATA_DOUBLE;
    case DType::f16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// Of sums and of what lies between the operations.
cudnnDataType_t wide_type(DType dtype) { return dtype == f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

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

void DnnPlan::run(const DnnPointers& pointers, void* workspace) const {
  std::array<std::int64_t, 5> roles{};
  std::array<void*, 5> addresses{};
  std::int64_t count = 0;
  const auto give = [&](DnnRole role, void* address) {
    if (!address) return;
    roles[static_cast<std::size_t>(count)] = static_cast<std::int64_t>(role);
    addresses[static_cast<std::size_t>(count++)] = address;
  };
  give(DnnRole::Input, pointers.input);
  give(DnnRole::Weight, pointers.weight);
  give(DnnRole::Output, pointers.output);
  give(DnnRole::Bias, pointers.bias);
  give(DnnRole::Addend, pointers.addend);
  const std::scoped_lock lock(dnn_->mutex);
  DnnDescriptor pack(*dnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, roles.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  dnn_->check(dnn_->execute(dnn_->handle, plan_.raw(), pack.raw()), "running a plan");
}

DnnGraph::DnnGraph(const Dnn& dnn, const Convolution& description, const DnnProblem& problem, bool fused)
    : dnn_(dnn),
      description_(description) {
  parts_.reserve(16);  // references to them stay valid
  add_tensor(DnnRole::Input, problem.input);
  add_tensor(DnnRole::Weight, problem.weight);
  add_tensor(DnnRole::Output, problem.output);
  add_operation(problem, fused);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const DnnDescriptor& operation : operations_) operations.push_back(operation.raw());
  graph_.emplace(dnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn.handle);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()),
              operations.data());
  graph_->finalize();
}

DnnDescriptor DnnGraph::tensor(std::int64_t id, const Layout& layout, cudnnDataType_t type) const {
  DnnDescriptor d(dnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, layout.shape);
  d.set(CUDNN_ATTR_TENSOR_STRIDES, layout.strides);
  return d;
}

void DnnGraph::add_tensor(DnnRole role, const Layout& layout) {
  parts_.push_back(tensor(static_cast<std::int64_t>(role), layout, data_type(description_.dtype)));
  parts_.back().finalize();
}

void DnnGraph::add_virtual(const Layout& layout) {
  DnnDescriptor d = tensor(100 + static_cast<std::int64_t>(parts_.size()), layout, wide_type(description_.dtype));
  const bool yes = true;
  d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes);
  d.finalize();
  parts_.push_back(std::move(d));
}

void DnnGraph::add_pointwise(cudnnPointwiseMode_t mode, const DnnDescriptor& x, const DnnDescriptor* b, const DnnDescriptor& y) {
  DnnDescriptor options(dnn_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  options.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  options.set(CUDNN_ATTR_POINTWISE_MATH_PREC, wide_type(description_.dtype));
  options.finalize();
  DnnDescriptor operation(dnn_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, options);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  operation.finalize();
  parts_.push_back(std::move(options));
  operations_.push_back(std::move(operation));
}

void DnnGraph::add_operation(const DnnProblem& p, bool fused) {
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t options, input, weight, output, alpha, beta;
  };
  constexpr Names kNames[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  const Names& names = kNames[static_cast<int>(description_.pass)];

  DnnDescriptor options(dnn_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  options.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, wide_type(description_.dtype));
  options.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  options.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(p.stride.rank()));
  options.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, p.dilation);
  options.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, p.stride);
  options.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, p.pre);
  options.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, p.post);
  options.finalize();
  parts_.push_back(std::move(options));
  const DnnDescriptor& convolution = parts_.back();

  const bool epilogue = fused && (description_.bias || description_.addend || description_.activation == Activation::Relu);
  if (epilogue) add_virtual(p.output);
  const DnnDescriptor& result = epilogue ? parts_.back() : parts_[2];
  DnnDescriptor operation(dnn_, names.type);
  operation.set(names.options, convolution);
  operation.set(names.input, parts_[0]);
  operation.set(names.weight, parts_[1]);
  operation.set(names.output, result);
  const bool wide = description_.dtype == f64;
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  operation.set(names.alpha, wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT, 1, wide ? static_cast<const void*>(&one64) : &one);
  operation.set(names.beta, wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT, 1, wide ? static_cast<const void*>(&zero64) : &zero);
  operation.finalize();
  operations_.push_back(std::move(operation));

  if (epilogue) add_epilogue(p);
}

// In the order that most engines know: addend, bias, activation. The convolution's result is the last part so far.
void DnnGraph::add_epilogue(const DnnProblem& p) {
  const bool relu = description_.activation == Activation::Relu;
  const DnnDescriptor* last = &parts_.back();
  const auto add_to_last = [&](const DnnDescriptor& addend, bool is_final) {
    if (!is_final) add_virtual(p.output);
    const DnnDescriptor& sum = is_final ? parts_[2] : parts_.back();
    add_pointwise(CUDNN_POINTWISE_ADD, *last, &addend, sum);
    last = &sum;
  };
  if (description_.addend) {
    add_tensor(DnnRole::Addend, p.output);
    add_to_last(parts_.back(), !description_.bias && !relu);
  }
  if (description_.bias) {
    Shape shape = Dims::filled(p.output.shape.rank(), 1);
    shape[1] = p.output.shape[1];
    add_tensor(DnnRole::Bias, ordered(shape, ChannelOrder::Last));
    add_to_last(parts_.back(), !relu);
  }
  if (relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, parts_[2]);
}

bool DnnGraph::is_allowed(const DnnDescriptor& engine) const {
  // cuDNN 9.19 gives wrong sums in engine 7 for f16 and bf16 (1, 6, 3) * (8, 6, 2) with stride 3, dilation 2 and padding 1.
  if (engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 7) {
    for (int i = 0; i < description_.stride.rank(); ++i) {
      if (description_.stride[i] > 1 && description_.dilation[i] > 1) return false;
    }
  }
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const std::int64_t count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data());
  return std::none_of(notes.begin(), notes.begin() + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return true;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return !is_half(description_.dtype);
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return description_.dtype == f32 && description_.arithmetic == Arithmetic::Full;
      default: return false;
    }
  });
}

std::vector<DnnDescriptor> DnnGraph::configurations(cudnnBackendHeurMode_t mode) const {
  try {
    DnnDescriptor heuristic(dnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
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
  // What is left to fall back on takes up to a thousand times as long, or a second to compile: measuring ResNet-50's layers with it takes a
  // minute, and it was never the fastest.
  const std::array modes{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
  constexpr std::size_t kGuesses = 2;
  for (std::size_t m = 0; m < modes.size(); ++m) {
    if (m >= kGuesses && !plans.empty()) break;
    const std::size_t share = most * std::min(m + 1, kGuesses) / kGuesses;  // what the first leaves over goes to the next
    if (plans.size() >= std::max<std::size_t>(share, 1)) continue;
    for (DnnDescriptor& configuration : configurations(modes[m])) {
      if (plans.size() >= std::max<std::size_t>(share, 1)) break;
      try {
        const auto engine = configuration.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
        if (engine.empty() || !is_allowed(engine[0])) continue;
        std::string text = engine_text(engine[0], configuration);
        if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
        seen.push_back(text);
        DnnPlan plan(dnn_, std::move(configuration), std::move(text));
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
    DnnDescriptor descriptor(dnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    descriptor.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, *graph_);
    descriptor.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
    descriptor.finalize();
    if (!is_allowed(descriptor)) return std::nullopt;
    std::vector<DnnDescriptor> knobs;
    std::vector<cudnnBackendDescriptor_t> raw;
    int type = 0;
    char equals = 0;
    std::int64_t value = 0;
    while (words >> type >> equals >> value) {
      DnnDescriptor& knob = knobs.emplace_back(dnn_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      const auto kind = static_cast<cudnnBackendKnobType_t>(type);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &kind);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
      knob.finalize();
      raw.push_back(knob.raw());
    }
    DnnDescriptor configuration(dnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, descriptor);
    if (!raw.empty())
      configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
                        raw.data());
    configuration.finalize();
    DnnPlan plan(dnn_, std::move(configuration), engine);
    if (plan.workspace() > workspace) return std::nullopt;
    return plan;
  } catch (const Error&) { return std::nullopt; }
}

}  // namespace tegula::gpu
