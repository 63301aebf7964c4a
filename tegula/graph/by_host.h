#pragma once
// Library ops that the host computes for a device without their call.

#include <memory>

#include "tegula/graph/op.h"

namespace tegula {

/// Optional base of a LibraryOp that describes its call: what is prepared for a device that offers no way for the description.
class ByHost {
 public:
  virtual ~ByHost() = default;
  virtual std::unique_ptr<runtime::Call> by_host(runtime::Device& device, const LibraryOp::Setting& setting) const = 0;
};

}  // namespace tegula
