#pragma once
// Shared by the reader and writer of PyTorch's files: its storage classes, and the name of such a file in errors.

#include <array>
#include <string_view>

#include "tegula/core/dtype.h"
#include "tegula/io/zip_archive.h"

namespace tegula::io {

inline constexpr ZipUser kPyTorchZip{.op = "pytorch", .kind = "a PyTorch file", .advice = ".safetensors files need nothing"};

struct PyTorchStorage {
  std::string_view global, name;
  DType dtype;
};
inline constexpr std::array<PyTorchStorage, 10> kPyTorchStorages{{{"torch.DoubleStorage", "DoubleStorage", DType::f64},
                                                                  {"torch.FloatStorage", "FloatStorage", DType::f32},
                                                                  {"torch.HalfStorage", "HalfStorage", DType::f16},
                                                                  {"torch.BFloat16Storage", "BFloat16Storage", DType::bf16},
                                                                  {"torch.LongStorage", "LongStorage", DType::i64},
                                                                  {"torch.IntStorage", "IntStorage", DType::i32},
                                                                  {"torch.ShortStorage", "ShortStorage", DType::i16},
                                                                  {"torch.CharStorage", "CharStorage", DType::i8},
                                                                  {"torch.ByteStorage", "ByteStorage", DType::u8},
                                                                  {"torch.BoolStorage", "BoolStorage", DType::boolean}}};

}  // namespace tegula::io
