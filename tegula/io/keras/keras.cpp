#include "tegula/io/keras/keras.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/keras/config.h"
#include "tegula/io/keras/layers.h"
#include "tegula/io/keras/variables.h"

namespace tegula::io {
namespace {

using namespace keras;

/// A name without the number that tells it from others of its kind: "conv2d_1" is "conv2d".
std::string without_number(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

/// The part of a layer that a group within it is; "" for the layer itself, or its only cell.
std::string part_of(const std::string& group) {
  if (group.starts_with("forward_")) return "forward";
  if (group.starts_with("backward_")) return "backward";
  std::string name = group.starts_with("_") ? group.substr(1) : group;
  if (name.ends_with("_dense")) name.resize(name.size() - 6);
  if (name == "query" || name == "key" || name == "value") return name;
  return name == "attention_output" || name == "output" ? "output" : "";
}

bool is_cell(const std::string& group) { return group == "cell" || without_number(group).ends_with("_cell"); }

/// The class that a group of .weights.h5 is named by: "conv2d_transpose_1".
std::string kind_of_group(const std::string& group) {
  constexpr std::string_view kKinds[] = {"Dense",
                                         "EinsumDense",
                                         "Conv1D",
                                         "Conv2D",
                                         "Conv3D",
                                         "Conv1DTranspose",
                                         "Conv2DTranspose",
                                         "Conv3DTranspose",
                                         "DepthwiseConv1D",
                                         "DepthwiseConv2D",
                                         "SeparableConv1D",
                                         "SeparableConv2D",
                                         "BatchNormalization",
                                         "LayerNormalization",
                                         "GroupNormalization",
                                         "Embedding",
                                         "PReLU",
                                         "LSTM",
                                         "GRU",
                                         "SimpleRNN",
                                         "Bidirectional",
                                         "MultiHeadAttention",
                                         "Normalization",
                                         "Sequential",
                                         "Functional"};
  const std::string name = without_number(group);
  for (const std::string_view kind : kKinds)
    if (snake_case(std::string(kind)) == name) return std::string(kind);
  return "";
}

/// The place to which a variable belongs.
struct Place {
  std::vector<std::string> outer;  // models within the model
  std::string layer, part, kind;
};

class Reader {
 public:
  Reader(Stored stored, std::string_view file, const KerasOptions& options)
      : stored_(std::move(stored)),
        config_(stored_.config),
        file_(file),
        options_(options) {}

  std::vector<KerasTensor> run() {
    collect();
    flatten();
    // In the order of the model, where the file has it.
    std::vector<std::size_t> order(layers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto place = [&](std::size_t i) { return config_.place(own_names_[i]); };
    std::ranges::stable_sort(order, {}, place);
    std::vector<KerasTensor> out;
    for (const std::size_t i : order) {
      auto tensors = tensors_of(layers_[i], file_);
      std::move(tensors.begin(), tensors.end(), std::back_inserter(out));
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& got, const std::string& expected, const std::string& advice = "") const {
    throw Error({.op = "keras", .got = printable(std::string(file_) + ": " + got), .expected = expected, .advice = advice});
  }

  Place numbered_place(const Variable& variable) const {
    Place out;
    std::string model;
    for (std::size_t i = 0; i < variable.layers.size(); ++i) {
      const std::string& both = variable.layers[i];
      const std::size_t equals = both.find('=');
      const std::string group = both.substr(0, equals), own = equals == std::string::npos ? "" : both.substr(equals + 1);
      if (!out.layer.empty()) {
        if (const std::string part = part_of(group); !part.empty()) out.part = part;
        continue;
      }
      const keras::Layer* layer = config_.find_stored(model, group);
      const std::string kind = layer ? layer->kind : kind_of_group(group), name = layer ? layer->name : own.empty() ? group : own;
      if ((kind == "Sequential" || kind == "Functional") && i + 1 < variable.layers.size()) {
        out.outer.push_back(name), model = name;
        continue;
      }
      out.layer = name, out.kind = kind;
    }
    return out;
  }

  Place named_place(const Variable& variable) const {
    Place out;
    std::size_t at = 0;
    if (config_.is_there()) {
      const auto is_layer = [&](const std::string& name) {
        const keras::Layer* layer = config_.find(name);
        return layer && layer->first.empty();
      };
      while (at < variable.layers.size() && !is_layer(variable.layers[at])) ++at;
      if (at < variable.layers.size()) out.kind = config_.find(variable.layers[at])->kind;
    }
    if (!config_.is_there() || at == variable.layers.size()) {
      // By its parts alone, from behind: a cell, a direction, a projection of attention.
      at = variable.layers.empty() ? 0 : variable.layers.size() - 1;
      while (at > 0 && (is_cell(variable.layers[at]) || !part_of(variable.layers[at]).empty())) --at;
    }
    if (variable.layers.empty()) return out;
    out.outer.assign(variable.layers.begin(), variable.layers.begin() + static_cast<std::ptrdiff_t>(at));
    out.layer = variable.layers[at];
    for (std::size_t i = at + 1; i < variable.layers.size(); ++i)
      if (const std::string part = part_of(variable.layers[i]); !part.empty()) out.part = part;
    return out;
  }

  void collect() {
    std::vector<Place> places;
    std::map<std::string, std::size_t> counts;  // variables of a layer's part, for their names by number
    std::map<std::string, std::size_t> index;   // of layers by all their names
    std::map<std::string, std::set<std::string>> same;  // chains by a layer's own name
    const auto chain = [](const Place& place) {
      std::string out;
      for (const std::string& outer : place.outer) out += outer + ".";
      return out + place.layer;
    };
    for (const Variable& variable : stored_.variables) {
      const Place& place = places.emplace_back(stored_.numbered ? numbered_place(variable) : named_place(variable));
      ++counts[chain(place) + "/" + place.part];
      same[place.layer].insert(chain(place));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Place& place = places[i];
      const Variable& variable = stored_.variables[i];
      const auto [found, is_new] = index.emplace(chain(place), layers_.size());
      if (is_new) {
        // Its own name, or that with the outer names where several layers have it.
        const bool is_only = same[place.layer].size() == 1;
        layers_.push_back({.name = is_only ? place.layer : chain(place), .kind = place.kind, .parts = {}});
        own_names_.push_back(place.layer);
      }
      LayerWeights& layer = layers_[found->second];
      const std::string name = stored_.numbered ? name_by_number(place, variable, counts[chain(place) + "/" + place.part]) : variable.name;
      if (!layer.parts[place.part].emplace(name, Part{variable.array, variable.path}).second)
        fail("two variables " + layer.name + "/" + name, "each name once");
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      LayerWeights& layer = layers_[i];
      const keras::Layer* config = config_.find(own_names_[i]);
      const auto said = options_.kinds.find(layer.name);
      if (said != options_.kinds.end()) layer.kind = said->second;
      else if (layer.kind.empty()) layer.kind = kind_of_variables(layer.name, layer.parts);
      if (layer.kind == "Bidirectional") {
        const auto inner = config && config->config.is_object() ? config->config.find("layer") : nlohmann::json::const_iterator();
        const std::string within =
            config && config->config.is_object() && inner != config->config.end() ? text_at(*inner, "class_name") : "";
        layer.kind = within.empty() ? kind_of_variables(layer.name, layer.parts) : "Bidirectional:" + within;
      }
    }
    require_known(options_.kinds, "kinds");
    require_known(options_.flattened, "flattened");
  }

  template <class Map>
  void require_known(const Map& map, const char* what) const {
    for (const auto& [name, value] : map) {
      if (std::ranges::find(layers_, name, &LayerWeights::name) == layers_.end())
        fail("KerasOptions::" + std::string(what) + " names " + name, "a layer with weights");
    }
  }

  std::string name_by_number(const Place& place, const Variable& variable, std::size_t count) const {
    const auto said = options_.kinds.find(place.layer);
    std::vector<std::string> names = numbered_names(said == options_.kinds.end() ? place.kind : said->second, count);
    // A batch norm without gamma or beta: the configuration says which.
    if (const keras::Layer* layer = config_.find(place.layer); layer && names.empty() && place.kind.ends_with("Normalization")) {
      if (flag_at(layer->config, "scale", true)) names.push_back("gamma");
      if (flag_at(layer->config, "center", true)) names.push_back("beta");
      if (place.kind == "BatchNormalization") names.insert(names.end(), {"moving_mean", "moving_variance"});
    }
    std::size_t number = 0;
    for (const char digit : variable.name) {
      if (!std::isdigit(static_cast<unsigned char>(digit)) || number > count) return variable.name;
      number = 10 * number + static_cast<std::size_t>(digit - '0');
    }
    return number < names.size() ? names[number] : variable.name;
  }

  /// The channels of maps that are seen as rows.
  void flatten() {
    const Flattened known = config_.flattened();
    if (!config_.is_there()) count_widths();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      LayerWeights& layer = layers_[i];
      const auto said = options_.flattened.find(layer.name);
      const auto found = known.inputs.find(own_names_[i]);
      const auto after = known.outputs.find(own_names_[i]);
      if (after != known.outputs.end()) layer.outputs_channels = std::max<std::int64_t>(after->second, 0);
      if (said != options_.flattened.end()) layer.inputs_channels = said->second;
      else if (found != known.inputs.end()) layer.inputs_channels = found->second;
      else if (!config_.is_there() && layer.kind == "Dense" && may_be_flattened(layer)) layer.inputs_channels = -1;
      if (layer.inputs_channels < 0) ask_for_channels(layer);
    }
  }

  /// Without configuration: there are maps, and no other layer gives as many numbers as it takes.
  bool may_be_flattened(const LayerWeights& dense) const {
    const std::int64_t in = width(dense, 0);
    const auto found = makers_.find(in);
    const std::int64_t others = (found == makers_.end() ? 0 : found->second) - (widths_of(dense).contains(in) ? 1 : 0);
    return has_maps_ && others == 0;
  }
  /// The sizes of what a layer gives, by its biases, norms and kernels.
  static std::set<std::int64_t> widths_of(const LayerWeights& layer) {
    std::set<std::int64_t> out;
    for (const auto& [part, variables] : layer.parts) {
      for (const auto& [name, variable] : variables) {
        const Shape& shape = variable.array.shape;
        if (shape.rank() == 1 || (shape.rank() >= 2 && name.ends_with("kernel"))) out.insert(shape[shape.rank() - 1]);
      }
    }
    return out;
  }
  void count_widths() {
    for (const LayerWeights& layer : layers_) {
      for (const std::int64_t width : widths_of(layer)) ++makers_[width];
      const auto own = layer.parts.find("");
      if (own == layer.parts.end()) continue;
      for (const auto& [name, variable] : own->second)
        has_maps_ = has_maps_ || (name.ends_with("kernel") && variable.array.shape.rank() >= 3);
    }
  }
  static std::int64_t width(const LayerWeights& dense, int axis) {
    const auto group = dense.parts.find("");
    if (group == dense.parts.end()) return 0;
    const auto kernel = group->second.find("kernel");
    return kernel == group->second.end() || kernel->second.array.shape.rank() != 2 ? 0 : kernel->second.array.shape[axis];
  }

  [[noreturn]] void ask_for_channels(const LayerWeights& layer) const {
    fail(layer.name + " with " + std::to_string(width(layer, 0)) +
             " inputs, and nothing that says of how many channels the map is that a Flatten makes of it",
         "io::KerasOptions{.flattened = {{\"" + layer.name + "\", CHANNELS}}}",
         "CHANNELS are those of the last convolution, 0 where it is behind no Flatten; model.save(\"net.keras\") keeps the configuration");
  }

  Stored stored_;
  Config config_;
  std::string_view file_;
  const KerasOptions& options_;
  std::vector<LayerWeights> layers_;
  std::vector<std::string> own_names_;  // of the layers, as in the configuration
  std::map<std::int64_t, std::int64_t> makers_;  // how many layers give so many numbers
  bool has_maps_ = false;
};

/// "3 x 3", or the number itself.
std::string sizes_text(const nlohmann::json& value) {
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const auto& one : value) out += (out.empty() ? "" : " x ") + one.dump();
  return out;
}

std::string settings_of(const keras::Layer& layer) {
  std::string out;
  const auto say = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  nlohmann::json config = layer.config;
  if (config.is_object()) {
    for (auto& value : config)  // a SavedModel's metadata wrap tuples
      if (value.is_object() && value.contains("items")) value = nlohmann::json(value["items"]);
  }
  const auto has = [&](const char* key) { return config.is_object() && config.contains(key) && !config[key].is_null(); };
  for (const char* key : {"units", "filters", "input_dim", "output_dim", "num_heads", "key_dim", "depth_multiplier", "groups", "rate",
                          "negative_slope", "alpha"})
    if (has(key) && config[key].is_number() &&
        !(config[key] == 1 && std::string_view(key) != "filters" && std::string_view(key) != "units"))
      say(std::string(key) + " " + config[key].dump());
  for (const char* key : {"kernel_size", "pool_size", "size", "target_shape", "padding"})
    if (has(key) && !config[key].is_object())
      say(std::string(key) + " " + (config[key].is_string() ? config[key].get<std::string>() : sizes_text(config[key])));
  for (const char* key : {"strides", "dilation_rate"}) {
    if (!has(key)) continue;
    const bool is_one =
        config[key].is_array() ? std::ranges::all_of(config[key], [](const auto& one) { return one == 1; }) : config[key] == 1;
    if (!is_one) say(std::string(key) + " " + sizes_text(config[key]));
  }
  for (const char* key : {"epsilon", "momentum"})
    if (has(key) && config[key].is_number() && layer.kind.ends_with("Normalization"))
      say(std::string(key) + " " + number_text(config[key].get<double>()));
  for (const char* key : {"use_bias", "center", "scale"})
    if (has(key) && config[key] == false) say(std::string(key) + " no");
  for (const char* key : {"return_sequences", "go_backwards", "mask_zero"})
    if (has(key) && config[key] == true) say(key);
  if (layer.kind == "GRU" && has("reset_after") && config["reset_after"] == false) say("reset_after no (no layer here has this form)");
  if (has("data_format") && config["data_format"] == "channels_first") say("channels_first");
  for (const char* key : {"activation", "recurrent_activation", "interpolation", "merge_mode"}) {
    if (!has(key)) continue;
    const std::string value = config[key].is_string() ? config[key].get<std::string>() : text_at(config[key], "class_name");
    const bool is_usual = value == "linear" || (std::string_view(key) == "recurrent_activation" && value == "sigmoid") ||
                          (value == "tanh" && (layer.kind == "LSTM" || layer.kind == "GRU" || layer.kind == "SimpleRNN"));
    if (!value.empty() && !is_usual) say((std::string_view(key) == "activation" ? "" : std::string(key) + " ") + value);
  }
  return out;
}

}  // namespace

std::vector<KerasTensor> read_keras(const std::string& path, const KerasOptions& options) {
  return Reader(read_stored(path, Contents::Arrays), path, options).run();
}

std::vector<KerasTensor> parse_keras(std::span<const std::byte> bytes, std::string_view name, const KerasOptions& options) {
  return Reader(parse_stored(bytes, name, Contents::Arrays), name, options).run();
}

std::vector<KerasLayer> read_keras_layers(const std::string& path) {
  std::vector<KerasLayer> out;
  const Config config(read_stored(path, Contents::Shapes).config);
  for (const keras::Layer& layer : config.layers())
    if (layer.kind != "InputLayer") out.push_back({layer.name, layer.kind, settings_of(layer)});
  return out;
}

}  // namespace tegula::io
