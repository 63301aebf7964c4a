// A loop is a Scan.

#include <algorithm>

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

ValueType typed(const std::string& name, const Result& result, const Sizes& sizes) {
  ValueType out{.name = name, .element = type_of(result.dtype), .has_shape = true};
  for (const Size& one : sizes) out.sizes.push_back(one.is_constant() ? one.plus : -1);
  out.symbols.resize(sizes.size());
  return out;
}

void scan(Site& site) {
  const Described d = site.described();
  const std::string& kinds =
      d.text("inputs");  // of each input: c, a carried value; s, a slice for each step; others: the same in all steps
  const Size length = d.sizes("length")[0];
  NodeList& out = site.out();
  GraphWriter::Traces bodies;
  for (std::size_t trace = 0; trace < site.graph().traces().size(); ++trace)
    bodies.push_back(site.graph().node(site.index(), trace).body.get());

  NodeList list(out.sheet());
  std::vector<std::string> carried, sliced, leaves;
  std::vector<std::size_t> parameters;  // the inputs that are parameters of the body: carried ones come first
  for (std::size_t i = 0; i < site.size(); ++i) {
    if (kinds[i] != 'c' && kinds[i] != 's') {
      leaves.push_back(site.in(i));  // seen from within
      continue;
    }
    (kinds[i] == 'c' ? carried : sliced).push_back(site.in(i));
    leaves.push_back(out.sheet().name(kinds[i] == 'c' ? "carried" : "slice"));
    parameters.push_back(i);
  }
  std::ranges::stable_sort(parameters, {}, [&](std::size_t i) { return kinds[i] != 'c'; });

  GraphWriter writer(list, bodies, {leaves, {}, site.graph().constants()});
  Graph body;
  body.name = out.sheet().name("body");
  for (const std::size_t i : parameters) {
    Sizes sizes = site.input_sizes(i);
    if (kinds[i] == 's') sizes.erase(sizes.begin());
    body.inputs.push_back(typed(leaves[i], site.input(i), sizes));
  }
  if (sliced.empty()) {  // the number of steps is that of an input's slices
    sliced.push_back(site.add("Expand", {out.integer(0), out.size(length)}));
    body.inputs.push_back({.name = out.sheet().name("slice"), .element = Type::Int64, .has_shape = true});
  }
  const std::vector<std::string> results = writer.write();
  for (std::size_t r = 0; r < results.size(); ++r) {
    Sizes sizes = site.result_sizes(r);
    if (r >= carried.size()) sizes.erase(sizes.begin());
    body.outputs.push_back(typed(list.add("Identity", {results[r]}), site.result(r), sizes));
  }
  body.nodes = list.take();

  const auto stacks = static_cast<std::int64_t>(results.size() - carried.size()), slices = std::ssize(sliced);
  std::vector<Attribute> all{attribute("body", std::move(body)), attribute("num_scan_inputs", slices)};
  if (d.flag("reverse")) {
    all.push_back(attribute("scan_input_directions", std::vector<std::int64_t>(static_cast<std::size_t>(slices), 1)));
    if (stacks > 0) all.push_back(attribute("scan_output_directions", std::vector<std::int64_t>(static_cast<std::size_t>(stacks), 1)));
  }
  std::vector<std::string> inputs = std::move(carried);
  inputs.insert(inputs.end(), sliced.begin(), sliced.end());
  site.give(out.add_several("Scan", std::move(inputs), std::move(all), results.size()));
}

constexpr Word kWords[] = {{"scan", scan}};

}  // namespace

WordList loop_words() { return kWords; }

}  // namespace tegula::onnx
