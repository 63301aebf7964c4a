#include "tegula/cuda/dnn/dnn_convolution_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/memory_rows.h"

namespace tegula::gpu {
namespace {

using runtime::Arithmetic;
using runtime::Convolution;

/// The type of sums and of intermediate tensors between operations.
cudnnDataType_t wide_type(DType dtype) { return dtype == f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

bool has_channels_in_eights(const Shape& weight) { return weight[0] % 8 == 0 && weight[1] % 8 == 0; }

/// True if cuDNN 9.19's engine 7 is known to be right. It gives wrong sums of halves and TF32 if windows are more than one element apart: for (1, 6, 3) by
/// (8, 6, 2) with stride 3, dilation 2 and padding 1, for (4, 3, 1, 4) by (8, 3, 1, 4) with stride (1, 2) from rows to channels last, and in TF32 for
/// (3, 3, 5) by (9, 3, 4) with stride 3. With channels in eights, as networks have them, only dilation was seen to go wrong.
bool is_right_in_engine_7(const Convolution& d) {
  for (int i = 0; i < d.stride.rank(); ++i) {
    if (d.stride[i] > 1 && (d.dilation[i] > 1 || (uses_tensor_cores(d) && !has_channels_in_eights(d.weight.layout.shape)))) return false;
  }
  return true;
}

/// The same of engine 4, which leaves results unwritten where tensors lie in rows: in TF32 (4, 4, 4) by (5, 4, 3) with stride 2, and (4, 4, 3) by
/// (6, 4, 2) with stride 3.
bool is_right_in_engine_4(const Convolution& d, const DnnProblem& p) {
  const bool strided = std::ranges::any_of(p.stride, [](std::int64_t stride) { return stride > 1; });
  return !strided || !uses_tensor_cores(d) || has_channels_in_eights(p.weight.shape) || lies_ordered(p.input, ChannelOrder::Last);
}

bool is_allowed(const Convolution& d, const DnnProblem& p, const DnnDescriptor& engine) {
  const std::int64_t number = engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  if (number == 7 && !is_right_in_engine_7(d)) return false;
  if (number == 4 && !is_right_in_engine_4(d, p)) return false;
  return std::ranges::none_of(numerical_notes(engine), [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return true;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return !is_half(d.dtype());
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return d.dtype() == f32 && d.arithmetic == Arithmetic::Full;
      default: return false;
    }
  });
}

class Builder {
 public:
  Builder(const Dnn& dnn, const Convolution& d, const DnnProblem& p)
      : d_(d),
        p_(p),
        graph_(dnn, [d, p](const DnnDescriptor& engine) { return is_allowed(d, p, engine); }),
        input_(tensor(ConvolutionTensor::Input, p.input)),
        weight_(tensor(ConvolutionTensor::Weight, p.weight)),
        output_(tensor(ConvolutionTensor::Output, p.output)) {}

  DnnGraph build(bool fused) {
    const bool epilogue = fused && !d_.epilogue.is_empty();
    const DnnDescriptor& result = epilogue ? between() : output_;
    add_convolution(result);
    if (epilogue) add_epilogue(result);
    graph_.finish();
    return std::move(graph_);
  }

 private:
  const DnnDescriptor& tensor(ConvolutionTensor role, const Layout& layout) {
    return graph_.add_tensor(static_cast<std::int64_t>(role), layout, dnn_type(d_.dtype()));
  }
  const DnnDescriptor& between() {
    const Layout& y = p_.output;  // a virtual tensor has no gaps between its rows
    return graph_.add_virtual(without_room(y, memory_rows(y).value_or(MemoryRows{})), wide_type(d_.dtype()));
  }

  void add_pointwise(cudnnPointwiseMode_t mode, const DnnDescriptor& x, const DnnDescriptor* b, const DnnDescriptor& y) {
    DnnDescriptor options = graph_.descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    options.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    options.set(CUDNN_ATTR_POINTWISE_MATH_PREC, wide_type(d_.dtype()));
    DnnDescriptor operation = graph_.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph_.keep(std::move(options)));
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    graph_.add_operation(std::move(operation));
  }

  void add_convolution(const DnnDescriptor& result) {
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
    const Names& names = kNames[static_cast<int>(d_.pass)];

    DnnDescriptor options = graph_.descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    options.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, wide_type(d_.dtype()));
    options.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    options.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(p_.stride.rank()));
    options.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, p_.dilation);
    options.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, p_.stride);
    options.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, p_.pre);
    options.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, p_.post);
    DnnDescriptor operation = graph_.descriptor(names.type);
    operation.set(names.options, graph_.keep(std::move(options)));
    operation.set(names.input, input_);
    operation.set(names.weight, weight_);
    operation.set(names.output, result);
    const bool wide = d_.dtype() == f64;
    const float one = 1, zero = 0;
    const double one64 = 1, zero64 = 0;
    operation.set(names.alpha, wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT, 1, wide ? static_cast<const void*>(&one64) : &one);
    operation.set(names.beta, wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT, 1, wide ? static_cast<const void*>(&zero64) : &zero);
    graph_.add_operation(std::move(operation));
  }

  // In the order that most engines know: addend, bias, activation.
  void add_epilogue(const DnnDescriptor& convolved) {
    const runtime::Sums sums = runtime::sums_of(d_.epilogue);
    const bool relu = sums.rest == runtime::relu(d_.dtype());
    if (!relu && !sums.rest.is_empty())
      throw Error({.op = "convolution", .got = "an epilogue" + runtime::to_string(sums.rest), .expected = "sums and relu"});
    const DnnDescriptor* last = &convolved;
    const auto add_to_last = [&](const DnnDescriptor& addend, bool is_final) {
      const DnnDescriptor& sum = is_final ? output_ : between();
      add_pointwise(CUDNN_POINTWISE_ADD, *last, &addend, sum);
      last = &sum;
    };
    if (sums.tensor) add_to_last(tensor(ConvolutionTensor::Addend, p_.output), !sums.channel && !relu);
    if (sums.channel) {
      Shape shape = Dims::filled(p_.output.shape.rank(), 1);
      shape[1] = p_.output.shape[1];
      add_to_last(tensor(ConvolutionTensor::Bias, ordered(shape, ChannelOrder::Last)), !relu);
    }
    if (relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, output_);
  }

  const Convolution& d_;
  const DnnProblem& p_;
  DnnGraph graph_;
  const DnnDescriptor &input_, &weight_, &output_;
};

}  // namespace

DnnGraph convolution_graph(const Dnn& dnn, const Convolution& description, const DnnProblem& problem, bool fused) {
  return Builder(dnn, description, problem).build(fused);
}

void run(const DnnPlan& plan, const ConvolutionPointers& p, void* workspace) {
  const auto id = [](ConvolutionTensor tensor) { return static_cast<std::int64_t>(tensor); };
  const std::array addresses{DnnAddress{id(ConvolutionTensor::Input), p.input}, DnnAddress{id(ConvolutionTensor::Weight), p.weight},
                             DnnAddress{id(ConvolutionTensor::Output), p.output}, DnnAddress{id(ConvolutionTensor::Bias), p.bias},
                             DnnAddress{id(ConvolutionTensor::Addend), p.addend}};
  plan.run(addresses, workspace);
}

}  // namespace tegula::gpu
