#pragma once
// Ops that do something beside giving results: they exchange it with other processes.

#include "tegula/graph/op.h"

namespace tegula {

inline Effect effect_of(const Op& op) { return op.role() == Role::Library ? static_cast<const LibraryOp&>(op).effect() : Effect::None; }

inline bool takes_turns(const Op& op) { return op.role() == Role::Library && static_cast<const LibraryOp&>(op).takes_turns(); }

/// class_name() of ops by which ranks exchange something: that belongs to a run, and no file has it.
inline constexpr std::string_view kExchange = "exchange";
inline constexpr const char* kNoExchangeInFiles = "what ranks do together is not in graph files: save the function of one rank";

/// The one BarrierOp.
const Ref<const Op>& barrier_op();

}  // namespace tegula
