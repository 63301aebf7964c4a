#pragma once
// The sanitizer that the tests are built with: GCC and clang say it differently.

#if defined(__SANITIZE_THREAD__)
#define TEGULA_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEGULA_THREAD_SANITIZER
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TEGULA_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEGULA_ADDRESS_SANITIZER
#endif
#endif

#if defined(TEGULA_THREAD_SANITIZER) || defined(TEGULA_ADDRESS_SANITIZER)
#define TEGULA_SANITIZER  // memory that was freed is kept for a while, and address space does not measure the use
#endif
