// States in files: apart from state.cpp, so that programs without such files link no reader of archives.

#include "tegula/core/error.h"
#include "tegula/io/pytorch.h"
#include "tegula/io/weights.h"
#include "tegula/nn/state.h"

namespace tegula {

StateDict load_keras(const std::string& path, const io::KerasOptions& options) {
  StateDict state;
  for (auto& [name, array, from, change] : io::read_keras(path, options)) state.push_back({name, from_array(array), from, change});
  return state;
}

StateDict load_state(const std::string& path) {
  if (io::is_keras(path)) return load_keras(path);
  StateDict state;
  for (auto& [name, array] : io::read_weights(path)) state.push_back({name, from_array(array)});
  return state;
}

void save_state(const StateDict& state, const std::string& path, const io::Metadata& metadata) {
  if (!path.ends_with(".pt") && !path.ends_with(".pth")) return save_safetensors(state, path, metadata);
  if (!metadata.empty())
    throw Error({.op = "save", .got = path + " with texts", .expected = "a .safetensors file, which holds texts beside its tensors"});
  io::write_pytorch(path, to_arrays(state));
}

}  // namespace tegula
