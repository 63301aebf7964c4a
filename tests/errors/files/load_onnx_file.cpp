// expect: ^load: got file: an ONNX file, expected weights: safetensors, PyTorch's, Keras' or TensorFlow's, GGUF or \.npz
// expect: hint: tegula/onnx\.h reads it: onnx::load
#include <tegula/tegula.h>

#include "tests/errors/files.h"

void load_onnx_file() {
  tegula::nn::Linear fc{2, 3};
  tegula::load(fc, errors::file_of(std::string("\x08\x07\x12\x07pytorch\x1A\x05"
                                               "2.1.0:\x84\x01",
                                               19)));
}
