// The .npy reader on arbitrary bytes returns an array that is written and read back as it was, or throws tegula::Error.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/io/npy.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tegula::HostArray array = tegula::io::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
    const tegula::HostArray again = tegula::io::parse_npy(tegula::io::npy_bytes(array), "fuzz");
    if (again.dtype != array.dtype || !(again.shape == array.shape)) std::abort();
    if (array.bytes() > 0 && std::memcmp(array.buffer->data(), again.buffer->data(), array.bytes()) != 0) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
