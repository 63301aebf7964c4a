#include "tegula/nn/summary.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/text.h"
#include "tegula/core/text_table.h"
#include "tegula/graph/print.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace {

std::string module_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

/// The frame that is a layer ("Residual/Conv2d/convolution": Conv2d), as layers are written with capitals, and the path up to it; else the op.
struct LayerFrame {
  std::string type, path;
  bool is_layer = false;
};
LayerFrame layer_frame(const Node& node) {
  LayerFrame out{std::string(node.op().name()), "", false};
  if (!node.origin().path) return out;
  const std::string& path = *node.origin().path;
  for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    if (path[begin] >= 'A' && path[begin] <= 'Z') out = {path.substr(begin, end - begin), path.substr(0, end), true};
  }
  if (!out.is_layer) out.type = path.substr(0, path.find('/'));
  return out;
}

/// Makes rows of the nodes, which come in program order.
class Table {
 public:
  /// `result`: the first thing that the module gives, which is the output of the row that it belongs to.
  Table(const std::unordered_map<const Node*, std::string>& names, const std::vector<Tensor>& inputs, const Node* result)
      : names_(names),
        result_(result) {
    for (const Tensor& input : inputs) data_.insert(input.node().get());
  }

  void add(const Node& node) {
    if (node.op().role() == Role::Leaf) return;
    std::string owner;
    bool reads_data = false;
    for (const auto& input : node.inputs()) {
      if (const auto found = names_.find(input.get()); found != names_.end()) owner = module_of(found->second), named_ = true;
      else if (const auto made = owners_.find(input.get()); made != owners_.end()) owner = made->second, named_ = true;
      reads_data |= data_.contains(input.get());
    }
    const bool owned = std::exchange(named_, false);
    if (!reads_data) {
      if (owned) owners_[&node] = owner;
      return;
    }
    data_.insert(&node);
    if (!node.results().empty()) {  // its parts stand for it
      work_of_several_[&node] = {operations_of(node), moved_by(node)};
      if (owned) owners_[&node] = owner;
      return;
    }
    const LayerFrame frame = layer_frame(node);
    const Role role = node.op().role();
    const bool call = role == Role::Library || role == Role::Kernel || role == Role::Part;
    if (!frame.is_layer && !call && !owned) return;
    if (!continues(node, frame, owner, owned)) rows_.push_back({.type = frame.type}), has_result_ = false;
    SummaryRow& row = rows_.back();
    if (owned) row.module = owner;
    owned_ = (owned_ && &row == last_) || owned;
    last_ = &row;
    path_ = frame.path;
    where_ = node.origin().where;
    row.operations += operations_of(node), row.moved += moved_by(node);
    for (const auto& input : node.inputs()) {
      if (const auto found = work_of_several_.find(input.get()); found != work_of_several_.end()) {
        const Work work = std::exchange(found->second, {});
        row.operations += work.operations, row.moved += work.moved;
      }
    }
    if (std::exchange(has_result_, has_result_ || &node == result_)) return;
    row.output = node.shape();
    row.dtype = node.dtype();
    row.bytes = bytes_of(node.shape(), node.dtype());
  }
  std::vector<SummaryRow> take() { return std::move(rows_); }

 private:
  static double operations_of(const Node& node) {
    if (node.op().role() != Role::Library) return 0;
    std::vector<Shape> shapes;
    for (const auto& input : node.inputs()) shapes.push_back(input->shape());
    return static_cast<const LibraryOp&>(node.op()).operations(shapes, node.shape());
  }
  /// The bytes that a node with counted work moves.
  static std::int64_t moved_by(const Node& node) {
    if (operations_of(node) <= 0) return 0;
    std::int64_t bytes = 0;
    for (const auto& input : node.inputs()) bytes += bytes_of(input->shape(), input->dtype());
    if (node.results().empty()) return bytes + bytes_of(node.shape(), node.dtype());
    for (const Result& result : node.results()) bytes += bytes_of(result.shape, result.dtype);
    return bytes;
  }
  static std::int64_t bytes_of(const Shape& shape, DType dtype) { return numel(shape) * static_cast<std::int64_t>(size_of(dtype)); }
  // True if the node belongs to the previous row: the same call of a layer, or, outside of layers, the same owner of parameters.
  bool continues(const Node& node, const LayerFrame& frame, const std::string& owner, bool owned) const {
    if (rows_.empty()) return false;
    const SummaryRow& row = rows_.back();
    if (owned && owned_ && owner != row.module) return false;
    if (!frame.is_layer) return owned && owned_ && path_.empty();
    const auto& at = node.origin().where;
    return frame.path == path_ && at.line() == where_.line() && at.column() == where_.column();
  }

