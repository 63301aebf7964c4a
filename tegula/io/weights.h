#pragma once
// Files of named tensors, whatever their format.

#include <string>

#include "tegula/io/safetensors.h"

namespace tegula::io {

/// The tensors of a .safetensors, PyTorch (io::read_pytorch), Keras (io::read_keras), GGUF (io::read_gguf) or .npz file, which its first bytes tell. Throws Error as their
/// readers do, for a file that is not there, and for files of other kinds, which it names.
NamedArrays read_weights(const std::string& path);

}  // namespace tegula::io
