#pragma once
// Ops that do something beside giving results: they exchange it with other processes.

#include "tegula/graph/op.h"

namespace tegula {

inline Effect effect_of(const Op& op) { return op.role() == Role::Library ? static_cast<const LibraryOp&>(op).effect() : Effect::None; }

inline bool takes_turns(const Op& op) { return op.role() == Role::Library && static_cast<const LibraryOp&>(op).takes_turns(); }

/// The op of a view of input 0 that is available only once the other inputs are.
const Ref<const Op>& barrier_op();

}  // namespace tegula
