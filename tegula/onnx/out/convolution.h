#pragma once
// Convolutions, for patterns that add something to them.

#include <string>

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {

/// The Conv of a node that is a convolution, with a bias (C), or without one ("").
std::string conv(Site& site, const std::string& bias);

}  // namespace tegula::onnx
