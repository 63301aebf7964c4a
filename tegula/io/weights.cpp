#include "tegula/io/weights.h"

#include <algorithm>

#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/npy.h"
#include "tegula/io/pytorch.h"

namespace tegula::io {

NamedArrays read_weights(const std::string& path) {
  Bytes begin;
  {
    const InputFile file(path, "safetensors");
    begin.resize(std::min<std::uint64_t>(file.size(), kKindBytes));
    file.read_at(0, begin);
  }
  switch (kind_of(begin)) {
    case FileKind::PyTorch: return read_pytorch(path);
    case FileKind::Npz: return read_npz(path);
    default: return read_safetensors(path).tensors;
  }
}

}  // namespace tegula::io
