#include "tests/property/ops.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "tegula/ops/case.h"
#include "tegula/tegula.h"
#include "tests/support/op_check.h"

namespace tegula::property {

int Use::pick(int knob, std::int64_t n) const {
  if (n <= 0) throw Unfit{};
  return static_cast<int>(knobs[static_cast<std::size_t>(knob)] % static_cast<std::uint64_t>(n));
}

Tensor Use::real(std::size_t i) const {
  if (is_float8(x[i].dtype())) return cast(x[i], f32);  // nothing is computed in 8 bits
  if (is_float(x[i].dtype())) return x[i];
  for (const Tensor& other : x) {
    if (is_float(other.dtype()) && !is_float8(other.dtype())) return cast(x[i], other.dtype());
  }
  return cast(x[i], f32);
}

Tensor Use::whole(std::size_t i) const {
  if (is_float(x[i].dtype())) return cast(clamp(floor(real(i) * 3), -20, 20), knobs[3] % 2 == 0 ? i64 : i32);
  if (x[i].dtype() == boolean || is_unsigned(x[i].dtype())) return cast(x[i], size_of(x[i].dtype()) < 4 ? i32 : i64);
  return x[i];
}

Tensor Use::index(std::size_t i, std::int64_t size) const {
  if (size <= 0) throw Unfit{};
  const Tensor numbers = remainder(cast(whole(i), i64), size);  // in [0, size)
  return knobs[3] % 3 == 0 ? numbers - size : numbers;          // counted from the end
}

Tensor resized(const Tensor& x, const Shape& shape) {
  const std::int64_t from = x.numel(), to = numel(shape);
  if (from == 0 && to > 0) throw Unfit{};
  Tensor flat = reshape(x, {from});
  if (from < to) flat = repeat(flat, {(to + from - 1) / from});
  return reshape(from == to ? flat : slice(flat, 0, {0, to}), shape);
}

namespace {

/// An operand of a declared case: these elements with the dtype, shape and range it asks for.
Tensor fitted(const Tensor& x, const CaseInput& input, const Shape& shape, DType dtype) {
  const DType wanted = input.dtype.value_or(dtype);
  Tensor t = resized(x, shape);
  if (wanted == boolean) return t.dtype() == boolean ? t : t > 0;
  if (is_float(wanted)) {
    t = is_float(t.dtype()) ? t : cast(t, wanted);
    return cast(sigmoid(t) * ((input.high - input.low) * 0.98) + (input.low + (input.high - input.low) * 0.01), wanted);
  }
  const auto low = static_cast<std::int64_t>(is_unsigned(wanted) ? std::max(input.low, 0.0) : input.low),
             high = static_cast<std::int64_t>(input.high);
  t = is_float(t.dtype()) ? clamp(floor(t * 5), -100, 100) : t;
  return cast(remainder(cast(t, i64), high - low + 1) + low, wanted);
}

constexpr std::int64_t kLargestCase = 1500;  // elements of an operand: the reference of a convolution is slow

void add_cases(std::vector<GraphOp>& ops, std::vector<OpCase> cases) {
  static std::map<std::string, int>& uses = *new std::map<std::string, int>;
  for (OpCase& one : cases) {
    if (one.reference || one.draws) continue;  // the graph does not hold its meaning; no trace may make a generator
    std::vector<std::vector<Shape>> shapes{{}};
    for (const CaseInput& input : one.inputs) shapes[0].push_back(input.shape);
    shapes.insert(shapes.end(), one.more_shapes.begin(), one.more_shapes.end());
    std::erase_if(shapes, [](const auto& set) {
      return std::any_of(set.begin(), set.end(), [](const Shape& shape) { return numel(shape) > kLargestCase; });
    });
    if (shapes.empty() || one.inputs.empty()) continue;
    std::replace(one.op.begin(), one.op.end(), ' ', '_');
    const int number = uses[one.op]++;
    const int inputs = static_cast<int>(one.inputs.size());
    ops.push_back({"case:" + one.op + (number > 0 ? "/" + std::to_string(number) : ""), inputs, 1.0, [one, shapes](const Use& use) {
                     const auto& set = shapes[static_cast<std::size_t>(use.pick(0, static_cast<std::int64_t>(shapes.size())))];
                     DType dtype = use.x[0].dtype();
                     if (std::find(one.dtypes.begin(), one.dtypes.end(), dtype) == one.dtypes.end())
                       dtype = one.dtypes[static_cast<std::size_t>(use.pick(1, static_cast<std::int64_t>(one.dtypes.size())))];
                     std::vector<Tensor> operands;
                     for (std::size_t i = 0; i < one.inputs.size(); ++i) operands.push_back(fitted(use.x[i], one.inputs[i], set[i], dtype));
                     return one.function(operands);
                   }});
  }
}

}  // namespace

std::vector<Tensor> operands_of(const OpCase& one, DType dtype, const std::vector<Shape>& shapes) {
  Random random(numel(shapes[0]) + 17);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    const CaseInput& input = one.inputs[i];
    const DType wanted = input.dtype.value_or(dtype);
    std::vector<double> values(static_cast<std::size_t>(numel(shapes[i])));
    for (double& value : values) {
      value = input.low + (input.high - input.low) * random.uniform();
      if (!is_float(wanted)) value = std::floor(is_unsigned(wanted) ? std::max(value, 0.0) : value);
      if (wanted == boolean) value = random.chance(0.5) ? 1 : 0;
    }
    out.push_back(leaf_of(values, shapes[i], wanted));
  }
  return out;
}

