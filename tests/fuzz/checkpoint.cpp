// The reader of the index of TensorFlow'\''s checkpoints on arbitrary bytes returns entries or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/tensorflow/checkpoint.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& entry : tegula::io::parse_checkpoint_index(std::as_bytes(std::span(data, size)), "fuzz")) {
      if (entry.key.empty()) std::abort();
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
