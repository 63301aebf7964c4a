#pragma once
// The state of a module as named tensors, in memory and in safetensors files.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tegula/io/safetensors.h"
#include "tegula/nn/module.h"

namespace tegula {

struct NamedTensor {
  std::string name;  // "conv1.weight"
  Tensor value;
};
/// Parameters and buffers by name, in the order of the fields. A snapshot: tensors never change.
using StateDict = std::vector<NamedTensor>;

enum class Strict : bool { No, Yes };

/// The names that load missed in the state, and those it did not know. Both are empty when it was strict.
struct LoadReport {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  /// "missing: fc2.weight, fc2.bias; unexpected: head.weight", or that all was found.
  std::string text() const;
};

/// The values of named cells (parameters, buffers, an optimiser's state) as they are now.
StateDict state_dict(const Parameters& cells);
/// Assigns the values to the cells of the same names; other dtypes are converted. Nothing is assigned when it throws: Error naming the
/// missing and unexpected names (when strict), and all shapes that differ.
LoadReport load(const Parameters& cells, const StateDict& state, Strict strict = Strict::Yes, Line where = Line::current());

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

/// The state with other names. A rule is a name, or a pattern with one * for any text, and its replacement; rules apply one after the other:
///   load(net, renamed(load_state("resnet.pth"), {{"module.*", "*"}, {"*.gamma", "*.weight"}}));
/// Throws Error for a rule that fits nothing, and where two tensors would have one name.
StateDict renamed(const StateDict& state, const std::vector<std::pair<std::string, std::string>>& rules, Line where = Line::current());

/// A file as a state: .safetensors, PyTorch's files (io::read_pytorch) or .npz, told by its first bytes. A state as a file (written atomically): for PyTorch where the
/// path ends in .pt or .pth, else safetensors. Throw Error for files that cannot be read or written; texts are safetensors' alone.
StateDict load_state(const std::string& path);
void save_state(const StateDict& state, const std::string& path, const io::Metadata& metadata = {});
/// As save_state, but always safetensors, whatever the path's end: what holds texts, and links no reader of archives.
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
