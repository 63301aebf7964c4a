#include "tests/differential/registry.h"

namespace differential {
namespace {

int at(const Attributes& a, const char* name = "axis", int otherwise = -1) { return static_cast<int>(whole(a, name, otherwise)); }

Slice slice_of(const Attributes& a) {
  Slice out;
  if (!a.at(0).is_null()) out.begin = a.at(0).get<std::int64_t>();
  if (!a.at(1).is_null()) out.end = a.at(1).get<std::int64_t>();
  out.step = a.at(2).get<std::int64_t>();
  return out;
}

}  // namespace

void add_movement(Registry& r) {
  r["reshape"] = [](const Tensors& x, const Attributes& a) { return Tensors{reshape(x[0], dims(a, "shape"))}; };
  r["flatten"] = [](const Tensors& x, const Attributes& a) { return Tensors{flatten(x[0], at(a, "start", 0), at(a, "end"))}; };
  r["permute"] = [](const Tensors& x, const Attributes& a) { return Tensors{permute(x[0], dims(a, "order"))}; };
  r["transpose"] = [](const Tensors& x, const Attributes& a) { return Tensors{transpose(x[0], at(a, "a", -2), at(a, "b"))}; };
  r["swapaxes"] = [](const Tensors& x, const Attributes& a) { return Tensors{swapaxes(x[0], at(a, "a", -2), at(a, "b"))}; };
  r["movedim"] = [](const Tensors& x, const Attributes& a) { return Tensors{movedim(x[0], at(a, "a", -2), at(a, "b"))}; };
  r["squeeze"] = [](const Tensors& x, const Attributes& a) { return Tensors{squeeze(x[0], dims(a, "axes"))}; };
  r["unsqueeze"] = [](const Tensors& x, const Attributes& a) { return Tensors{unsqueeze(x[0], at(a))}; };
  r["expand_dims"] = [](const Tensors& x, const Attributes& a) { return Tensors{expand_dims(x[0], at(a))}; };
  r["expand"] = [](const Tensors& x, const Attributes& a) { return Tensors{expand(x[0], dims(a, "shape"))}; };
  r["broadcast_to"] = [](const Tensors& x, const Attributes& a) { return Tensors{broadcast_to(x[0], dims(a, "shape"))}; };
  r["slice"] = [](const Tensors& x, const Attributes& a) {
    std::vector<Slice> slices;
    for (const auto& one : a.at("slices")) slices.push_back(slice_of(one));
    return Tensors{slice(x[0], slices)};
  };
  r["select"] = [](const Tensors& x, const Attributes& a) { return Tensors{select(x[0], at(a), whole(a, "index", 0))}; };
  r["flip"] = [](const Tensors& x, const Attributes& a) { return Tensors{flip(x[0], dims(a, "axes"))}; };
  r["diagonal"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{diagonal(x[0], whole(a, "offset", 0), at(a, "a", -2), at(a, "b"))};
  };
  r["windows"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{windows(x[0], {whole(a, "axis", -1)}, {whole(a, "window", 2)}, {.stride = {whole(a, "stride", 1)}})};
  };
  r["concat"] = [](const Tensors& x, const Attributes& a) { return Tensors{concat(x, at(a))}; };
  r["stack"] = [](const Tensors& x, const Attributes& a) { return Tensors{stack(x, at(a))}; };
  r["split"] = [](const Tensors& x, const Attributes& a) { return split(x[0], whole(a, "size", 2), at(a)); };
  r["chunk"] = [](const Tensors& x, const Attributes& a) { return chunk(x[0], whole(a, "count", 2), at(a)); };
  r["unbind"] = [](const Tensors& x, const Attributes& a) { return unbind(x[0], at(a)); };
  r["pad"] = [](const Tensors& x, const Attributes& a) {
    const std::string mode = a.value("mode", std::string("constant"));
    std::vector<PadWidth> widths;
    for (const auto& one : a.at("widths")) widths.push_back({one.at(0), one.at(1)});
    PadOptions options{.mode = mode == "reflect"     ? PadMode::Reflect
                               : mode == "replicate" ? PadMode::Replicate
                               : mode == "circular"  ? PadMode::Circular
                                                     : PadMode::Constant};
    if (a.contains("value") && a.at("value").is_number_integer()) options.value = a.at("value").get<std::int64_t>();
    else options.value = real(a, "value", 0);
    return Tensors{pad(x[0], widths, options)};
  };
  r["repeat"] = [](const Tensors& x, const Attributes& a) { return Tensors{repeat(x[0], dims(a, "counts"))}; };
  r["repeat_interleave"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{repeat_interleave(x[0], whole(a, "count", 2), axis(a))};
  };
  r["roll"] = [](const Tensors& x, const Attributes& a) { return Tensors{roll(x[0], dims(a, "shifts"), dims(a, "axes"))}; };
  r["tril"] = [](const Tensors& x, const Attributes& a) { return Tensors{tril(x[0], whole(a, "k", 0))}; };
  r["triu"] = [](const Tensors& x, const Attributes& a) { return Tensors{triu(x[0], whole(a, "k", 0))}; };
  r["diag"] = [](const Tensors& x, const Attributes& a) { return Tensors{diag(x[0], whole(a, "k", 0))}; };
  r["take"] = [](const Tensors& x, const Attributes& a) { return Tensors{take(x[0], x[1], axis(a))}; };
  r["index"] = [](const Tensors& x, const Attributes&) { return Tensors{index(x[0], x[1])}; };
  r["index_select"] = [](const Tensors& x, const Attributes& a) { return Tensors{index_select(x[0], at(a), x[1])}; };
  r["gather"] = [](const Tensors& x, const Attributes& a) { return Tensors{gather(x[0], at(a), x[1])}; };
  r["take_along_axis"] = [](const Tensors& x, const Attributes& a) { return Tensors{take_along_axis(x[0], x[1], at(a))}; };
  r["scatter"] = [](const Tensors& x, const Attributes& a) { return Tensors{scatter(x[0], at(a), x[1], operand(x, a, 2))}; };
  r["scatter_add"] = [](const Tensors& x, const Attributes& a) { return Tensors{scatter_add(x[0], at(a), x[1], x[2])}; };
  r["index_add"] = [](const Tensors& x, const Attributes& a) { return Tensors{index_add(x[0], at(a), x[1], x[2])}; };
  r["masked_fill"] = [](const Tensors& x, const Attributes& a) { return Tensors{masked_fill(x[0], x[1], operand(x, a, 2))}; };
  r["one_hot"] = [](const Tensors& x, const Attributes& a) { return Tensors{one_hot(x[0], whole(a, "classes", 3))}; };
  r["embedding"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{a.contains("padding") ? embedding(x[1], x[0], whole(a, "padding", 0)) : embedding(x[1], x[0])};
  };
  r["zeros"] = [](const Tensors&, const Attributes& a) { return Tensors{zeros(dims(a, "shape"), dtype_named(a.at("dtype")))}; };
  r["ones"] = [](const Tensors&, const Attributes& a) { return Tensors{ones(dims(a, "shape"), dtype_named(a.at("dtype")))}; };
  r["full"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{full(dims(a, "shape"), operand(x, a, 0), dtype_named(a.at("dtype")))};
  };
  r["zeros_like"] = [](const Tensors& x, const Attributes&) { return Tensors{zeros_like(x[0])}; };
  r["ones_like"] = [](const Tensors& x, const Attributes&) { return Tensors{ones_like(x[0])}; };
  r["full_like"] = [](const Tensors& x, const Attributes& a) { return Tensors{full_like(x[0], operand(x, a, 1))}; };
  r["arange"] = [](const Tensors&, const Attributes& a) {
    const DType dtype = dtype_named(a.at("dtype"));
    if (a.at("begin").is_number_integer())
      return Tensors{arange(a.at("begin").get<std::int64_t>(), a.at("end").get<std::int64_t>(), a.at("step").get<std::int64_t>(), dtype)};
    return Tensors{arange(real(a, "begin", 0), real(a, "end", 0), real(a, "step", 1), dtype)};
  };
  r["linspace"] = [](const Tensors&, const Attributes& a) {
    return Tensors{linspace(real(a, "begin", 0), real(a, "end", 1), whole(a, "count", 5), dtype_named(a.at("dtype")))};
  };
  r["eye"] = [](const Tensors&, const Attributes& a) {
    return Tensors{eye(whole(a, "rows", 2), whole(a, "columns", 2), dtype_named(a.at("dtype")))};
  };
}

}  // namespace differential
