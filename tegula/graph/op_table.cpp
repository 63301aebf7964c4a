#include "tegula/graph/op_table.h"

#include <algorithm>

namespace tegula {
namespace {

/// True if every element of the layout lies among `count` elements.
bool lies_within(const Layout& layout, std::int64_t count) {
  if (numel(layout.shape) == 0) return true;
  std::int64_t least = layout.offset, most = layout.offset;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &reach)) return false;
    std::int64_t& end = reach < 0 ? least : most;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  return least >= 0 && most < count;
}

bool fits_view(const ViewOp& op, const Signature& node) {
  const Result &x = node.inputs[0], &y = node.results[0];
  const auto layout = op.apply(Layout::dense(x.shape));
  return layout && layout->shape == y.shape && x.dtype == y.dtype && lies_within(*layout, numel(x.shape));
}

bool fits_reduction(const ReduceOp& op, const Signature& node) {
  const Shape& x = node.inputs[0].shape;
  const Dims& axes = op.axes();
  if (axes.empty() || axes[0] < 0 || axes.back() >= x.rank() || std::ranges::adjacent_find(axes, std::greater_equal<>()) != axes.end())
    return false;
  Shape kept;
  for (int i = 0; i < x.rank(); ++i)
    if (!axes.contains(i)) kept.push_back(x[i]);
  return node.results[0] == Result{kept, node.inputs[0].dtype};
}

bool fits_elementwise(const Signature& node) {
  return std::ranges::all_of(node.inputs, [&](const Result& x) { return x.shape.rank() == 0 || x.shape == node.results[0].shape; });
}

/// The results are the first inputs.
bool fits_same(const Signature& node) {
  return node.results.size() <= node.inputs.size() && std::equal(node.results.begin(), node.results.end(), node.inputs.begin());
}

/// True if the node keeps the rules that all ops of a role share; an op's own rules are in its attributes.
bool fits(const Op& op, const Signature& node) {
  switch (op.role()) {
    case Role::Elementwise: return fits_elementwise(node);
    case Role::View: return fits_view(static_cast<const ViewOp&>(op), node);
    case Role::Barrier:
    case Role::Stop:
    case Role::Same: return fits_same(node);
    case Role::Reduce: return fits_reduction(static_cast<const ReduceOp&>(op), node);
    default: return true;
  }
}

}  // namespace

void OpTable::require_inputs(const Attributes& reader, int inputs) {
  const std::size_t given = reader.made_for()->inputs.size();
  reader.require(inputs == kAnyInputs ? given > 0 : given == static_cast<std::size_t>(inputs), "in");
}

void OpTable::require_one_result(const Attributes& reader) { reader.require(reader.made_for()->results.size() == 1, "results"); }

Ref<const Op> OpTable::make_op(const std::string& name, Attributes& reader) const {
  const auto found = makes_.find(name);
  if (found == makes_.end()) return nullptr;
  for (const Make& make : found->second) {
    Ref<const Op> op = make(reader);
    if (!op) continue;
    reader.require(fits(*op, *reader.made_for()), "shape");
    return op;
  }
  return nullptr;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> out;
  for (const auto& entry : makes_) out.push_back(entry.first);
  return out;
}

}  // namespace tegula
