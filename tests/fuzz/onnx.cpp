// The reader of ONNX files on arbitrary bytes returns a model, whose operators can be looked up, or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/onnx/model.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto file = tegula::onnx::parse_file(std::as_bytes(std::span(data, size)), "fuzz");
    for (const auto& array : file.graph.initializers)
      if (tegula::onnx::has_dtype(array.type) && !array.array.buffer) std::abort();
    for (const auto& finding : tegula::onnx::check(file))
      if (finding.problem.empty()) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
