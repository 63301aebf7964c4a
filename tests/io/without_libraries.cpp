// The readers of formats whose libraries were not there when Tegula was built say which package to install. A program of its own, compiled
// with these sources as they are then.

#include <cstdio>
#include <string>

#include "tegula/core/error.h"
#include "tegula/data/objects/voc.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/npy.h"
#include "tegula/onnx/file.h"

namespace {

template <class F>
bool says(const std::string& package, F f) {
  try {
    f();
  } catch (const tegula::Error& error) {
    const std::string message = error.what();
    if (message.find("install " + package) != std::string::npos) return true;
    std::printf("not found: install %s\nin: %s\n", package.c_str(), message.c_str());
    return false;
  }
  std::printf("nothing was thrown about %s\n", package.c_str());
  return false;
}

}  // namespace

int main() {
  const bool jpeg = says("libjpeg-dev", [] { tegula::io::parse_jpeg({}, "x.jpg"); });
  const bool read = says("libzip-dev", [] { tegula::io::parse_npz({}, "x.npz"); });
  const bool write = says("libzip-dev", [] { tegula::io::write_npz("x.npz", {}); });
  const bool voc = says("libexpat1-dev", [] { tegula::data::parse_voc({}, "x.xml"); });
  const bool onnx = says("protobuf-compiler and libprotobuf-dev", [] { tegula::onnx::read_file("x.onnx"); });
  const bool save = says("protobuf-compiler and libprotobuf-dev", [] { tegula::onnx::write_file({}, "x.onnx"); });
  return jpeg && read && write && voc && onnx && save ? 0 : 1;
}
