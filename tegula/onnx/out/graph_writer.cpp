#include "tegula/onnx/out/graph_writer.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/op.h"
#include "tegula/graph/structural.h"
#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

using formats::StoredNode;

bool is_scalar(const StoredNode& node) { return node.kind == StoredNode::Kind::Op && node.op->role() == Role::Scalar; }

/// The first inputs that are the results (of a custom function, a checkpoint, a barrier), or 0.
std::size_t shown_inputs(const StoredNode& node) {
  switch (node.op->role()) {
    case Role::Same: return node.results.size();
    case Role::Barrier:
    case Role::Stop: return 1;
    default: return 0;
  }
}

}  // namespace

GraphWriter::GraphWriter(NodeList& out, Traces traces, Leaves leaves)
    : out_(out),
      traces_(std::move(traces)),
      leaves_(std::move(leaves)),
      needed_(traces_[0]->nodes.size()),
      uses_(traces_[0]->nodes.size()),
      slots_(traces_[0]->nodes.size()) {
  compare_traces();
}

void GraphWriter::refuse(int i, const std::string& why, const std::string& advice) const {
  const StoredNode& one = node(i);
  const std::string name = one.kind == StoredNode::Kind::Op ? std::string(one.op->name()) : "a leaf";
  throw Error({.op = "onnx::save",
               .got = "the op " + name + (why.empty() ? "" : ", " + why),
               .expected = "ops that ONNX has an operator for, or that are made of such",
               .advice = advice,
               .where = one.origin.where});
}

void GraphWriter::compare_traces() const {
  for (std::size_t t = 1; t < traces_.size(); ++t) {
    const auto& a = traces_[0]->nodes;
    const auto& b = traces_[t]->nodes;
    bool same = a.size() == b.size();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      same = a[i].kind == b[i].kind && a[i].in == b[i].in && a[i].index == b[i].index && a[i].results.size() == b[i].results.size() &&
             (a[i].kind != StoredNode::Kind::Op || a[i].op->name() == b[i].op->name());
      if (!same)
        refuse(static_cast<int>(i), "which is there for some sizes of an open axis and not for others", "leave the axis out of .open");
    }
    if (!same) refuse(0, "in a function that computes something else for other sizes of an open axis", "leave the axis out of .open");
  }
}

Sizes GraphWriter::sizes(int i, std::size_t result) const {
  Sizes out;
  const Shape& shape = node(i).results[result].shape;
  std::vector<std::int64_t> values(traces_.size());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    for (std::size_t t = 0; t < traces_.size(); ++t) {
      const Shape& other = node(i, t).results[result].shape;
      if (other.rank() != shape.rank()) refuse(i, "whose rank depends on the size of an open axis");
      values[t] = other[axis];
    }
    const auto size = out_.sheet().open.common(values);
    if (!size)
      refuse(i, "of shape " + to_string(shape) + ", whose sizes are no sum or product of those of open axes",
             "leave the axis out of .open");
    out.push_back(*size);
  }
  return out;
}

bool GraphWriter::is_read(int i, std::size_t result) const {
  for (std::size_t k = static_cast<std::size_t>(i) + 1; k < needed_.size(); ++k) {
    const StoredNode& one = node(static_cast<int>(k));
    if (!needed_[k] || one.kind != StoredNode::Kind::Op || one.in.empty() || one.in[0] != i || one.op->role() != Role::Part) continue;
    if (Described(*this, static_cast<int>(k)).integer("index") == static_cast<std::int64_t>(result)) return true;
  }
  return false;
}

std::optional<Number> GraphWriter::number(int i) const {
  if (!is_scalar(node(i))) return std::nullopt;
  const Number& first = static_cast<const ScalarOp&>(*node(i).op).value();
  for (std::size_t t = 1; t < traces_.size(); ++t)
    if (static_cast<const ScalarOp&>(*node(i, t).op).value().bits(f64) != first.bits(f64)) return std::nullopt;
  return first;
}

void GraphWriter::write_scalar(int i) {
  const DType dtype = node(i).results[0].dtype;
  if (const auto known = number(i)) return give(i, {out_.number(*known, dtype)});
  // A number that depends on an open axis: a size, or the share of one element in a mean.
  std::vector<double> values;
  for (std::size_t t = 0; t < traces_.size(); ++t) values.push_back(static_cast<const ScalarOp&>(*node(i, t).op).value().real());
  std::vector<std::int64_t> sizes;
  const bool is_share = values[0] > 0 && values[0] < 1;
  for (const double value : values) sizes.push_back(static_cast<std::int64_t>(is_share ? 1 / value + 0.5 : value));
  const auto size = out_.sheet().open.common(sizes);
  for (std::size_t t = 0; size && t < values.size(); ++t) {
    const auto whole = static_cast<double>(sizes[t]);
    if (values[t] != (is_share ? 1 / whole : whole))
      refuse(i, "a number that depends on the size of an open axis", "leave the axis out of .open");
  }
  if (!size) refuse(i, "a number that depends on the size of an open axis", "leave the axis out of .open");
  std::string value = out_.cast(out_.reshape(out_.size(*size), std::vector<std::int64_t>{}), dtype);
  give(i, {is_share ? out_.add("Reciprocal", {value}) : value});
}