  const std::unordered_map<const Node*, std::string>& names_;  // placeholders of parameters and buffers
  std::unordered_map<const Node*, std::string> owners_;  // nodes computed from those alone
  std::unordered_set<const Node*> data_;  // nodes that depend on the inputs
  struct Work {
    double operations = 0;
    std::int64_t moved = 0;
  };
  std::unordered_map<const Node*, Work> work_of_several_;  // work of nodes with several results, until one of their parts has a row
  const Node* result_;
  bool has_result_ = false;  // the last row
  std::vector<SummaryRow> rows_;
  const SummaryRow* last_ = nullptr;
  bool named_ = false, owned_ = false;
  std::string path_;
  Line where_;
};

}  // namespace

namespace nn::detail {

Tensor of_zeros(const Shape& shape, DType dtype, const Line& where) { return graph::full(shape, 0.0, dtype, where); }

Summary summary(const AnyModule& module, const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& forward,
                const std::vector<Tensor>& inputs, const Line& where) {
  Summary out;
  Trace trace(where);
  std::vector<Tensor> arguments;
  for (const Tensor& input : inputs) arguments.push_back(trace.argument(input.shape(where), input.dtype(where)));
  std::unordered_map<const Node*, std::string> names;
  const Parameters all = nn::state(module), trained = parameters(module);
  std::vector<Tensor> placeholders;
  for (const Parameter& p : all) {
    placeholders.push_back(p.read());
    names[placeholders.back().node().get()] = p.name;
  }
  const std::vector<Tensor> results = forward(arguments);
  const std::vector<const Node*> nodes = nodes_below(results);
  Table table(names, arguments, results.empty() ? nullptr : results[0].node().get());
  std::unordered_set<std::string> reached;
  for (const Node* node : nodes) {
    table.add(*node);
    if (const auto found = names.find(node); found != names.end()) reached.insert(found->second);
  }
  out.rows = table.take();
  for (const Parameter& p : trained) {
    const std::int64_t count = numel(p.cell->shape());
    out.parameters += count;
    out.parameter_bytes += count * static_cast<std::int64_t>(size_of(p.cell->dtype()));
    if (!reached.contains(p.name)) out.unused.push_back(p.name);
    const std::string owner = module_of(p.name);
    const auto row = std::find_if(out.rows.begin(), out.rows.end(), [&](const SummaryRow& r) { return r.module == owner; });
    if (row == out.rows.end()) continue;
    row->weights +=
        (row->weights.empty() ? "" : ", ") + p.name.substr(owner.empty() ? 0 : owner.size() + 1) + " " + to_string(p.cell->shape());
    row->parameters += count;
  }
  return out;
}

}  // namespace nn::detail

std::string Summary::text() const {
  TextTable table({"module", "type", "weights", "output", "parameters", "FLOP", "bytes", "FLOP/byte"});
  table.rule();
  double operations = 0;
  std::int64_t bytes = 0, moved = 0;
  const auto intensity = [](double work, std::int64_t of) {
    char text[32] = "-";
    if (of > 0) std::snprintf(text, sizeof text, "%.1f", work / static_cast<double>(of));
    return std::string(text);
  };
  for (const SummaryRow& r : rows) {
    table.add({r.module, r.type, r.weights, (r.dtype == DType::f32 ? "" : std::string(name(r.dtype))) + to_string(r.output),
               r.parameters ? std::to_string(r.parameters) : "-", r.operations > 0 ? quantity(r.operations) : "-",
               bytes_text(static_cast<std::size_t>(r.bytes)), intensity(r.operations, r.moved)});
    operations += r.operations;
    bytes += r.bytes, moved += r.moved;
  }
  table.rule();
  table.add({"total", "", "", "", std::to_string(parameters), quantity(operations), bytes_text(static_cast<std::size_t>(bytes)),
             intensity(operations, moved)});
  std::string text = table.text(0, 3);
  text += "The parameters take " + bytes_text(static_cast<std::size_t>(parameter_bytes)) +
          "; bytes are those of outputs. Counted as work are multiplications and additions of\n"
          "matrix products, convolutions and pooling; FLOP/byte is that work beside the bytes of its operands and results.\n";
  if (!unused.empty()) {
    text += "Not reached by the call:";
    for (const auto& name : unused) text += " " + name;
    text += "\n";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Summary& summary) { return out << summary.text(); }

}  // namespace tegula
