// expect: ^onnx: got file\.onnx: 2 things that cannot be built:
// expect: node head: the operator Bessel
// expect: node act: the attribute slope of Relu
// expect: hint: docs/onnx\.md
#include <tegula/onnx.h>

#include "tegula/io/file.h"
#include "tests/onnx/writer.h"

void onnx_unknown_operators() {
  using namespace tegula::testing;
  const std::string model =
      model_proto({.nodes = {{"Bessel", {"x"}, {"h"}, {}, "head"}, {"Relu", {"h"}, {"y"}, {attribute("slope", 1.f)}, "act"}},
                   .inputs = {value_proto("x", {2})},
                   .outputs = {value_proto("y", {2})}});
  tegula::io::write_atomically("file.onnx", std::as_bytes(std::span(model)));
  tegula::onnx::load("file.onnx");
}
