// The reader of Keras models on arbitrary bytes returns tensors or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/keras/keras.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& tensor : tegula::io::parse_keras(std::as_bytes(std::span(data, size)), "fuzz")) {
      if (!tensor.array.buffer) std::abort();
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
