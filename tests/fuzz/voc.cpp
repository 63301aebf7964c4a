// The reader of Pascal VOC's labels on arbitrary bytes: it returns one picture whose objects have a class and finite boxes, or throws tegula::Error. Nothing else.

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/data/objects/voc.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tegula::data::ObjectLabels labels = tegula::data::parse_voc({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (labels.pictures.size() != 1) std::abort();
    for (const tegula::data::LabelledObject& object : labels.pictures[0].objects) {
      if (object.of_class < 0 || object.of_class >= static_cast<std::int64_t>(labels.names.size())) std::abort();
      for (const double corner : object.corners) {
        if (!std::isfinite(corner)) std::abort();
      }
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
