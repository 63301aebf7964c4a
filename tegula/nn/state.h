#pragma once
// The state of a module as named tensors, in memory and in safetensors files.

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tegula/io/keras/keras.h"
#include "tegula/io/safetensors.h"
#include "tegula/nn/module.h"

namespace tegula {

/// `for (auto& [name, value] : state_dict(net))` takes the first two apart.
struct NamedTensor {
  std::string name;  // "conv1.weight"
  Tensor value;
  std::string from = {};    // its name in the file, or before renamed(), where that is another
  std::string change = {};  // how its numbers lie here otherwise than in the file: "(H, W, in, out) to (out, in, H, W)"
};
template <size_t I, class State>
requires std::is_same_v<std::remove_cvref_t<State>, NamedTensor>
decltype(auto) get(State&& state) {
  if constexpr (I == 0) return (std::forward<State>(state).name);
  else return (std::forward<State>(state).value);
}
/// Parameters and buffers by name, in the order of the fields. A snapshot: tensors never change.
using StateDict = std::vector<NamedTensor>;

enum class Strict : bool { No, Yes };

/// The names and shapes that load found. Without Strict::No the first three are empty, or it throws.
struct LoadReport {
  std::vector<std::string> missing;     // cells for which the state has nothing
  std::vector<std::string> unexpected;  // names of the state that no cell has
  std::vector<std::string> mismatched = {};  // "fc.weight (10, 84) for (10, 120)"; load throws if there is one, strict or not
  std::vector<std::string> renamed = {};     // "fc.weight from model_weights/fc/fc/kernel:0"
  std::vector<std::string> transposed = {};  // "fc.weight (in, out) to (out, in)"
  /// "missing: fc2.weight, fc2.bias; unexpected: head.weight; transposed: conv1.weight (H, W, in, out) to (out, in, H, W)", or that all was found.
  std::string text() const;
};

/// The values of named cells (parameters, buffers, an optimiser's state) as they are now.
StateDict state_dict(const Parameters& cells);
/// Assigns the values to the cells of the same names; other dtypes are converted. Nothing is assigned when it throws: Error naming the
/// missing and unexpected names (when strict), and all shapes that differ.
LoadReport load(const Parameters& cells, const StateDict& state, Strict strict = Strict::Yes, Line where = Line::current());
/// The report that load would give. Assigns nothing and throws for no name or shape.
LoadReport load_report(const Parameters& cells, const StateDict& state, Line where = Line::current());

/// The state without the entries that match the patterns, as freeze() reads them; for example, for a network with another head than a published one:
///   load(net, without(load_state("resnet.safetensors"), {"fc", "layer4.*"}), Strict::No);
/// Throws Error for a pattern that fits nothing.
StateDict without(const StateDict& state, const std::vector<std::string>& patterns, Line where = Line::current());

/// All parameters and buffers of a module.
template <nn::Module T>
requires(!std::is_same_v<T, Parameters>)
StateDict state_dict(const T& module) {
  return state_dict(nn::state(module));
}
template <nn::Module T>
requires(!std::is_same_v<T, Parameters>)
LoadReport load(T& module, const StateDict& state, Strict strict = Strict::Yes, Line where = Line::current()) {
  return load(nn::state(module), state, strict, where);
}
template <nn::Module T>
requires(!std::is_same_v<T, Parameters>)
LoadReport load_report(const T& module, const StateDict& state, Line where = Line::current()) {
  return load_report(nn::state(module), state, where);
}

/// The state with other names. A rule is a name, or a pattern with one * for any text, and its replacement; rules apply one after the other:
///   load(net, renamed(load_state("resnet.pth"), {{"module.*", "*"}, {"*.gamma", "*.weight"}}));
/// Throws Error for a rule that fits nothing, and where two tensors would have one name.
StateDict renamed(const StateDict& state, const std::vector<std::pair<std::string, std::string>>& rules, Line where = Line::current());

/// A file as a state: .safetensors, PyTorch's files (io::read_pytorch), Keras' .keras and .h5 files and SavedModels (io::read_keras: names and order become those of
/// the layers here), GGUF (io::read_gguf: numbers become f32 or halves) or .npz, told by its first bytes. A state as a file (written atomically): for PyTorch where the
/// path ends in .pt or .pth, else safetensors. Throw Error for files that cannot be read or written; texts are safetensors' alone.
StateDict load_state(const std::string& path);
/// A Keras model or a TensorFlow checkpoint, with what its file does not say.
StateDict load_keras(const std::string& path, const io::KerasOptions& options = {});
void save_state(const StateDict& state, const std::string& path, const io::Metadata& metadata = {});
/// Does what save_state does, but always in safetensors, whatever the path's end: for a state with texts, and without linking a reader of archives.
void save_safetensors(const StateDict& state, const std::string& path, const io::Metadata& metadata = {});
/// The values as arrays of the host, computed together.
io::NamedArrays to_arrays(const StateDict& state);

/// save(net, "net.safetensors"): parameters and buffers under their names, as PyTorch would name them; and further data of the net, as texts by
/// name: {{"classes", io::list_text({"cat", "dog"})}, {"units", "metres"}}.
template <nn::Module T>
void save(const T& module, const std::string& path, const io::Metadata& metadata = {}) {
  save_state(state_dict(nn::state(module)), path, metadata);
}
/// The texts that a file holds beside its tensors (io::listed_texts makes lists of them). Reads the header alone.
io::Metadata load_metadata(const std::string& path);
/// Reads such a file into the module; all or nothing, errors as above.
template <nn::Module T>
LoadReport load(T& module, const std::string& path, Strict strict = Strict::Yes, Line where = Line::current()) {
  return load(nn::state(module), load_state(path), strict, where);
}
template <nn::Module T>
LoadReport load(T& module, const char* path, Strict strict = Strict::Yes, Line where = Line::current()) {
  return load(module, std::string(path), strict, where);
}

}  // namespace tegula

template <>
struct std::tuple_size<tegula::NamedTensor> : std::integral_constant<std::size_t, 2> {};
template <>
struct std::tuple_element<0, tegula::NamedTensor> {
  using type = std::string;
};
template <>
struct std::tuple_element<1, tegula::NamedTensor> {
  using type = tegula::Tensor;
};
