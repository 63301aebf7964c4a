// Reductions, sorts, running sums.

#include "tegula/onnx/out/words.h"
#include "tegula/tile/ir.h"

namespace tegula::onnx {
namespace {

/// Returns a type that operators on rows take in all operator sets: others are computed in a wider one.
DType wide(DType dtype) {
  if (dtype == f64 || dtype == i64 || dtype == u64) return dtype;
  return is_float(dtype) ? f32 : is_unsigned(dtype) && size_of(dtype) == 4 ? u32 : i32;
}

void reduce_by(Site& site, const char* type) {
  const auto axes = site.described().integers("axes");
  const DType has = site.input(0).dtype, to = site.result().dtype;
  // "any" of no booleans at all is the least number of the type: of u8 that is false.
  const DType computed = has == f16 && to == f16 ? f16 : has == boolean ? u8 : wide(has);
  std::string x = site.in(0);
  if (has != computed) x = site.out().cast(x, computed);
  std::string y = axes.empty() ? x : site.out().reduce(type, x, axes);
  if (computed != to) y = site.out().cast(y, to);
  site.give(y);
}

void sum(Site& site) { reduce_by(site, "ReduceSum"); }
void product(Site& site) { reduce_by(site, "ReduceProd"); }
void maximum(Site& site) { reduce_by(site, "ReduceMax"); }
void minimum(Site& site) { reduce_by(site, "ReduceMin"); }

void arg_reduce(Site& site, const char* type) {
  const DType has = site.input(0).dtype, computed = wide(has);
  const std::string x = has == computed ? site.in(0) : site.out().cast(site.in(0), computed);
  const std::string y = site.add(type, {x}, {attribute("axis", std::int64_t{-1}), attribute("keepdims", std::int64_t{0})});
  Sizes rows = site.input_sizes(0);
  rows.pop_back();
  site.give(rows == site.result_sizes() ? y : site.out().reshape(y, site.result_sizes()));
}
void argmax(Site& site) { arg_reduce(site, "ArgMax"); }
void argmin(Site& site) { arg_reduce(site, "ArgMin"); }

void cumsum(Site& site) {
  const DType dtype = site.result().dtype;
  site.give(
      site.in_dtype(site.in(0), dtype, wide(dtype), [&](const std::string& x) { return site.add("CumSum", {x, site.out().integer(-1)}); }));
}

/// Along the last axis, by a Scan whose body is one operator.
void running(Site& site, const char* type) {
  const DType dtype = site.result().dtype, computed = wide(dtype);
  const std::int64_t last = site.rank() - 1;
  const auto run = [&](const std::string& x) {
    NodeList& out = site.out();
    NodeList body(out.sheet());
    const std::string before = out.sheet().name("before"), now = out.sheet().name("now");
    const std::string after = body.add(type, {before, now}), each = body.add("Identity", {after});
    Graph graph;
    graph.name = out.sheet().name("body");
    const auto typed = [&](const std::string& name) { return ValueType{.name = name, .element = type_of(computed)}; };
    graph.inputs = {typed(before), typed(now)}, graph.outputs = {typed(after), typed(each)};
    graph.nodes = body.take();
    // The state begins with the first element: the operator of that and itself is the first result, but for products.
    Sizes rows = site.result_sizes();
    rows.pop_back();
    const bool is_product = std::string_view(type) == "Mul";
    const std::string first = is_product ? out.add("Expand", {out.number(1, computed), out.sizes(rows)})
                                         : out.add("Gather", {x, out.integer(0)}, {attribute("axis", last)});
    return out.add_several(
        "Scan", {first, x},
        {attribute("body", std::move(graph)), attribute("num_scan_inputs", std::int64_t{1}),
         attribute("scan_input_axes", std::vector<std::int64_t>{last}), attribute("scan_output_axes", std::vector<std::int64_t>{last})},
        2)[1];
  };
  site.give(site.in_dtype(site.in(0), dtype, computed, run));
}
void cumprod(Site& site) { running(site, "Mul"); }
void cummax(Site& site) { running(site, "Max"); }
void cummin(Site& site) { running(site, "Min"); }

/// The first of them in order, without those before `begin`.
void sort(Site& site) {
  const Described d = site.described();
  const std::int64_t begin = d.integer("begin");
  const Size count = d.sizes("count")[0];
  const bool descending = d.flag("descending");
  const DType has = site.input(0).dtype, computed = wide(has);
  const std::string x = has == computed ? site.in(0) : site.out().cast(site.in(0), computed);
  Size most = count;
  most.plus += begin;
  std::vector<std::string> found = site.out().add_several(
      "TopK", {x, site.out().size(most)}, {attribute("axis", std::int64_t{-1}), attribute("largest", std::int64_t{descending})}, 2);
  for (std::string& one : found) {
    if (begin == 0) continue;
    one = site.add("Slice", {one, site.out().integers({begin}), site.out().size(most), site.out().integers({-1})});
  }
  if (has != computed) found[0] = site.out().cast(found[0], has);
  site.give(std::move(found));
}

constexpr Word kWords[] = {
    {"sum", sum},       {"prod", product},  {"max", maximum},   {"min", minimum},   {"any", maximum},
    {"all", minimum},   {"argmax", argmax}, {"argmin", argmin}, {"cumsum", cumsum}, {"cumprod", cumprod},
    {"cummax", cummax}, {"cummin", cummin}, {"sort", sort},
};

}  // namespace

WordList row_words() { return kWords; }

}  // namespace tegula::onnx
