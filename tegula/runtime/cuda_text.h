#pragma once
// CUDA C++ of a user's own as text: which parameters a kernel has, and how the text is made ready for a compiler.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/line.h"
#include "tegula/runtime/cuda_kernel.h"

namespace tegula::runtime {

/// A parameter of a kernel, as its text has it.
struct CudaParameter {
  std::string type, name;  // "const float*", "x"
  bool pointer = false;
  bool writable = false;  // true if the pointer's target may be written
  std::optional<DType> dtype = {};  // of a number, or of a pointer's target (float4*: f32); empty for void* and the kernel's own types
  int bytes = 8;  // size of a number: of the type that the launch passes
  bool is_unsigned = false;
};

/// Text with the name that its lines are told by: a file, or "text of saxpy".
struct CudaText {
  std::string text, file;
};

/// A kernel of a text, by its name as a launch says it: "saxpy", or "reduce<float, 256>" for a template.
struct CudaSignature {
  std::string name;  // without template arguments: "reduce"
  std::vector<CudaParameter> parameters;
  bool is_template = false;
  std::string bounds;  // "__launch_bounds__(256)", where it says so
  int line = 0;  // on which the kernel's name stands
};

/// Throws Error if the text has no such kernel, if several have the name, and for a parameter of a type that a launch cannot give: neither a
/// pointer, nor a number, nor a type parameter of the kernel's.
CudaSignature signature_of(const CudaText& text, const std::string& name, const Line& where);

/// A variable that the text declares __constant__ or __device__ outside of functions.
struct CudaVariable {
  std::string type;  // "float": of an element
  std::optional<DType> dtype = {};  // where that is a number
  bool is_const = false;  // in C++
  std::size_t begin = 0;  // of its name in the text
};
/// Nothing where the text has none of that name.
std::optional<CudaVariable> variable_of(const CudaText& text, const std::string& name);

/// A variable that a launch sets, and which of the kernel's tensors it is set to. They are the kernel's arguments behind those of its parameters.
struct CudaSetting {
  std::string name;
  std::size_t tensor = 0;
};
std::vector<CudaSetting> settings_of(const CudaKernel& kernel);

/// A variable that the text declares __shared__.
struct CudaShared {
  std::string name;
  std::size_t element = 4;  // bytes of its type, where that is a number's
  bool dynamic = false;  // extern: the launch gives its size
};

/// The text for the system's C++ compiler, with its lines, and its shared declarations. Headers that CUDA programs include and that the words replace
/// are left out.
struct EmulatedText {
  std::string text;
  std::vector<CudaShared> shared;
};
EmulatedText text_for_emulator(const CudaText& text);

/// The unit for NVRTC, with #line directives for the user's lines, and the name of its kernel's entry. For a template: of a kernel that calls it.
struct NvrtcText {
  std::string text, entry;
};
NvrtcText text_for_nvrtc(const CudaText& text, const std::string& name, const Line& where);

}  // namespace tegula::runtime
