// The reader of llama2.c's checkpoints on arbitrary bytes: it returns a model whose weights fill the input, or throws tegula::Error. Nothing else.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/models/text/llama.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tegula::models::Llama llama = tegula::models::parse_llama2c(std::as_bytes(std::span(data, size)), "fuzz");
    if (static_cast<std::size_t>(4 * tegula::num_parameters(llama)) + 28 > size) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
