#pragma once
// Numbers of a run as parameters of tile programs.

#include <string>

#include "tegula/tile/builder.h"

namespace tegula::compile {

/// A number of the run (Reference::Constant) as a program's parameter: on asynchronous devices it comes from memory.
tile::Value constant_parameter(tile::Builder& builder, const std::string& name, DType dtype, bool asynchronous);

}  // namespace tegula::compile
