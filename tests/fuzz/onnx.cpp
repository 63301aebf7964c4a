// The reader of ONNX files on arbitrary bytes returns a model, whose operators can be looked up and which can be written and read again, or throws tegula::Error.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "tegula/core/error.h"
#include "tegula/io/file_kind.h"
#include "tegula/onnx/model.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string written;  // stays empty where the model cannot be
  try {
    const auto file = tegula::onnx::parse_file(std::as_bytes(std::span(data, size)), "fuzz");
    for (const auto& array : file.graph.initializers)
      if (tegula::onnx::has_dtype(array.type) && !array.array.buffer) std::abort();
    for (const auto& finding : tegula::onnx::check(file))
      if (finding.problem.empty()) std::abort();
    written = tegula::onnx::bytes_of(file);
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  const auto bytes = std::as_bytes(std::span(written));
  // Must not throw but for a first field that looks like another kind of file.
  if (tegula::io::kind_of(bytes) == tegula::io::FileKind::Onnx) tegula::onnx::parse_file(bytes, "written");
  return 0;
}
