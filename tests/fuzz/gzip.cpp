// Decompression of arbitrary bytes ends within the limit or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/gzip.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 16;
  try {
    if (tegula::io::gunzip(std::as_bytes(std::span(data, size)), "fuzz", {.limit = kLimit}).size() > kLimit) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
