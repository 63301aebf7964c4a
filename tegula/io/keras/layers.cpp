#include "tegula/io/keras/layers.h"

#include <algorithm>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/strided.h"

namespace tegula::io::keras {
namespace {

constexpr std::string_view kSpace[] = {"", "L", "H, W", "D, H, W"};

/// Blocks of the first axis in another order: a GRU's gates.
HostArray with_blocks(const HostArray& array, std::span<const int> order) {
  HostArray out = HostArray::empty(array.dtype, array.shape);
  const std::size_t block = array.bytes() / order.size();
  if (block == 0) return out;
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<std::byte*>(out.buffer->data()) + i * block,
                static_cast<const std::byte*>(array.buffer->data()) + static_cast<std::size_t>(order[i]) * block, block);
  return out;
}

HostArray zeros(DType dtype, const Shape& shape) {
  HostArray out = HostArray::empty(dtype, shape);
  if (out.bytes() > 0) std::memset(out.buffer->data(), 0, out.bytes());
  return out;
}

/// Arrays of one dtype below each other.
HostArray joined(const std::vector<HostArray>& parts) {
  Shape shape = parts[0].shape;
  for (std::size_t i = 1; i < parts.size(); ++i) shape[0] += parts[i].shape[0];
  HostArray out = HostArray::empty(parts[0].dtype, shape);
  auto* into = static_cast<std::byte*>(out.buffer->data());
  for (const HostArray& part : parts) {
    if (part.bytes() > 0) std::memcpy(into, part.buffer->data(), part.bytes());
    into += part.bytes();
  }
  return out;
}

/// The spatial axes of a class such as Conv2DTranspose; 0 for other classes.
int axes_of(std::string_view kind, std::string_view begin, std::string_view end) {
  if (kind.size() != begin.size() + 2 + end.size() || !kind.starts_with(begin) || !kind.ends_with(end)) return 0;
  const char digit = kind[begin.size()];
  return kind[begin.size() + 1] == 'D' && digit >= '1' && digit <= '3' ? digit - '0' : 0;
}

/// Axis 0 of (spatial * channels, …), where a map lies as (spatial, channels), with the channels outside.
HostArray channels_first(const HostArray& array, std::int64_t channels) {
  if (array.size() == 0) return array;
  const std::int64_t rows = array.shape[0];
  const int axes[] = {1, 0, 2};
  return reshaped(permuted(reshaped(array, {rows / channels, channels, array.size() / rows}), axes), array.shape);
}

class Layer {
 public:
  Layer(const LayerWeights& layer, std::string_view file) : in_(layer), file_(file) {}

