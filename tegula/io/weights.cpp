#include "tegula/io/weights.h"

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
  switch (kind_of(beginning_of(path, "safetensors"))) {
    case FileKind::PyTorch: return read_pytorch(path);
    case FileKind::Gguf: return read_gguf(path);
    case FileKind::Npz: return read_npz(path);
    default: return read_safetensors(path).tensors;
  }
}

}  // namespace tegula::io
