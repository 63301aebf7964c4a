#include "tegula/io/keras/config.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tegula::io::keras {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 16;             // models within each other
constexpr std::size_t kFurthest = 1000;  // layers between one with weights and the Flatten that it is behind

bool one_of(const std::string& kind, std::initializer_list<std::string_view> some) { return std::ranges::find(some, kind) != some.end(); }

const Json& at(const Json& json, const char* key) {
  static const Json nothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() ? *found : nothing;
}

bool is_model(const std::string& kind) { return one_of(kind, {"Sequential", "Functional", "Model"}); }

/// Layers that give each number its place again, whatever lies in which axis.
bool keeps_places(const std::string& kind) {
  return one_of(kind,
                {"Dropout", "SpatialDropout1D", "SpatialDropout2D", "Activation", "ReLU", "LeakyReLU", "ELU", "GaussianNoise",
                 "GaussianDropout", "AlphaDropout", "BatchNormalization", "LayerNormalization", "Rescaling", "ActivityRegularization"});
}

/// Layers whose result has as many channels as what they see.
bool keeps_channels(const std::string& kind) {
  return keeps_places(kind) || kind.find("Pooling") != std::string::npos || kind.find("Padding") != std::string::npos ||
         kind.find("UpSampling") != std::string::npos || kind.find("Cropping") != std::string::npos || kind == "GroupNormalization" ||
         kind == "Add" || kind == "Multiply" || kind == "PReLU" || kind == "Normalization";
}

/// Maps here lie as (C, spatial…), sequences of features as in Keras: (T, features).
bool sees_maps(const std::string& kind) {
  return kind.starts_with("Conv") || kind.starts_with("SeparableConv") || kind.starts_with("DepthwiseConv") ||
         (kind.find("Pooling") != std::string::npos) || kind.find("UpSampling") != std::string::npos ||
         kind.find("Padding") != std::string::npos;
}

/// The list at a key, which a SavedModel's metadata wrap as a tuple.
const Json& list_at(const Json& json, const char* key) {
  const Json& found = at(json, key);
  return found.is_object() ? at(found, "items") : found;
}

/// A size; -1 for one that is open, or makes no sense.
std::int64_t size_of(const Json& json) {
  constexpr double kMost = 1 << 30;
  return json.is_number_integer() && json.get<double>() >= 0 && json.get<double>() <= kMost ? json.get<std::int64_t>() : -1;
}

void add_sizes(const Json& list, std::vector<std::int64_t>& out) {
  if (!list.is_array()) return;
  for (const Json& size : list) out.push_back(size_of(size));
}

/// The names of the layers within inbound_nodes of Keras 2 ([["conv1", 0, 0, {}]]) and 3 (keras_history).
void add_inputs(const Json& json, std::vector<std::string>& out, int depth) {
  if (depth > kDeepest) return;
  if (json.is_array()) {
    if (json.size() >= 3 && json[0].is_string() && json[1].is_number_integer() && json[2].is_number_integer()) {
      out.push_back(json[0].get<std::string>());
      return;
    }
    for (const Json& one : json) add_inputs(one, out, depth + 1);
  } else if (json.is_object()) {
    for (const Json& one : json) add_inputs(one, out, depth + 1);
  }
}

}  // namespace

std::string text_at(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_at(const Json& json, const char* key, bool otherwise) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string snake_case(const std::string& kind) {
  std::string out;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const auto is_upper = [&](std::size_t k) { return k < kind.size() && std::isupper(static_cast<unsigned char>(kind[k])); };
    const auto is_lower = [&](std::size_t k) { return k < kind.size() && std::islower(static_cast<unsigned char>(kind[k])); };
    // Keras: an underscore in front of a capital behind a small letter or digit, and of a capital with small ones behind it; but "2D" stays.
    const bool after_small = i > 0 && (is_lower(i - 1) || (std::isdigit(static_cast<unsigned char>(kind[i - 1])) && is_lower(i + 1)));
    const bool begins_word = i > 0 && is_upper(i) && is_lower(i + 1);
    if (is_upper(i) && (after_small || begins_word) && !out.ends_with('_')) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(kind[i])));
  }
  return out;
}

Config::Config(const Json& model) {
  if (!model.is_object()) return;
  const Json& config = at(model, "config");
  add_model(config, text_at(config, "name"), 0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    by_name_.emplace(layers_[i].name, i);
    by_stored_.emplace(layers_[i].model + "/" + layers_[i].stored, i);
  }
}

