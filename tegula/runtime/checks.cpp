#include "tegula/runtime/checks.h"

#include <algorithm>

#include "tegula/core/error.h"

namespace tegula::runtime {
namespace {

struct Refuse {
  const char* op;
  [[noreturn]] void operator()(const std::string& got, const std::string& expected) const {
    throw Error({.op = op, .got = got, .expected = expected});
  }
};

}  // namespace

void check(const Matmul& d) {
  const Refuse refuse{"matmul"};
  const Shape &a = d.a.layout.shape, &b = d.b.layout.shape, &c = d.c.layout.shape;
  const int rank = c.rank();
  if (!is_float(d.dtype())) refuse("dtype " + std::string(name(d.dtype())), "a float type");
  const DType wanted = d.multiplies_codes() ? DType::u8 : d.dtype();
  if (d.a.dtype != wanted || d.b.dtype != wanted || d.a.scale != d.b.scale || d.c.scale != Scale::None) {
    refuse("operands of " + std::string(name(d.a.dtype)) + " and " + std::string(name(d.b.dtype)) + " into " + std::string(name(d.dtype())),
           "one dtype, or two operands in codes of E4M3");
  }
  if (rank < 2 || a.rank() != rank || b.rank() != rank) refuse("operands of different rank", "equal ranks of at least 2");
  if (a[rank - 1] != b[rank - 2] || a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1])
    refuse("shapes " + to_string(a) + " and " + to_string(b) + " into " + to_string(c), "(M, K), (K, N), (M, N)");
  if (d.b.blocks && (d.b.blocks.any || d.b.blocks.shape != Shape{b[rank - 2], b[rank - 1]} || numel(b) != b[rank - 2] * b[rank - 1]))
    refuse("blocks of " + to_string(d.b.blocks.shape), "blocks of a B (K, N) without a batch");
  for (int i = 0; i + 2 < rank; ++i) {
    for (const Shape* shape : {&a, &b}) {
      if ((*shape)[i] != c[i] && (*shape)[i] != 1) refuse("batch axes " + to_string(*shape), "those of " + to_string(c));
    }
  }
}

bool have_one_dtype(std::initializer_list<const Operand*> operands) {
  return std::ranges::all_of(operands, [&](const Operand* x) { return x->dtype == (*operands.begin())->dtype && x->scale == Scale::None; });
}

void check(const Convolution& d) {
  const Refuse refuse{"convolution"};
  if (!have_one_dtype({&d.input, &d.weight, &d.output})) refuse("operands of several dtypes", "one dtype");
  const int rank = d.input.layout.shape.rank();
  const std::string shapes = "input " + to_string(d.input.layout.shape) + ", weight " + to_string(d.weight.layout.shape) + ", output " +
                             to_string(d.output.layout.shape);
  if (!is_float(d.dtype())) refuse("dtype " + std::string(name(d.dtype())), "a float type");
  if (rank < 3 || rank > 5 || d.weight.layout.shape.rank() != rank || d.output.layout.shape.rank() != rank)
    refuse(shapes, "one to three spatial axes, the same of each");
  for (const Dims* dims : {&d.stride, &d.dilation, &d.pad_low, &d.pad_high}) {
    if (dims->rank() != rank - 2) refuse("an option " + to_string(*dims), "one value per spatial axis");
  }
  if (d.groups < 1 || d.input.layout.shape[0] != d.output.layout.shape[0] || d.weight.layout.shape[0] != d.output.layout.shape[1] ||
      d.weight.layout.shape[1] * d.groups != d.input.layout.shape[1] || d.output.layout.shape[1] % d.groups != 0) {
    refuse(shapes + " in " + std::to_string(d.groups) + " groups", "(N, C, …), (K, C/groups, …), (N, K, …)");
  }
  for (int axis = 0; axis < rank - 2; ++axis) {
    if (d.stride[axis] < 1 || d.dilation[axis] < 1)
      refuse("stride " + to_string(d.stride) + ", dilation " + to_string(d.dilation), "at least 1");
    const std::int64_t room =
        d.input.layout.shape[axis + 2] + d.pad_low[axis] + d.pad_high[axis] - d.dilation[axis] * (d.weight.layout.shape[axis + 2] - 1) - 1;
    if (d.output.layout.shape[axis + 2] != (room < 0 ? 0 : room / d.stride[axis] + 1))
      refuse(shapes, "an output of (input + padding - dilation * (kernel - 1) - 1) / stride + 1");
  }
  Limits limits;
  if (!d.epilogue.is_empty() && d.pass != ConvolutionPass::Forward) refuse("an epilogue of a gradient", "one of the forward pass");
  if (!are_limits(sums_of(d.epilogue).rest, d.dtype(), limits)) refuse("an epilogue of other words", "sums, relu, max and min");
  if (d.weight.blocks && (d.weight.blocks.any || numel(d.weight.blocks.shape) != numel(d.weight.layout.shape)))
    refuse("blocks of " + to_string(d.weight.blocks.shape), "as many elements as the weight's " + to_string(d.weight.layout.shape));
}

void check(const Pooling& d) {
  const Refuse refuse{"pooling"};
  if (!have_one_dtype({&d.input, &d.output}) || d.taps.dtype != DType::u8)
    refuse("operands of several dtypes", "one dtype, and taps of u8");
  const int rank = d.input.layout.shape.rank();
  const std::string shapes = "input " + to_string(d.input.layout.shape) + ", output " + to_string(d.output.layout.shape);
  if (!is_float(d.dtype())) refuse("dtype " + std::string(name(d.dtype())), "a float type");
  if (rank < 3 || rank > 5 || d.output.layout.shape.rank() != rank) refuse(shapes, "one to three spatial axes, the same of each");
  for (const Dims* dims : {&d.window, &d.stride, &d.dilation, &d.pad_low, &d.pad_high}) {
    if (dims->rank() != rank - 2) refuse("an option " + to_string(*dims), "one value per spatial axis");
  }
  if (d.input.layout.shape[0] != d.output.layout.shape[0] || d.input.layout.shape[1] != d.output.layout.shape[1])
    refuse(shapes, "equal (N, C)");
  for (int axis = 0; axis < rank - 2; ++axis) {
    if (d.window[axis] < 1 || d.stride[axis] < 1 || d.dilation[axis] < 1)
      refuse("window " + to_string(d.window) + ", stride " + to_string(d.stride), "at least 1");
  }
}

}  // namespace tegula::runtime
