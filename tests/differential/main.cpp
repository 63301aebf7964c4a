// The driver of scripts/differential.py: reads cases, one JSON object a line, computes them, writes results the same way. Modes: plain; jit, whose arguments
// are the inputs; vars, a jit that reads its inputs from Variables.
//
//   {"op": "softmax", "mode": "plain", "order": 2, "attributes": {"axis": -1},
//    "inputs": [{"dtype": "f32", "shape": [2, 3], "view": "dense", "data": "hexadecimal bytes, row-major", "wanted": true}]}
//   {"outputs": [{"dtype": "f32", "shape": [2, 3], "data": "…"}], "first": [gradients of the wanted inputs], "second": [theirs]}
//   {"error": "what an Error said"}
//
// First: the gradient of Σ weight * output, second that of Σ weight * first, with the weights of weights_like.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "tests/differential/registry.h"

namespace differential {
namespace {

using nlohmann::json;

std::string to_hex(const HostArray& array) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto* bytes = static_cast<const unsigned char*>(array.buffer->data());
  std::string text;
  text.reserve(array.bytes() * 2);
  for (std::size_t i = 0; i < array.bytes(); ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

Tensor leaf_from(const json& input) {
  HostArray array = HostArray::empty(dtype_named(input.at("dtype")), dims(input, "shape"));
  const std::string& text = input.at("data").get_ref<const std::string&>();
  if (text.size() != 2 * array.bytes()) throw std::runtime_error("data of another size");
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  auto* bytes = static_cast<unsigned char*>(array.buffer->data());
  for (std::size_t i = 0; i < array.bytes(); ++i) bytes[i] = static_cast<unsigned char>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return from_array(array);
}

/// The layout of an input in memory: the leaf's layout, and the view ops from it to the input. Gradients go the same way.
enum class View { Dense, Transposed, Strided, Flipped, Wide };
View view_of(const json& input) {
  const std::string name = input.value("view", std::string("dense"));
  return name == "transposed" ? View::Transposed
         : name == "strided"  ? View::Strided
         : name == "flipped"  ? View::Flipped
         : name == "wide"     ? View::Wide
                              : View::Dense;
}
/// Rows far from each other, at distances that nothing divides, of which every third is one of the tensor's.
constexpr std::int64_t kBefore = 5, kBehind = 1032, kRows = 3;
Dims backwards(int rank) {
  Dims order;
  for (int i = rank - 1; i >= 0; --i) order.push_back(i);
  return order;
}
Tensor stored(const Tensor& x, View view) {
  if (x.rank() == 0 || view == View::Dense) return x;
  if (view == View::Transposed) return from_array(permute(x, backwards(x.rank())).to_array());
  if (view == View::Flipped) return from_array(flip(x).to_array());
  if (view == View::Wide) {
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths.back() = {kBefore, kBehind};
    const Tensor rows = x.rank() > 1 ? repeat_interleave(x, kRows, 0) : x;
    return from_array((rows.dtype() == DType::boolean ? cast(pad(cast(rows, u8), widths), DType::boolean) : pad(rows, widths)).to_array());
  }
  return from_array(repeat_interleave(x, 2, -1).to_array());
}
Tensor viewed(const Tensor& leaf, View view) {
  if (leaf.rank() == 0 || view == View::Dense) return leaf;
  if (view == View::Transposed) return permute(leaf, backwards(leaf.rank()));
  if (view == View::Flipped) return flip(leaf);
  if (view == View::Wide) {
    const Tensor columns = slice(leaf, -1, {kBefore, leaf.size(-1) - kBehind});
    return leaf.rank() > 1 ? slice(columns, 0, {.step = kRows}) : columns;
  }
  return slice(leaf, -1, {.step = 2});
}

/// Small numbers that every dtype holds.
Tensor weights_like(const Tensor& x, int salt) {
  const Tensor i = reshape(arange(x.numel()), x.shape());
  return cast(remainder(i * 7 + 3 + salt, 11) - 5, x.dtype()) * 0.25;
}

struct Results {
  Tensors outputs, first, second;
};

Results compute(const Function& f, const json& one, const Tensors& leaves) {
  Results results;
  Tensors x, targets;
  std::vector<View> views;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const json& input = one.at("inputs").at(i);
    x.push_back(viewed(leaves[i], view_of(input)));
    if (!input.value("wanted", false)) continue;
    targets.push_back(leaves[i]);
    views.push_back(view_of(input));
  }
  results.outputs = f(x, one.value("attributes", json::object()));
  const int order = one.value("order", 0);
  if (order == 0 || targets.empty()) return results;
  const auto objective = [](const Tensors& values, int salt) {
    Tensor total;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!is_float(values[k].dtype())) continue;
      const Tensor part = cast(sum(values[k] * weights_like(values[k], salt + static_cast<int>(k))), f64);
      total = total.defined() ? total + part : part;
    }
    return total;
  };
  const auto in_view = [&](const Tensors& gradients) {
    Tensors out;
    for (std::size_t i = 0; i < gradients.size(); ++i) out.push_back(viewed(gradients[i], views[i]));
    return out;
  };
  const std::vector<Wrt> list(targets.begin(), targets.end());
  const auto gradients = [&](const Tensor& total) {  // zeros where nothing depends on the inputs, as PyTorch is asked for
    Tensors none;
    for (const Tensor& target : targets) none.push_back(zeros_like(target));
    if (!total.defined()) return in_view(none);
    try {
      return in_view(grad(total, list));
    } catch (const Error& error) {
      if (std::strstr(error.what(), "depends on none") == nullptr) throw;
      return in_view(none);
    }
  };
  results.first = gradients(objective(results.outputs, 0));
  if (order > 1) results.second = gradients(objective(results.first, 5));
  return results;
}

