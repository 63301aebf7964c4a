// The safetensors reader on arbitrary bytes: it returns tensors that tile the data exactly, or throws tegula::Error. Nothing else.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/io/safetensors.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = tegula::io::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, data, 8);
    bytes += 8;
    for (const auto& [name, array] : file.tensors) bytes += array.bytes();
    if (bytes != size) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
