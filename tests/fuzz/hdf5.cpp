// The reader of HDF5 files on arbitrary bytes returns objects or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/hdf5/hdf5.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& object : tegula::io::parse_hdf5(std::as_bytes(std::span(data, size)), "fuzz")) {
      if (object.array.buffer && object.array.bytes() > 1040 * size) std::abort();
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
