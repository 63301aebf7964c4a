#pragma once
// Models in files that have the net with them, ONNX's and graph files, for commands that take a model of images or look at a graph.

#include <cstdint>
#include <string>

#include "app/file_model.h"
#include "tegula/models/registry.h"

namespace tegula::app {

/// True if the file's first bytes are those of an ONNX file. False for a missing file and for a folder.
bool is_onnx(const std::string& path);
/// The model over zeros of the sizes that it declares: `batch` for an open first axis, `length` for other open ones.
FileModel onnx_file_model(const std::string& path, std::int64_t batch, std::int64_t length);
/// The same of a graph file, over zeros of the sizes that it was saved with.
FileModel graph_file_model(const std::string& path);
/// True for an ONNX file and for a graph file.
bool has_net(const std::string& path);
/// A model of such a file with one input (N, C, H, W) as a classifier of images with pixels from 0 to 1, which it gets multiplied by `scale`. One that declares a batch of 1 is called for
/// each image. Throws Error for a model of another kind.
models::Model net_of_images(const std::string& path, double scale);

}  // namespace tegula::app
