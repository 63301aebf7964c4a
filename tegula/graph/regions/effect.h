#pragma once
// Ops that do something beside giving results: they exchange it with other processes.

#include "tegula/graph/op.h"

namespace tegula {

/// Such nodes run in program order: outside of traces where they are made, each once; in a trace when that runs.
enum class Effect : std::uint8_t {
  None,
  Ordered,  // in a trace if somebody reads its result
  Always,   // in a trace, too, where nobody does: another process waits for it
};

/// What a LibraryOp with an effect is as well.
class HasEffect {
 public:
  virtual ~HasEffect() = default;
  virtual Effect effect() const = 0;
};

/// Of a loop: Ordered when its body has one.
Effect effect_of(const Op& op);

/// The op of a view of input 0 that is available only once the other inputs are.
const Ref<const Op>& barrier_op();

}  // namespace tegula
