#pragma once
// Drops noted nodes (evaluate.h) after an op could not be made.

namespace tegula {

/// Only exchanges, which other ranks wait for, are still to be computed.
void forget_noted();

}  // namespace tegula
