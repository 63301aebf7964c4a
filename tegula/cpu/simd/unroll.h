#pragma once
// Loops over arrays of registers must be unrolled in full, or the arrays go to memory.

#if defined(__clang__)
#define TEGULA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TEGULA_UNROLL _Pragma("GCC unroll 64")
#endif