void GraphWriter::mark() {
  for (std::size_t i = 0; i < needed_.size(); ++i)
    if (node(static_cast<int>(i)).writes >= 0)
      refuse(static_cast<int>(i), "a new value of a Variable",
             "a model in an ONNX file keeps no state: call eval(net) first, or return the new value");
  for (const int output : traces_[0]->outputs) needed_[static_cast<std::size_t>(output)] = true, ++uses_[static_cast<std::size_t>(output)];
  for (std::size_t i = needed_.size(); i-- > 0;) {
    const StoredNode& one = node(static_cast<int>(i));
    if (!needed_[i] || one.kind != StoredNode::Kind::Op) continue;
    const Word* const word = find_word(*one.op);
    std::size_t first = 0, last = one.in.size();
    if (word && word->is_composite) first = 1;
    else if (const std::size_t shown = shown_inputs(one)) last = shown;
    for (std::size_t k = first; k < last; ++k) {
      needed_[static_cast<std::size_t>(one.in[k])] = true;
      ++uses_[static_cast<std::size_t>(one.in[k])];
    }
  }
}

void GraphWriter::give(int i, std::vector<std::string> results) {
  slot(i).results = std::move(results);
  if (slot(i).results.size() == 1) slot(i).loose = slot(i).results[0], slot(i).loose_sizes = sizes(i);
}

void GraphWriter::give_loose(int i, std::string value, Sizes loose_sizes) {
  if (loose_sizes == sizes(i)) return give(i, {std::move(value)});
  slot(i).loose = std::move(value), slot(i).loose_sizes = std::move(loose_sizes);
}

std::string GraphWriter::loose(int i) { return slot(i).loose; }
const Sizes& GraphWriter::loose_sizes(int i) { return slot(i).loose_sizes; }

std::string GraphWriter::value(int i, std::size_t result) {
  Slot& one = slot(i);
  if (one.results.empty()) {
    // Axes that are there already have the size 1 in the shape: it need not be known.
    Sizes to = sizes(i);
    const std::size_t lead = to.size() - one.loose_sizes.size();
    for (std::size_t axis = 0; axis < one.loose_sizes.size(); ++axis)
      if (one.loose_sizes[axis] == to[lead + axis] && !to[lead + axis].is_constant()) to[lead + axis] = 1;
    one.results = {out_.add("Expand", {one.loose, out_.sizes(to)})};
  }
  return one.results[result];
}

void GraphWriter::alias(int i, int from) { slot(i) = slot(from); }

void GraphWriter::write_node(int i) {
  const StoredNode& one = node(i);
  const auto index = static_cast<std::size_t>(one.index);
  switch (one.kind) {
    case StoredNode::Kind::Input: return give(i, {leaves_.inputs[index]});
    case StoredNode::Kind::Variable: return give(i, {leaves_.variables[index]});
    case StoredNode::Kind::Constant: return give(i, {leaves_.constants[index]});
    case StoredNode::Kind::Op: break;
  }
  if (is_scalar(one)) return write_scalar(i);
  out_.set_path(one.origin.path ? *one.origin.path : std::string());
  Site site(*this, i);
  if (one.op->role() == Role::Part) {
    const auto which = static_cast<std::size_t>(site.described().integer("index"));
    const std::string& part = slot(one.in[0]).results[which];
    if (part.empty()) refuse(one.in[0], "result " + std::to_string(which));
    return give(i, {part});
  }
  const Word* const word = find_word(*one.op);
  if (word) {
    if (!write_pattern(site)) word->write(site);
    return;
  }
  if (const std::size_t shown = shown_inputs(one)) {
    if (shown == 1) return alias(i, one.in[0]);
    std::vector<std::string> results;
    for (std::size_t k = 0; k < shown; ++k) results.push_back(value(one.in[k]));
    return give(i, std::move(results));
  }
  if (one.op->role() != Role::Elementwise) refuse(i, "");
  if (write_pattern(site) || write_by_operator(site)) return;
  write_formula(site);
}

std::vector<std::string> GraphWriter::write() {
  mark();
  for (std::size_t i = 0; i < needed_.size(); ++i)
    if (needed_[i]) write_node(static_cast<int>(i));
  std::vector<std::string> out;
  for (const int output : traces_[0]->outputs) out.push_back(value(output));
  return out;
}

}  // namespace tegula::onnx
