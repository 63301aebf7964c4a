#include "tegula/io/weights.h"

#include <vector>

#include "tegula/io/file_kind.h"
#include "tegula/io/gguf.h"
#include "tegula/io/keras/keras.h"
#include "tegula/io/npy.h"
#include "tegula/io/pytorch.h"

namespace tegula::io {

NamedArrays read_weights(const std::string& path) {
  if (is_keras(path)) {
    NamedArrays out;
    for (auto& tensor : read_keras(path)) out.emplace_back(std::move(tensor.name), std::move(tensor.array));
    return out;
  }
  const std::vector<std::byte> begin = beginning_of(path, "load");
  refuse_other_kinds(begin, {FileKind::Safetensors, FileKind::PyTorch, FileKind::Gguf, FileKind::Npz}, "load", path,
                     "weights: safetensors, PyTorch's, Keras' or TensorFlow's, GGUF or .npz");
  switch (kind_of(begin)) {
    case FileKind::PyTorch: return read_pytorch(path);
    case FileKind::Gguf: return read_gguf(path);
    case FileKind::Npz: return read_npz(path);
    default: return read_safetensors(path).tensors;
  }
}

}  // namespace tegula::io
