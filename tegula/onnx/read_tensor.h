#pragma once
// TensorProto as an array.

#include "tegula/io/wire.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {

/// Where a model's bytes come from, for what is read in pieces.
struct Source {
  io::WireSource words;
  std::string folder;  // of external data; empty: there is none
};

/// A TensorProto. Throws Error where its bytes are not those of its shape, so that no more memory is taken than the file has, and eight times that for packed numbers.
StoredArray read_tensor(std::span<const std::byte> message, const Source& source);
/// A SparseTensorProto, written out.
StoredArray read_sparse_tensor(std::span<const std::byte> message, const Source& source);

/// The numbers of a packed field, or the one of a field that is not.
void append_integers(const io::WireField& field, const Source& source, std::vector<std::int64_t>& to);
void append_floats(const io::WireField& field, const Source& source, std::vector<float>& to);
std::string text_of(const io::WireField& field);

}  // namespace tegula::onnx
