// The .npz reader on arbitrary bytes returns arrays or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/io/npy.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tegula::set_warning_handler([](const std::string&, const std::string&) {});  // warns of left-out arrays
  try {
    for (const auto& [name, array] : tegula::io::parse_npz(std::as_bytes(std::span(data, size)), "fuzz")) {
      if (!array.buffer) std::abort();
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
