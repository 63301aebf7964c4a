#pragma once
// The specification of the tile words, executable: program instances run one after another, every value is a plain vector.
// Slow on purpose; the executors are tested against it.

#include "tegula/runtime/device.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {

/// Runs a verified program over set.grid, instance (x, y, z) with x fastest. Sums go in order of the elements, f32 arithmetic is done in
/// f64 and rounded after each word. A failed Assert goes to `failure`, the first one stays; execution goes on.
void interpret(const Program& program, const runtime::ArgumentSet& set, runtime::Failure* failure = nullptr);

}  // namespace tegula::tile
