#pragma once
// Weights of Keras and TensorFlow under the names and in the order that the layers here have, which are PyTorch's.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"

namespace tegula::io {

/// Facts that a file without the model's configuration does not say: Keras' .weights.h5, checkpoints, and SavedModels of model.export.
struct KerasOptions {
  /// The channels of the map that a Dense sees through a Flatten, by the Dense layer's name; 0: it sees none.
  std::map<std::string, std::int64_t> flattened = {};
  /// Classes of layers by name: {{"up1", "Conv2DTranspose"}}.
  std::map<std::string, std::string> kinds = {};
};

struct KerasTensor {
  std::string name;  // "conv1.weight"
  HostArray array;
  std::string from;    // "model_weights/conv1/conv1/kernel:0"; empty: made here
  std::string change;  // "(H, W, in, out) to (out, in, H, W)"; empty: as in the file
};

/// The weights of a Keras model: .h5, .weights.h5 and .keras files of Keras 2 and 3, a SavedModel's folder, or a TensorFlow checkpoint by its index ("w.index") or its name
/// without an end ("w").
///
/// Names are those of the layers and PyTorch's of their tensors: dense.weight, bn.running_mean, lstm.weight_ih_l0, bi.weight_ih_l0_reverse, mha.in_proj_weight,
/// sep.depthwise.weight. A layer within a model within the model has the outer names in front where its own is not the only one.
/// These change their order: kernels of Dense, convolutions, their transposed and depthwise forms, and attention; a GRU's gates, and its biases in two; a Dense
/// (or a batch norm) behind a Flatten, whose inputs come as (C, H, W) here; a Dense in front of a Reshape to a map. GRUs with reset_after=False and layers of
/// one's own keep Keras' names and order.
/// Throws Error for damaged files, and where the file does not say whether a Dense is behind a Flatten (KerasOptions::flattened).
std::vector<KerasTensor> read_keras(const std::string& path, const KerasOptions& options = {});
/// The same of an .h5 or .keras file from memory. `name` stands for the file in messages.
std::vector<KerasTensor> parse_keras(std::span<const std::byte> bytes, std::string_view name, const KerasOptions& options = {});

/// A layer of the configuration.
struct KerasLayer {
  std::string name, kind;  // "conv1", "Conv2D"
  std::string settings;  // what differs from the layers here, or has to be said to them: "filters 8, kernel 3 x 3, padding same, relu"
};
/// The layers in the order of the model, without layers that only name inputs; empty for a file without configuration.
std::vector<KerasLayer> read_keras_layers(const std::string& path);

/// True for the folder of a SavedModel.
bool is_saved_model(const std::string& path);
/// True for what read_keras reads, by the first bytes of the file, or by its name for a checkpoint.
bool is_keras(const std::string& path);

}  // namespace tegula::io
