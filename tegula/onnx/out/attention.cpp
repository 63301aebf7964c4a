// Attention: the operator from set 23 on, a softmax between two products before, and else its composition.

#include "tegula/formats/record.h"
#include "tegula/graph/regions/composed.h"
#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

/// The op's composition in plain ops, written in its place.
void write_composed(Site& site) {
  std::vector<formats::Recording> recordings;
  for (std::size_t trace = 0; trace < site.graph().traces().size(); ++trace) {
    const auto& node = site.graph().node(site.index(), trace);
    std::vector<Result> arguments;
    for (const int input : node.in) arguments.push_back(site.graph().node(input, trace).results[0]);
    const auto body = [&](std::span<const Tensor> x) {
      const PrecisionScope precision(node.precision);
      return compile::Results(static_cast<const LibraryOp&>(*node.op).composed()->composition(x));
    };
    recordings.push_back(formats::record(arguments, body, false, node.origin.where, "onnx::save"));
  }
  GraphWriter::Traces traces;
  for (const auto& one : recordings) traces.push_back(&one.graph);
  GraphWriter::Leaves leaves;
  for (std::size_t i = 0; i < site.size(); ++i) leaves.inputs.push_back(site.in(i));
  for (const Tensor& one : recordings[0].constants) leaves.constants.push_back(site.out().constant(one.to_array()));
  site.give(GraphWriter(site.out(), std::move(traces), std::move(leaves)).write());
}

/// Returns true if the softmax's sum is read, as a gradient does.
bool wants_sums(Site& site) {
  const auto& nodes = site.graph().traces()[0]->nodes;
  for (std::size_t i = static_cast<std::size_t>(site.index()); i < nodes.size(); ++i) {
    const auto& one = nodes[i];
    const bool is_part = one.kind == formats::StoredNode::Kind::Op && one.op->role() == Role::Part && one.in[0] == site.index();
    if (is_part && Described(site.graph(), static_cast<int>(i)).integer("index") == 1 && site.graph().uses(static_cast<int>(i)) > 0)
      return true;
  }
  return false;
}

void attention(Site& site) {
  const Described d = site.described();
  const bool is_plain = d.integer("window") == 0 && d.real("dropout") == 0 && !d.flag("mask") && !d.flag("lengths") && !d.flag("start");
  const DType dtype = site.result().dtype;
  NodeList& out = site.out();
  const bool is_operator = out.opset() >= 23 && d.integer("window") == 0 && d.real("dropout") == 0 && !d.flag("lengths") &&
                           !d.flag("start") && !(d.flag("mask") && d.flag("bias")) && fits_attribute(dtype, d.real("scale"));
  if (dtype == bf16 || wants_sums(site) || (!is_operator && !is_plain)) return write_composed(site);
  const auto scale = static_cast<float>(d.real("scale"));
  std::string o;  // (B, H, M, E)
  if (is_operator) {
    std::vector<std::string> inputs{site.in(0), site.in(1), site.in(2)};
    if (d.flag("mask") || d.flag("bias")) inputs.push_back(site.in(3));
    o = site.add("Attention", std::move(inputs), {attribute("is_causal", std::int64_t{d.flag("causal")}), attribute("scale", scale)});
  } else {
    const Shape &q = site.input(0).shape, &k = site.input(1).shape;
    if (q[1] != k[1] || d.flag("causal") || d.flag("bias")) return write_composed(site);
    const std::string scores = site.add("MatMul", {site.in(0), out.transpose(site.in(1), {0, 1, 3, 2})});
    const std::string scaled = site.add("Mul", {scores, out.number(d.real("scale"), dtype)});
    o = site.add("MatMul", {site.add("Softmax", {scaled}, {attribute("axis", std::int64_t{-1})}), site.in(2)});
  }
  site.give({out.transpose(o, {0, 2, 1, 3}), ""});
}

constexpr Word kWords[] = {{"attention", attention}, {"attention_backward", write_composed}};

}  // namespace

WordList attention_words() { return kWords; }

}  // namespace tegula::onnx
