// Gathers and scatters.

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

/// The index before it was counted from 0: operators count from the end themselves, and look whether it is in range.
std::string unchecked(Site& site, std::size_t i) {
  const auto& node = site.graph().node(site.in_node(i));
  const bool is_place = node.kind == formats::StoredNode::Kind::Op && node.op->class_name() == "place";
  const int at = is_place ? node.in[0] : site.in_node(i);
  const DType dtype = site.graph().node(at).results[0].dtype;
  const std::string value = site.graph().value(at);
  return dtype == i64 || dtype == i32 ? value : site.out().cast(value, i64);
}

void gather(Site& site) {
  const Described d = site.described();
  const bool is_full = d.text("index") == "full";
  site.give(site.add(is_full ? "GatherElements" : "Gather", {site.in(0), unchecked(site, 1)}, {attribute("axis", d.integer("axis"))}));
}

void scatter(Site& site) {
  site.give(site.add("ScatterElements", {site.in(0), unchecked(site, 1), site.in(2)}, {attribute("axis", std::int64_t{-1})}));
}

/// Lines (outer, count, width) are added to those of zeros (outer, length, width) that `rows` (count) names.
void scatter_add(Site& site) {
  const Described d = site.described();
  const Size outer = d.sizes("outer")[0], count = d.sizes("count")[0], length = d.sizes("length")[0], width = d.sizes("width")[0];
  const bool one = outer == Size(1);
  const Sizes lines = one ? Sizes{count, width} : Sizes{outer, count, width};
  std::string source = site.out().reshape(site.in(1), lines);
  if (!one) source = site.out().transpose(source, {1, 0, 2});
  const DType dtype = site.result().dtype;
  const std::string zeros =
      site.add("Expand", {site.out().number(0, dtype), site.out().sizes(one ? Sizes{length, width} : Sizes{length, outer, width})});
  const std::string rows = site.out().reshape(unchecked(site, 0), Sizes{count, Size(1)});
  std::string y = site.add("ScatterND", {zeros, rows, source}, {attribute("reduction", std::string("add"))});
  if (!one) y = site.out().transpose(y, {1, 0, 2});
  site.give(site.out().reshape(y, site.result_sizes()));
}

/// at, at + 1, …: so many.
std::string places_from(Site& site, const std::string& at, std::int64_t count) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = static_cast<std::int64_t>(k);
  return site.add("Add", {site.out().integers(steps), at});
}

void dynamic_slice(Site& site) {
  const std::int64_t axis = site.described().integer("axis");
  const Size count = site.result_sizes()[static_cast<std::size_t>(axis)];
  if (!count.is_constant()) site.refuse("of a length that depends on an open axis");
  site.give(site.add("Gather", {site.in(0), places_from(site, site.in(1), count.plus)}, {attribute("axis", axis)}));
}

void update_slice(Site& site) {
  const std::int64_t axis = site.described().integer("axis");
  const Sizes slice = site.input_sizes(1);
  const Size count = slice[static_cast<std::size_t>(axis)];
  if (!count.is_constant()) site.refuse("of a length that depends on an open axis");
  std::vector<std::int64_t> line(slice.size() - static_cast<std::size_t>(axis), 1);
  line[0] = count.plus;
  const std::string places = site.out().reshape(places_from(site, site.in(2), count.plus), line);
  const std::string index = site.add("Expand", {places, site.out().sizes(slice)});
  site.give(site.add("ScatterElements", {site.in(0), index, site.in(1)}, {attribute("axis", axis)}));
}

/// The matrix (count, length) that first and weight describe, times x (outer, length, inner).
void resample(Site& site) {
  const Sizes x = site.input_sizes(0);
  if (!x[1].is_constant() || !site.result_sizes()[1].is_constant()) site.refuse("along an open axis");
  const std::int64_t length = x[1].plus, count = site.result().shape[1], taps = site.input(2).shape[1];
  const DType dtype = site.result().dtype;
  NodeList& out = site.out();
  std::vector<std::int64_t> steps(static_cast<std::size_t>(taps)), places(static_cast<std::size_t>(length));
  for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = static_cast<std::int64_t>(k);
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<std::int64_t>(k);
  const std::string at = out.add("Add", {out.reshape(site.in(1), std::vector<std::int64_t>{count, 1, 1}),
                                         out.reshape(out.integers(steps), std::vector<std::int64_t>{1, taps, 1})});  // (count, taps, 1)
  const std::string hits = out.cast(out.add("Equal", {at, out.integers(places)}), site.input(2).dtype);  // (count, taps, length)
  const std::string weight = out.reshape(site.in(2), std::vector<std::int64_t>{count, taps, 1});
  std::string matrix = out.reduce("ReduceSum", out.add("Mul", {hits, weight}), {1});
  if (site.input(2).dtype != dtype) matrix = out.cast(matrix, dtype);
  site.give(out.add("MatMul", {matrix, site.in(0)}));
}

constexpr Word kWords[] = {
    {"gather", gather},
    {"scatter", scatter},
    {"scatter_add", scatter_add},
    {"dynamic_slice", dynamic_slice},
    {"update_slice", update_slice},
    {"resample", resample},
};

}  // namespace

WordList index_words() { return kWords; }

}  // namespace tegula::onnx
