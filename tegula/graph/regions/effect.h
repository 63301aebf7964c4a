#pragma once
// Ops that do something beside giving results: they exchange it with other processes.

#include "tegula/graph/op.h"

namespace tegula {

inline Effect effect_of(const Op& op) { return op.role() == Role::Library ? static_cast<const LibraryOp&>(op).effect() : Effect::None; }

/// What an op that exchanges is as well where the compiler may let it change places with others like it: all who take part have one and the same graph, so that all choose alike.
class TakesTurns {
 public:
  virtual ~TakesTurns() = default;
  virtual bool takes_turns() const = 0;
};
inline bool takes_turns(const Op& op) {
  const auto* const exchange = dynamic_cast<const TakesTurns*>(&op);
  return exchange && exchange->takes_turns();
}

/// The op of a view of input 0 that is available only once the other inputs are.
const Ref<const Op>& barrier_op();

}  // namespace tegula
