// Word vector files from arbitrary bytes are read, with a row for each word, or throw tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/text/vectors/word_vectors.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto vectors = tegula::text::parse_word_vectors(std::as_bytes(std::span(data, size)), "fuzz");
    if (vectors.vectors().shape[0] != vectors.size()) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
