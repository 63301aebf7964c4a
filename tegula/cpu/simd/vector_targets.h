#pragma once
// To be included before any Highway header: which instruction sets are compiled. On x86-64 two, AVX2 (with FMA) and AVX-512
// (F, BW, DQ, VL); newer ones add nothing we use. The CPU device refuses older machines before any of this runs.

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS (1LL << 9)  // AVX2
#define HWY_DISABLED_TARGETS 0xFFLL      // targets that Highway ranks above plain AVX-512
#endif
