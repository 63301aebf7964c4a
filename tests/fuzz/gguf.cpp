// The reader of GGUF files on arbitrary bytes returns arrays or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/gguf.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& [name, array] : tegula::io::parse_gguf(std::as_bytes(std::span(data, size)), "fuzz")) {
      if (!array.buffer) std::abort();
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
