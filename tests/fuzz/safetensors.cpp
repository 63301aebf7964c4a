// The safetensors reader on arbitrary bytes: it returns tensors of no more than the data hold, or throws tegula::Error. Nothing else.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/io/safetensors.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tegula::set_warning_handler([](const std::string&, const std::string&) {});  // warns of left-out arrays
  try {
    const auto file = tegula::io::parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    std::uint64_t bytes = 0;
    for (const auto& [name, array] : file.tensors) bytes += array.bytes();
    if (bytes > 2 * size) std::abort();  // the next wider dtype has twice the bytes
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
