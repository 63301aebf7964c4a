#pragma once
// Models in ONNX files, for commands that take a model of images or look at a graph.

#include <cstdint>
#include <string>

#include "app/file_model.h"
#include "tegula/models/registry.h"

namespace tegula::app {

/// Whether the file's first bytes are those of an ONNX file. False for what is not there, and for a folder.
bool is_onnx(const std::string& path);
/// The model over zeros of the sizes that it declares: `batch` for an open first axis, `length` for other open ones.
FileModel onnx_file_model(const std::string& path, std::int64_t batch, std::int64_t length);
/// A model with one input (N, C, H, W) as a classifier of images with pixels from 0 to 1, which it gets multiplied by `scale`. One that declares a batch of 1 is called for
/// each image. Throws Error for a model of another kind.
models::Model onnx_image_model(const std::string& path, double scale);

}  // namespace tegula::app
