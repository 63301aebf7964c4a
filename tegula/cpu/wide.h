#pragma once
// Loops with the instructions that the library asks for of every x86-64 (cpu/device.cpp): the compiler's baseline has half the width. For functions that
// loop over much, as they are not inlined into others; a lambda within one is not among them.

#if defined(__x86_64__)
#define TEGULA_WIDE __attribute__((target("avx2,fma")))
#else
#define TEGULA_WIDE
#endif
