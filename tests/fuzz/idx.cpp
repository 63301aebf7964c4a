// The idx reader on arbitrary bytes: it returns an array that fills the input exactly, or throws tegula::Error. Nothing else.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/data/idx.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tegula::HostArray array = tegula::data::parse_idx(std::as_bytes(std::span(data, size)), "fuzz");
    if (array.bytes() + 4 + 4 * static_cast<std::size_t>(array.shape.rank()) != size) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
