#include <tegula/onnx.h>

#include <cstdio>
#include <fstream>

/// A file that is no model, and the Error that says so.
int main() {
  std::ofstream("text.onnx") << "<html></html>";
  try {
    tegula::onnx::load("text.onnx");
  } catch (const tegula::Error& error) {
    std::printf("%s\n", error.what());
    return error.report().got.find("HTML") == std::string::npos;
  }
  return 1;
}
