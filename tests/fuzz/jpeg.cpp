// The JPEG reader on arbitrary bytes returns (H, W, C) u8 or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/jpeg.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tegula::HostArray image = tegula::io::parse_jpeg(std::as_bytes(std::span(data, size)), "fuzz");
    if (image.shape.rank() != 3 || image.dtype != tegula::u8) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