void Config::add_model(const Json& config, const std::string& name, int depth) {
  if (depth > kDeepest) return;
  const Json& list = config.is_array() ? config : at(config, "layers");  // Keras 1 and 2.0 write a list alone
  if (!list.is_array()) return;
  std::map<std::string, int> counts;
  std::string before;
  const std::size_t begin = layers_.size();
  for (const Json& one : list) {
    Layer layer{.kind = text_at(one, "class_name"), .config = at(one, "config"), .model = name};
    layer.name = text_at(layer.config, "name");
    if (layer.name.empty()) layer.name = text_at(one, "name");
    const int count = counts[layer.kind]++;
    layer.stored = snake_case(layer.kind) + (count ? "_" + std::to_string(count) : "");
    const Json& nodes = at(one, "inbound_nodes");
    if (nodes.is_array()) add_inputs(nodes, layer.inputs, 0);
    else if (!before.empty()) layer.inputs = {before};
    add_sizes(list_at(at(one, "build_config"), "input_shape"), layer.shape);
    for (const char* key : {"batch_input_shape", "batch_shape"})
      if (layer.shape.empty()) add_sizes(list_at(layer.config, key), layer.shape);
    before = layer.name;
    const Json& inner = at(layer.config, "layer");
    if (layer.kind == "TimeDistributed" && inner.is_object()) layer.kind = text_at(inner, "class_name");
    const bool has_layers = is_model(layer.kind);
    const std::size_t own = layers_.size();
    layers_.push_back(layer);
    if (!has_layers) continue;
    add_model(layers_[own].config, layer.name, depth + 1);
    if (layers_.size() == own + 1) continue;
    const Json& outputs = at(layers_[own].config, "output_layers");
    std::vector<std::string> ends;
    add_inputs(outputs, ends, 0);
    layers_[own].last = ends.empty() ? layers_.back().name : ends.front();
    layers_[own].first = layers_[own + 1].name;
  }
  // A layer at the beginning of an inner model sees what the model sees.
  if (depth > 0 && layers_.size() > begin && layers_[begin].inputs.empty() && layers_[begin].kind != "InputLayer")
    layers_[begin].inputs = {name};
}

const Layer* Config::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &layers_[found->second];
}

std::size_t Config::place(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? layers_.size() : found->second;
}

const Layer* Config::find_stored(const std::string& model, const std::string& group) const {
  const std::string& outer = model.empty() && !layers_.empty() ? layers_.front().model : model;
  const auto found = by_stored_.find(outer + "/" + group);
  return found == by_stored_.end() ? nullptr : &layers_[found->second];
}

/// The channels of the map that a Flatten sees: by its own input, or by the layer that made it. 0: it is a row, a sequence, or lies as here already; -1: not known.
std::int64_t Config::channels_in(const Layer& flatten) const {
  if (text_at(flatten.config, "data_format") == "channels_first") return 0;
  std::int64_t known = flatten.shape.size() > 2 ? flatten.shape.back() : -1;
  if (flatten.shape.size() == 2) return 0;
  std::set<std::string> seen;
  const Layer* layer = flatten.inputs.empty() ? nullptr : find(flatten.inputs.front());
  while (layer && seen.size() < kFurthest && seen.insert(layer->name).second) {
    if (is_model(layer->kind)) {
      layer = find(layer->last);
      continue;
    }
    if (text_at(layer->config, "data_format") == "channels_first") return 0;
    if (keeps_channels(layer->kind)) {
      if (layer->kind.starts_with("Global")) return 0;
      if (known < 0 && layer->shape.size() > 2) known = layer->shape.back();
      if (layer->inputs.empty()) return known;
      layer = find(layer->inputs.front());
      continue;
    }
    if (sees_maps(layer->kind)) {
      const Json& filters = at(layer->config, "filters");
      if (filters.is_number_integer()) return size_of(filters);
      const Json& factor = at(layer->config, "depth_multiplier");
      if (known < 0 && layer->kind.starts_with("Depthwise") && factor.is_number_integer() && layer->shape.size() > 2 &&
          layer->shape.back() > 0)
        return layer->shape.back() * size_of(factor);
      return known;
    }
    if (layer->kind == "InputLayer")
      return layer->shape.size() == 2                ? 0
             : layer->shape.size() > 3               ? layer->shape.back()
             : known > 0 && flatten.shape.size() > 3 ? known
                                                     : 0;
    if (one_of(layer->kind, {"Embedding", "LSTM", "GRU", "SimpleRNN", "Bidirectional", "MultiHeadAttention", "Dense"}))
      return flatten.shape.size() > 3 ? known : 0;
    return known;
  }
  return known;
}

Flattened Config::flattened() const {
  Flattened out;
  for (const Layer& layer : layers_) {
    // Back from a layer that has weights, over those that leave each number where it is.
    const bool has_row = one_of(layer.kind, {"Dense", "BatchNormalization", "LayerNormalization"});
    std::set<std::string> seen;
    const Layer* at_input = has_row && !layer.inputs.empty() ? find(layer.inputs.front()) : nullptr;
    while (at_input && seen.size() < kFurthest && seen.insert(at_input->name).second) {
      if (is_model(at_input->kind)) {
        at_input = find(at_input->last);
        continue;
      }
      const bool is_row = at_input->kind == "Reshape" && list_at(at_input->config, "target_shape").size() == 1;
      if (at_input->kind == "Flatten" || is_row) {
        if (const std::int64_t channels = channels_in(*at_input); channels != 0) out.inputs[layer.name] = channels;
        break;
      }
      if (!keeps_places(at_input->kind) || at_input->inputs.empty()) break;
      at_input = find(at_input->inputs.front());
    }
  }
  for (const Layer& layer : layers_) {
    const Json& target = list_at(layer.config, "target_shape");
    if (layer.kind != "Reshape" || !target.is_array() || target.size() < 3 || !target.back().is_number_integer()) continue;
    std::set<std::string> seen;
    const Layer* source = layer.inputs.empty() ? nullptr : find(layer.inputs.front());
    while (source && seen.size() < kFurthest && seen.insert(source->name).second) {
      if (one_of(source->kind, {"Dense", "BatchNormalization", "LayerNormalization"})) out.outputs[source->name] = size_of(target.back());
      if (!keeps_places(source->kind) || source->inputs.empty()) break;
      source = find(source->inputs.front());
    }
  }
  return out;
}

}  // namespace tegula::io::keras
