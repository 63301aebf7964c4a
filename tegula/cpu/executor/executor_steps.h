#pragma once
// The step functions that are not elementwise: scalars, control, memory.

#include "tegula/cpu/executor/executor_bytecode.h"
#include "tegula/tile/atomic.h"
#include "tegula/tile/ir.h"

namespace tegula::host {

/// An integer word on scalars (integer or boolean operands) as a ScalarStep; nullptr when there is none.
Run find_scalar(tile::Word word, DType dtype);

// More ScalarSteps.
const Step* copy_scalar(const Step*, Frame&);          // out = a
const Step* floor_divide(const Step*, Frame&);         // i64, b > 0
const Step* bounded_add(const Step*, Frame&);          // i64, kept within ±2^62: places beyond every axis
const Step* bounded_subtract(const Step*, Frame&);
const Step* extend_i32(const Step*, Frame&);           // the low 32 bits of a, with their sign
const Step* extend_u32(const Step*, Frame&);           // the low 32 bits of a, with zeros above
const Step* extend_boolean(const Step*, Frame&);       // the low byte of a

// LoopStep, JumpStep.
const Step* loop_begin(const Step*, Frame&);
const Step* loop_end(const Step*, Frame&);
const Step* while_begin(const Step*, Frame&);
const Step* while_end(const Step*, Frame&);
const Step* strip_begin(const Step*, Frame&);
const Step* strip_end(const Step*, Frame&);
const Step* jump(const Step*, Frame&);
const Step* jump_unless(const Step*, Frame&);
const Step* finish(const Step*, Frame&);               // the end of the code

// BlockStep.
const Step* load_block(const Step*, Frame&);
const Step* store_block(const Step*, Frame&);
const Step* aim_store(const Step*, Frame&);            // lets the word before a store write where the store would

// GatherStep.
const Step* load_gather(const Step*, Frame&);
const Step* store_scatter(const Step*, Frame&);
const Step* add_scatter(const Step*, Frame&);
const Step* change_scatter(const Step*, Frame&);          // AtomicStep
/// The change that an atomic word makes to one element of memory.
Change find_change(tile::AtomicKind kind, DType stored);

// IndexStep, MarkStep, AssertStep.
const Step* write_indices(const Step*, Frame&);
const Step* write_box(const Step*, Frame&);
const Step* mark_equal(const Step*, Frame&);
const Step* check(const Step*, Frame&);

}  // namespace tegula::host
