#pragma once
// Numbers of a run as parameters of tile programs.

#include <string>

#include "tegula/tile/builder.h"

namespace tegula::compile {

/// A number of the run (Reference::Constant) as a program's parameter: on asynchronous devices it comes from memory.
inline tile::Value constant_parameter(tile::Builder& builder, const std::string& name, DType dtype, bool asynchronous) {
  const DType computed = tile::compute_type(dtype);
  return asynchronous ? builder.load(builder.pointer(name, computed, false)) : builder.scalar(name, computed);
}

}  // namespace tegula::compile