  std::vector<KerasTensor> run() {
    const std::string& kind = in_.kind;
    if (kind == "Dense") dense();
    else if (const int separated = axes_of(kind, "SeparableConv", "")) separable(separated);
    else if (axes_of(kind, "DepthwiseConv", "")) depthwise("", find("", "depthwise_kernel") ? "depthwise_kernel" : "kernel");
    else if (const int back = axes_of(kind, "Conv", "Transpose"))
      convolution(back, "(" + space() + ", out, in)", "(in, out, " + space() + ")");
    else if (const int axes = axes_of(kind, "Conv", "")) convolution(axes, "(" + space() + ", in, out)", "(out, in, " + space() + ")");
    else if (kind == "Embedding") rename({{"embeddings", "weight"}});
    else if (kind == "BatchNormalization") batch_norm();
    else if (kind == "LayerNormalization" || kind == "GroupNormalization" || kind == "UnitNormalization")
      rename({{"gamma", "weight"}, {"beta", "bias"}, {"scale", "weight"}}, Row::Yes);
    else if (kind == "PReLU") prelu();
    else if (kind == "MultiHeadAttention") attention();
    else if (kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN") recurrent(kind, "", "");
    else if (kind.starts_with("Bidirectional:"))
      recurrent(kind.substr(14), "forward", ""), recurrent(kind.substr(14), "backward", "_reverse");
    rest();
    return std::move(out_);
  }

 private:
  enum class Row : bool { No, Yes };  // a vector along a map that is seen as a row

  [[noreturn]] void fail(const std::string& got, const std::string& expected) const {
    throw Error({.op = "keras",
                 .got = printable(std::string(file_) + ": " + in_.name + ": " + got),
                 .expected = expected,
                 .advice = "is the layer of the class " + in_.kind + "? io::KerasOptions{.kinds = …} says it"});
  }
  std::string space() const {
    const Part* kernel = find("", "kernel") ? find("", "kernel") : find("", "depthwise_kernel");
    return kernel ? std::string(kSpace[std::clamp(kernel->array.shape.rank() - 2, 0, 3)]) : "";
  }

  const Part* find(const std::string& part, const std::string& name) const {
    const auto group = in_.parts.find(part);
    if (group == in_.parts.end()) return nullptr;
    const auto found = group->second.find(name);
    return found == group->second.end() ? nullptr : &found->second;
  }
  /// Throws unless it is there with so many axes.
  const Part& need(const std::string& part, const std::string& name, int rank) {
    const Part* found = find(part, name);
    if (!found) fail("no " + name, "the weights of a layer of this class");
    if (found->array.shape.rank() != rank) fail(name + " " + to_string(found->array.shape), std::to_string(rank) + " axes");
    used_.push_back(found);
    return *found;
  }
  void add(const std::string& name, HostArray array, const std::string& from, const std::string& change = "") {
    out_.push_back({in_.name.empty() ? name : in_.name + "." + name, std::move(array), from, change});
  }
  void take(const std::string& part, const std::string& from, const std::string& to) {
    if (const Part* found = find(part, from)) used_.push_back(found), add(to, found->array, found->path);
  }
  void rename(const std::vector<std::pair<const char*, const char*>>& names, Row row = Row::No) {
    for (const auto& [from, to] : names) {
      const Part* found = find("", from);
      if (!found) continue;
      used_.push_back(found);
      HostArray array = found->array;
      std::string change;
      if (row == Row::Yes && in_.inputs_channels > 0)
        array = of_row(array, in_.inputs_channels), change = "(spatial, C) to (C, spatial): it is behind a Flatten";
      else if (row == Row::Yes && in_.outputs_channels > 0)
        array = of_row(array, in_.outputs_channels), change = "(spatial, C) to (C, spatial): it is in front of a Reshape";
      add(to, std::move(array), found->path, change);
    }
  }
  /// Axis 0 is a map in a row.
  HostArray of_row(const HostArray& array, std::int64_t channels) const {
    if (array.shape.rank() < 1 || array.shape[0] % channels != 0)
      fail(to_string(array.shape) + " for a map of " + std::to_string(channels) + " channels", "a multiple of them");
    return channels_first(array, channels);
  }

  void dense() {
    const Part& kernel = need("", "kernel", 2);
    HostArray rows = kernel.array;
    std::string change = "(in, out) to (out, in)";
    if (in_.inputs_channels > 0) {
      rows = of_row(rows, in_.inputs_channels);
      change += ", in from (spatial, C) to (C, spatial) of " + std::to_string(in_.inputs_channels) + " channels: it is behind a Flatten";
    }
    const int axes[] = {1, 0};
    HostArray weight = permuted(rows, axes);
    if (in_.outputs_channels > 0) {
      weight = of_row(weight, in_.outputs_channels);
      change += ", out from (spatial, C) to (C, spatial): it is in front of a Reshape";
    }
    add("weight", std::move(weight), kernel.path, change);
    const Part* bias = find("", "bias");
    if (!bias) return;
    used_.push_back(bias);
    add("bias", in_.outputs_channels > 0 ? of_row(bias->array, in_.outputs_channels) : bias->array, bias->path,
        in_.outputs_channels > 0 ? "(spatial, C) to (C, spatial): it is in front of a Reshape" : "");
  }

  /// The last two axes go to the front, the very last first.
  static HostArray features_first(const HostArray& array) {
    const int rank = array.shape.rank();
    std::vector<int> axes{rank - 1, rank - 2};
    for (int i = 0; i < rank - 2; ++i) axes.push_back(i);
    return permuted(array, axes);
  }

  void convolution(int axes, const std::string& before, const std::string& after) {
    const Part& kernel = need("", "kernel", axes + 2);
    add("weight", features_first(kernel.array), kernel.path, before + " to " + after);
    take("", "bias", "bias");
  }

  void depthwise(const std::string& into, const std::string& from) {
    const Part* found = find("", from);
    const Part& kernel = need("", from, found ? std::max(found->array.shape.rank(), 3) : 4);
    const Shape& shape = kernel.array.shape;
    const int rank = shape.rank();
    std::vector<int> axes{rank - 2, rank - 1};  // channels, and maps of each
    for (int i = 0; i < rank - 2; ++i) axes.push_back(i);
    Shape merged{shape[rank - 2] * shape[rank - 1], 1};
    for (int i = 0; i < rank - 2; ++i) merged.push_back(shape[i]);
    add(into + "weight", reshaped(permuted(kernel.array, axes), merged), kernel.path,
        "(" + space() + ", C, M) to (C * M, 1, " + space() + ")");
    if (into.empty()) take("", "bias", "bias");
  }

  void separable(int axes) {
    depthwise("depthwise.", "depthwise_kernel");
    const Part& kernel = need("", "pointwise_kernel", axes + 2);
    add("pointwise.weight", features_first(kernel.array), kernel.path, "(" + space() + ", in, out) to (out, in, " + space() + ")");
    take("", "bias", "pointwise.bias");
  }

  void batch_norm() {
    rename({{"gamma", "weight"}, {"beta", "bias"}, {"moving_mean", "running_mean"}, {"moving_variance", "running_var"}}, Row::Yes);
    // One of the two alone: the other is what it would begin as.
    const Part *gamma = find("", "gamma"), *beta = find("", "beta");
    if (gamma && !beta) add("bias", zeros(gamma->array.dtype, gamma->array.shape), "", "zeros: center=False");
    if (beta && !gamma && beta->array.dtype == DType::f32) {
      HostArray ones = HostArray::empty(DType::f32, beta->array.shape);
      std::ranges::fill(ones.values<float>(), 1.F);
      add("weight", std::move(ones), "", "ones: scale=False");
    }
    add("num_batches_tracked", zeros(DType::i64, {}), "");
  }

  void prelu() {
    const Part& alpha = need("", "alpha", find("", "alpha") ? find("", "alpha")->array.shape.rank() : 1);
    // Shared along all axes but the channels.
    const Shape& shape = alpha.array.shape;
    const bool is_shared = shape.rank() > 0 && shape[shape.rank() - 1] == alpha.array.size();
    add("weight", is_shared ? reshaped(alpha.array, {alpha.array.size()}) : alpha.array, alpha.path);
  }

  void attention() {
    const int axes[] = {1, 0};
    std::vector<HostArray> weights, biases;
    std::string path;
    const Part& output = need("output", "kernel", 3);
    const std::int64_t width = output.array.shape[2], inner = output.array.shape[0] * output.array.shape[1];
    bool is_square = inner == width;
    const DType dtype = output.array.dtype;
    for (const char* part : {"query", "key", "value"}) {
      const Part& kernel = need(part, "kernel", 3);
      const std::int64_t in = kernel.array.shape[0];
      weights.push_back(permuted(reshaped(kernel.array, {in, in > 0 ? kernel.array.size() / in : 0}), axes));
      is_square = is_square && in == width && weights.back().shape[0] == width && kernel.array.dtype == dtype;
      path += (path.empty() ? "" : ", ") + kernel.path;
      const Part* bias = find(part, "bias");
      if (!bias) continue;
      used_.push_back(bias), biases.push_back(reshaped(bias->array, {bias->array.size()}));
      is_square = is_square && bias->array.dtype == dtype;
    }
    const std::string change = "(in, heads, width) to (heads * width, in)";
    if (is_square) {
      add("in_proj_weight", joined(weights), path, change + ", of queries, keys and values below each other");
      if (biases.size() == 3) add("in_proj_bias", joined(biases), path, "of queries, keys and values behind each other");
    } else {
      const char* const names[] = {"query", "key", "value"};
      for (std::size_t i = 0; i < 3; ++i) {
        add(std::string(names[i]) + ".weight", weights[i], find(names[i], "kernel")->path, change);
        if (biases.size() == 3) add(std::string(names[i]) + ".bias", biases[i], find(names[i], "bias")->path);
      }
    }
    add("out_proj.weight", permuted(reshaped(output.array, {inner, width}), axes), output.path,
        "(heads, width, out) to (out, heads * width)");
    take("output", "bias", "out_proj.bias");
  }

  void recurrent(const std::string& kind, const std::string& part, const std::string& end) {
    const int axes[] = {1, 0}, gru[] = {1, 0, 2};
    const bool is_gru = kind == "GRU";
    const Part* bias = find(part, "bias");
    // A GRU whose reset gate comes before the product is another net: its weights stay as they are.
    if (is_gru && bias && bias->array.shape.rank() != 2) return;
    const Part &kernel = need(part, "kernel", 2), &inner = need(part, "recurrent_kernel", 2);
    const std::int64_t gates = kind == "LSTM" ? 4 : is_gru ? 3 : 1, units = inner.array.shape[0];
    if (kernel.array.shape[1] != gates * units || inner.array.shape[1] != gates * units)
      fail("kernels " + to_string(kernel.array.shape) + " and " + to_string(inner.array.shape), "those of a " + kind);
    const auto rows = [&](const HostArray& array) { return is_gru ? with_blocks(permuted(array, axes), gru) : permuted(array, axes); };
    const std::string change = "(in, gates * units) to (gates * units, in)" + std::string(is_gru ? ", gates z, r, h to r, z, h" : "");
    add("weight_ih_l0" + end, rows(kernel.array), kernel.path, change);
    add("weight_hh_l0" + end, rows(inner.array), inner.path, change);
    if (!bias) return;
    used_.push_back(bias);
    if (bias->array.size() != (is_gru ? 2 : 1) * gates * units) fail("a bias " + to_string(bias->array.shape), "that of a " + kind);
    const Shape row{gates * units};
    if (!is_gru) {
      add("bias_ih_l0" + end, reshaped(bias->array, row), bias->path);
      add("bias_hh_l0" + end, zeros(bias->array.dtype, row), "", "zeros: Keras has one bias");
      return;
    }
    for (const int i : {0, 1}) {
      HostArray one = HostArray::empty(bias->array.dtype, row);
      if (one.bytes() > 0)
        std::memcpy(one.buffer->data(),
                    static_cast<const std::byte*>(bias->array.buffer->data()) + static_cast<std::size_t>(i) * one.bytes(), one.bytes());
      add((i == 0 ? "bias_ih_l0" : "bias_hh_l0") + end, with_blocks(one, gru), bias->path,
          "row " + std::to_string(i) + ", gates z, r, h to r, z, h");
    }
  }

  /// Adds the variables that no rule took, under Keras' names.
  void rest() {
    for (const auto& [part, variables] : in_.parts) {
      for (const auto& [name, variable] : variables)
        if (std::ranges::find(used_, &variable) == used_.end()) add((part.empty() ? "" : part + ".") + name, variable.array, variable.path);
    }
  }

  const LayerWeights& in_;
  std::string_view file_;
  std::vector<const Part*> used_;
  std::vector<KerasTensor> out_;
};

}  // namespace

std::vector<KerasTensor> tensors_of(const LayerWeights& layer, std::string_view file) { return Layer(layer, file).run(); }

std::string kind_of_variables(const std::string& name, const Parts& parts) {
  const auto has = [&](const std::string& part, const std::string& variable) {
    const auto found = parts.find(part);
    return found != parts.end() && found->second.contains(variable);
  };
  const auto cell = [&](const std::string& part) -> std::string {
    const Shape &kernel = parts.at(part).at("kernel").array.shape, &inner = parts.at(part).at("recurrent_kernel").array.shape;
    if (kernel.rank() != 2 || inner.rank() != 2 || inner[0] == 0) return "";
    const std::int64_t gates = kernel[1] / inner[0];
    return gates == 4 ? "LSTM" : gates == 3 ? "GRU" : gates == 1 ? "SimpleRNN" : "";
  };
  if (has("query", "kernel")) return "MultiHeadAttention";
  if (has("forward", "recurrent_kernel")) return "Bidirectional:" + cell("forward");
  if (has("", "recurrent_kernel")) return cell("");
  if (has("", "moving_mean")) return "BatchNormalization";
  if (has("", "gamma") || has("", "beta")) return "LayerNormalization";
  if (has("", "embeddings")) return "Embedding";
  if (has("", "alpha")) return "PReLU";
  const auto axes = [&](const char* variable) { return std::to_string(parts.at("").at(variable).array.shape.rank() - 2) + "D"; };
  if (has("", "pointwise_kernel") && has("", "depthwise_kernel")) return "SeparableConv" + axes("depthwise_kernel");
  if (has("", "depthwise_kernel")) return "DepthwiseConv" + axes("depthwise_kernel");
  if (!has("", "kernel")) return "";
  const Shape& kernel = parts.at("").at("kernel").array.shape;
  if (kernel.rank() == 2) return "Dense";
  if (kernel.rank() < 3 || kernel.rank() > 5) return "";
  const std::int64_t in = kernel[kernel.rank() - 2], out = kernel[kernel.rank() - 1];
  const std::int64_t bias = has("", "bias") ? parts.at("").at("bias").array.size() : out;
  if (bias == in * out && bias != out) return "DepthwiseConv" + axes("kernel");
  const bool is_transposed = (bias == in && bias != out) || name.find("transpose") != std::string::npos;
  return "Conv" + axes("kernel") + (is_transposed ? "Transpose" : "");
}

std::vector<std::string> numbered_names(const std::string& kind, std::size_t count) {
  std::vector<std::string> names;
  if (kind.starts_with("SeparableConv")) names = {"depthwise_kernel", "pointwise_kernel", "bias"};
  else if (kind == "Dense" || kind == "EinsumDense" || kind.find("Conv") != std::string::npos || kind == "MultiHeadAttention")
    names = {"kernel", "bias"};
  else if (kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN" || kind.starts_with("Bidirectional"))
    names = {"kernel", "recurrent_kernel", "bias"};
  else if (kind == "BatchNormalization" && count == 4) names = {"gamma", "beta", "moving_mean", "moving_variance"};
  else if ((kind == "LayerNormalization" || kind == "GroupNormalization") && count == 2) names = {"gamma", "beta"};
  else if (kind == "Embedding") names = {"embeddings"};
  else if (kind == "PReLU") names = {"alpha"};
  else if (kind == "Normalization") names = {"mean", "variance", "count"};
  if (names.size() < count) return {};
  names.resize(count);
  return names;
}

}  // namespace tegula::io::keras
