#pragma once
// CUDA C++ kernels of one's own as nodes of the graph, as CuPy's RawKernel and PyTorch's load_inline have them: on a GPU compiled by NVRTC, elsewhere run and watched
// by the emulator (docs/cuda_kernels.md). A kernel over tiles, which fuses with nothing less and needs no compiler, is tile::jit (tegula/tile.h).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/core/number.h"
#include "tegula/graph/tensor.h"
#include "tegula/graph/variable.h"

namespace tegula {

/// CUDA C++ as text. Its lines are told as those of "text of saxpy", or of the file that it was read from.
struct CudaSource {
  CudaSource(std::string text) : text(std::move(text)) {}
  CudaSource(const char* text) : text(text) {}
  std::string text, file = {};
};
/// Throws Error where there is no such file.
CudaSource cuda_file(const std::string& path, Line where = Line::current());

/// A result of a kernel: each element begins as `fill`, or is written by some thread.
struct CudaOut {
  Shape shape;
  DType dtype = f32;
  std::optional<Number> fill = {};
};
inline CudaOut cuda_out(Shape shape, DType dtype = f32, std::optional<Number> fill = {}) { return {std::move(shape), dtype, fill}; }

/// A Variable that the kernel updates in place.
struct CudaUpdate {
  Variable* variable = nullptr;  // the caller's, until the launch
};
inline CudaUpdate cuda_update(Variable& variable) { return {&variable}; }

/// The argument for a kernel's parameter: a tensor that it reads (dense and row-major: any other view is copied), a result, a Variable to update, a number (of the
/// parameter's type), or no tensor at all.
class CudaArg {
 public:
  enum class Kind : std::uint8_t { Input, Output, Update, Number, Null };
  CudaArg(const Tensor& x) : kind(Kind::Input), tensor(x) {}
  CudaArg(const Variable& x) : kind(Kind::Input), tensor(x) {}
  CudaArg(CudaOut out) : kind(Kind::Output), out(std::move(out)) {}
  CudaArg(CudaUpdate update) : kind(Kind::Update), variable(update.variable) {}
  CudaArg(std::nullptr_t) : kind(Kind::Null) {}
  template <class T>
  requires std::is_arithmetic_v<T>
  CudaArg(T value) : kind(Kind::Number),
                     number(value) {}

  Kind kind;
  Tensor tensor = {};
  CudaOut out = {};
  Variable* variable = nullptr;
  Number number = {};
};

/// A __constant__ or __device__ variable of the text, and its value when the kernel begins: its first bytes are those of the tensor. Variables that are not
/// named keep what they held.
struct CudaVariable {
  std::string name;
  Tensor value;
};

/// Blocks and threads along up to three axes: what stands between <<< and >>>.
struct CudaLaunch {
  Dims grid = {1};  // blocks; none along an axis: nothing runs
  Dims block = {1};  // threads of a block, at most 1024
  std::int64_t shared = 0;  // bytes of a block's shared memory beside the text's declarations, for `extern __shared__`; at most 227 KiB
  double operations = 0;  // floating-point, of the launch, for reports
  std::vector<CudaVariable> variables = {};  // what cudaMemcpyToSymbol would set
};

/// The results of the kernel `name` of the text over these arguments, one for each parameter in their order; what stands as cuda_update becomes the Variable's value.
/// The name of a template says its arguments: "reduce<float, 256>".
///
///     Tensor z = cuda_kernel("saxpy", R"(
///       __global__ void saxpy(int n, float a, const float* x, const float* y, float* z) {
///         int i = blockIdx.x * blockDim.x + threadIdx.x;
///         if (i < n) z[i] = a * x[i] + y[i];
///       })", {n, 2.0f, x, y, cuda_out({n})}, {.grid = {divide_up(n, 256)}, .block = {256}})[0];
///
/// Without a GPU it is run by the emulator, which needs the system's C++ compiler and is some hundred times slower than a GPU's thread; it finds what CUDA leaves to
/// chance: accesses outside of tensors and arrays, reads of what nobody wrote, races, barriers that not all threads of a block reach, elements of results that
/// nobody writes. Each is an Error with the thread, the block and the line of the text.
///
/// Throws Error at once for a text without such a kernel, arguments that do not fit its parameters in number, kind, dtype or range, a kernel without results or
/// with more than 8, variables that the text does not declare, and a launch beyond what every GPU can do. When it runs: for text that the compiler refuses, with its messages at the text's lines.
std::vector<Tensor> cuda_kernel(const std::string& name, const CudaSource& source, const std::vector<CudaArg>& arguments,
                                const CudaLaunch& launch, Line where = Line::current());

/// The tensors that a gradient is computed from. inputs: Variables to update, then tensors, each in the order of the parameters, then what the launch's
/// variables hold; results: results and new values, in that order.
struct CudaGradient {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& results;
  const std::vector<Tensor>& gradients;  // gradients of the results
  const CudaLaunch& launch;
  Line where;  // the launch's line
};
using CudaGradientFunction = std::function<std::vector<Tensor>(const CudaGradient&)>;

/// A kernel to be launched more than once.
class RawKernel {
 public:
  RawKernel(std::string name, CudaSource source) : name_(std::move(name)), source_(std::move(source)) {}

  std::vector<Tensor> operator()(const CudaLaunch& launch, const std::vector<CudaArg>& arguments, Line where = Line::current()) const;
  /// The same kernel, through which gradients flow: f gives one for each input, an empty Tensor where none flows.
  RawKernel gradient(CudaGradientFunction f) const {
    RawKernel kernel = *this;
    kernel.gradient_ = std::move(f);
    return kernel;
  }
  const std::string& name() const { return name_; }
  const CudaSource& source() const { return source_; }

 private:
  std::string name_;
  CudaSource source_;
  CudaGradientFunction gradient_;
};
inline RawKernel cuda_kernel(std::string name, CudaSource source) { return {std::move(name), std::move(source)}; }

}  // namespace tegula
