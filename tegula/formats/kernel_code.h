#pragma once
// User kernels shown and taken out of a program: the kernel that computes the result of a launch. They need NVRTC and no GPU.

#include <string>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/graph/tensor.h"

namespace tegula {

struct KernelCodeOptions {
  std::string kernel = {};  // its name, where results depend on several
  int architecture = 90;  // 90 for sm_90
  bool aligned = true;  // tensors begin at multiples of 16 bytes, as cuMemAlloc's do
};

/// A report of the kernel that computes `result`: its tile program, the code generator's decisions, CUDA C++, PTX, SASS if nvdisasm or cuobjdump is found, registers, spills, shared
/// memory, occupancy, the bytes a launch reads and writes, and the number of operations it was declared with. `result` is the result of a tile kernel or a
/// cuda_kernel, or depends on one; it is not computed. Throws Error if it depends on no kernel, on several while none is named, or if NVRTC is missing.
std::string show_kernel(const Tensor& result, const KernelCodeOptions& options = {}, Line where = Line::current());

/// Writes NAME.cubin, NAME.h and NAME.c into the folder: machine code, and functions in C that load and launch it by the CUDA driver alone, without Tegula. NAME is the
/// kernel's name as C has names. The constants are those of the launch; its tensors' sizes and its numbers may be any. Gives the paths. Throws Error like
/// show_kernel, and where a file cannot be written.
std::vector<std::string> build_kernel(const Tensor& result, const std::string& folder, const KernelCodeOptions& options = {},
                                      Line where = Line::current());

/// The names of the kernels that results depend on, each once.
std::vector<std::string> kernels_in(const std::vector<Tensor>& results);

}  // namespace tegula
