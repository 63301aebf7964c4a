#pragma once
// Makes x + dot(a, b) of floats dot(a, b, x), where the product begins with zeros and nothing else takes it.
// Why: tensor cores add to what a thread holds; the sum would be held twice.
// Why apart from the passes of a finished program: sums are rounded otherwise, so that only machines that round them their own way use it.

#include "tegula/tile/ir.h"

namespace tegula::tile {

/// The same program with such sums as accumulators; ids stay.
Program add_into_products(Program program);
/// Whether all elements are 0.
bool is_zero(const Program& program, Id id);

}  // namespace tegula::tile