json written(const Tensors& values) {
  json list = json::array();
  for (const Tensor& value : values) {
    const HostArray array = value.to_array();
    json shape = json::array();
    for (const auto size : array.shape) shape.push_back(size);
    list.push_back({{"dtype", std::string(name(array.dtype))}, {"shape", shape}, {"data", to_hex(array)}});
  }
  return list;
}

// The second result of a jit-ed f: that of the compiled program. A jit takes a fixed number of tensors.
using Traced = std::function<Tensors(const Tensors&)>;
template <std::size_t... I>
Tensors twice(const Tensors& x, const Traced& f, std::index_sequence<I...>) {
  auto compiled = jit([&](std::conditional_t<(I < sizeof...(I)), Tensor, void>... in) { return f({in...}); });
  compiled(x[I]...);
  return compiled(x[I]...);
}
template <std::size_t N>
Tensors twice_with(const Tensors& x, const Traced& f) {
  return twice(x, f, std::make_index_sequence<N>());
}
Tensors twice_in_a_jit(const Tensors& x, const Traced& f) {
  constexpr Tensors (*kByCount[])(const Tensors&, const Traced&) = {twice_with<1>, twice_with<2>, twice_with<3>, twice_with<4>,
                                                                    twice_with<5>};
  if (x.empty() || x.size() > std::size(kByCount)) throw std::runtime_error("a jit of so many inputs is not prepared");
  return kByCount[x.size() - 1](x, f);
}

constexpr std::size_t kMostArguments = 5;  // of a jit-ed function; further inputs are captured

/// All results, one behind the other, are those of one program.
Results in_a_jit(const Function& f, const json& one, const Tensors& arguments, const std::function<Tensors(const Tensors&)>& leaves_of) {
  std::size_t outputs = 0, first = 0;
  const Tensors all = twice_in_a_jit(arguments, [&](const Tensors& in) {
    const Results r = compute(f, one, leaves_of(in));
    outputs = r.outputs.size();
    first = r.first.size();
    Tensors list = r.outputs;
    list.insert(list.end(), r.first.begin(), r.first.end());
    list.insert(list.end(), r.second.begin(), r.second.end());
    return list;
  });
  const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(0), at(outputs)}, {at(outputs), at(outputs + first)}, {at(outputs + first), all.end()}};
}

Results results_of(Function f, const json& one) {
  Tensors leaves;
  for (const json& input : one.at("inputs")) leaves.push_back(stored(leaf_from(input), view_of(input)));
  const std::string mode = one.value("mode", std::string("plain"));
  if (mode == "plain") return compute(f, one, leaves);
  std::size_t data = leaves.size();
  if (const auto layer = prepared().find(one.at("op").get<std::string>()); layer != prepared().end()) {
    Tensors x;
    for (std::size_t i = 0; i < leaves.size(); ++i) x.push_back(evaluated(viewed(leaves[i], view_of(one.at("inputs").at(i)))));
    const json attributes = one.value("attributes", json::object());
    f = layer->second(x, attributes);
    data -= attributes.at("names").size();
  }
  if (mode == "vars") {
    const std::vector<Variable> variables(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(data));
    return in_a_jit(f, one, {evaluated(zeros({}))}, [&](const Tensors&) {
      Tensors x = leaves;
      for (std::size_t i = 0; i < data; ++i) x[i] = variables[i].read();
      return x;
    });
  }
  const Tensors arguments(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(std::min(data, kMostArguments)));
  return in_a_jit(f, one, arguments, [&](const Tensors& in) {
    Tensors x = leaves;
    std::copy(in.begin(), in.end(), x.begin());
    return x;
  });
}

json answer(const Registry& registry, const json& one) {
  const auto found = registry.find(one.at("op").get<std::string>());
  if (found == registry.end()) return {{"missing", true}};
  try {
    const Results results = results_of(found->second, one);
    return {{"outputs", written(results.outputs)}, {"first", written(results.first)}, {"second", written(results.second)}};
  } catch (const Error& error) { return {{"error", error.what()}}; } catch (const std::exception& error) {
    return {{"failure", error.what()}};  // everything else is a defect
  }
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) {
  using namespace differential;
  Registry registry;
  for (const auto add : {add_elementwise, add_movement, add_reductions, add_networks, add_images, add_linalg, add_losses, add_layers,
                         add_training, add_attention, add_sequences, add_programs})
    add(registry);
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const auto& [name, _] : registry) std::printf("%s\n", name.c_str());
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    std::cout << answer(registry, json::parse(line)).dump() << std::endl;
  }
  return 0;
}
