#pragma once
// What becomes of noted nodes (evaluate.h) where an op could not be made.

namespace tegula {

/// Only exchanges, which other ranks wait for, are still to be computed.
void forget_noted();

}  // namespace tegula
