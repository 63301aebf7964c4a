#pragma once
// TensorProto as an array.

#include <tegula/onnx/onnx.pb.h>

#include "tegula/onnx/file.h"
#include "tegula/onnx/read_message.h"

namespace tegula::onnx {

/// A TensorProto, whose raw bytes are taken out of the message and freed. Throws Error where they are not those of its shape, so that no more memory is taken than the file
/// has, and eight times that for packed numbers; external data is read at most eight times (tensors may share it).
StoredArray array_of(proto::Tensor& from, Source& source);
/// A SparseTensorProto, written out.
StoredArray array_of(proto::SparseTensor& from, Source& source);

}  // namespace tegula::onnx
