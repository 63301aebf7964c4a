#pragma once
// The functions of the differential driver: the public functions of tegula.h by name, each as a function of tensors and attributes.

#include <tegula/tegula.h>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace differential {

using namespace tegula;
using Tensors = std::vector<Tensor>;
using Attributes = nlohmann::json;
using Function = std::function<Tensors(const Tensors& x, const Attributes& a)>;
using Registry = std::map<std::string, Function>;

/// Layers, whose Variables are made outside of a trace: functions of their parameters, once these are made.
using Prepare = std::function<Function(const Tensors& x, const Attributes& a)>;
inline std::map<std::string, Prepare>& prepared() {
  static std::map<std::string, Prepare> all;
  return all;
}
/// make(x, a) gives the layer with its parameters, run(layer, x, a) its results.
template <class Make, class Run>
void add_layer(Registry& registry, const std::string& name, Make make, Run run) {
  const Prepare prepare = [=](const Tensors& x, const Attributes& a) -> Function {
    const auto layer = std::make_shared<decltype(make(x, a))>(make(x, a));
    return [=](const Tensors& now, const Attributes& attributes) { return run(*layer, now, attributes); };
  };
  prepared()[name] = prepare;
  registry[name] = [=](const Tensors& x, const Attributes& a) { return prepare(x, a)(x, a); };
}

// Each adds a family.
void add_elementwise(Registry& registry);
void add_movement(Registry& registry);
void add_reductions(Registry& registry);
void add_networks(Registry& registry);
void add_images(Registry& registry);
void add_linalg(Registry& registry);
void add_losses(Registry& registry);
void add_layers(Registry& registry);
void add_training(Registry& registry);
void add_attention(Registry& registry);
void add_sequences(Registry& registry);
void add_programs(Registry& registry);

// Attributes with defaults; infinities and NaN travel as text.
inline double real(const Attributes& a, const char* name, double otherwise) {
  const auto found = a.find(name);
  if (found == a.end() || found->is_null()) return otherwise;
  return found->is_string() ? std::stod(found->get<std::string>()) : found->get<double>();
}
inline std::int64_t whole(const Attributes& a, const char* name, std::int64_t otherwise) { return a.value(name, otherwise); }
inline bool flag(const Attributes& a, const char* name) { return a.value(name, false); }
inline Dims dims(const Attributes& a, const char* name) {
  Dims out;
  if (const auto found = a.find(name); found != a.end())
    for (const auto& value : *found) out.push_back(value.get<std::int64_t>());
  return out;
}
inline std::optional<int> axis(const Attributes& a) {
  const auto found = a.find("axis");
  return found == a.end() || found->is_null() ? std::nullopt : std::optional<int>(found->get<int>());
}
inline Keep keep(const Attributes& a) { return flag(a, "keep") ? Keep::Yes : Keep::No; }
inline DType dtype_named(const std::string& name) {
  for (const DType dtype : kAllDTypes)
    if (tegula::name(dtype) == name) return dtype;
  throw std::runtime_error("no dtype " + name);
}
inline LossReduction reduction(const Attributes& a) {
  const std::string name = a.value("reduction", std::string("mean"));
  return name == "none" ? LossReduction::None : name == "sum" ? LossReduction::Sum : LossReduction::Mean;
}
inline Tensor evaluated(const Tensor& x) {
  eval(x);
  return x;
}
/// Operand i: a tensor, or the number that the attribute "number<i>" gives in its place.
inline Arg operand(const Tensors& x, const Attributes& a, std::size_t i) {
  const auto found = a.find("number" + std::to_string(i));
  if (found == a.end()) return Arg(x.at(i));
  if (found->is_boolean()) return Arg(found->get<bool>());
  if (found->is_number_integer()) return Arg(found->get<std::int64_t>());
  return Arg(found->is_string() ? std::stod(found->get<std::string>()) : found->get<double>());
}

}  // namespace differential
