#pragma once
// The configuration of a Keras model: which class each layer has, and which sees which.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tegula::io::keras {

struct Layer {
  std::string name, kind;            // "conv1", "Conv2D"; of a wrapper the class within
  nlohmann::json config;
  std::vector<std::string> inputs;   // names of the layers that it sees
  std::vector<std::int64_t> shape;   // of its input, as far as the file says; -1: open
  std::string model;                 // name of the model that it belongs to
  std::string stored;                // its group in .weights.h5: "conv2d_1", by class and order
  std::string first, last;           // of a model: the layers where it begins and ends
};

/// The layers that see a map as a row, or whose row becomes a map.
struct Flattened {
  std::map<std::string, std::int64_t> inputs;   // channels of the map, by layer; -1: there is one, and its channels are not known
  std::map<std::string, std::int64_t> outputs;
};

class Config {
 public:
  /// Null for a file without configuration.
  explicit Config(const nlohmann::json& model);

  bool is_there() const { return !layers_.empty(); }
  const std::vector<Layer>& layers() const { return layers_; }
  /// Null where there is none.
  const Layer* find(const std::string& name) const;
  /// The layer of a chain of groups of .weights.h5, of which the outer ones are models; null where there is none.
  const Layer* find_stored(const std::string& model, const std::string& group) const;
  /// The layer's number in the order of the model; behind all others where there is none.
  std::size_t place(const std::string& name) const;
  Flattened flattened() const;

 private:
  void add_model(const nlohmann::json& model, const std::string& name, int depth);
  std::int64_t channels_in(const Layer& flatten) const;

  std::vector<Layer> layers_;
  std::map<std::string, std::size_t, std::less<>> by_name_, by_stored_;  // "model/conv2d_1"
};

/// The text at a key; "" where there is none.
std::string text_at(const nlohmann::json& json, const char* key);
/// True or false at a key, or `otherwise`.
bool flag_at(const nlohmann::json& json, const char* key, bool otherwise);
/// "Conv2DTranspose" as groups are named: "conv2d_transpose".
std::string snake_case(const std::string& kind);

}  // namespace tegula::io::keras