std::vector<OpCase> declared_cases() {
  std::vector<OpCase> all;
  // Cases of random numbers are left out: they make a generator at each call, which no trace may do; ops on random numbers are in moving_ops.
  for (auto* cases : {arithmetic_cases,
                      math_cases,
                      compare_cases,
                      logic_cases,
                      int4_cases,
                      activation_cases,
                      shape_cases,
                      join_cases,
                      reduce_cases,
                      scan_cases,
                      index_cases,
                      selecting_cases,
                      sort_cases,
                      matmul_cases,
                      integer_product_cases,
                      convolution_cases,
                      convolution_ladder_cases,
                      pooling_cases,
                      softmax_cases,
                      normalization_cases,
                      loss_cases,
                      class_loss_cases,
                      embedding_cases,
                      e4m3_cases,
                      dynamic_slice_cases,
                      attention_cases,
                      distance_cases,
                      einsum_cases,
                      grid_sample_cases,
                      box_cases,
                      region_cases,
                      unpool_cases,
                      interpolate_cases,
                      linear_cross_entropy_cases,
                      search_cases,
                      unfold_cases,
                      nan_reduce_cases}) {
    const std::vector<OpCase> some = cases();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<GraphOp> declared_ops() {
  std::vector<GraphOp> ops;
  add_cases(ops, declared_cases());
  for (GraphOp& op : ops) op.weight = 60.0 / static_cast<double>(ops.size());
  return ops;
}

const std::vector<GraphOp>& graph_ops() {
  static const auto& all = *new std::vector<GraphOp>([] {
    std::vector<GraphOp> ops;
    for (auto* list : {elementwise_ops, moving_ops, combining_ops, loop_ops, declared_ops}) {
      auto some = list();
      ops.insert(ops.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return ops;
  }());
  return all;
}

const GraphOp& graph_op(const std::string& name) {
  static const auto& by_name = *new std::map<std::string, const GraphOp*>([] {
    std::map<std::string, const GraphOp*> map;
    for (const GraphOp& op : graph_ops()) map[op.name] = &op;
    return map;
  }());
  const auto found = by_name.find(name);
  if (found == by_name.end()) throw std::runtime_error("no op of random graphs is called " + name);
  return *found->second;
}

}  // namespace tegula::property
