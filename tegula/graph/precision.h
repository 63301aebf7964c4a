#pragma once
// The precision in which tensor cores (or their stand-ins) multiply. A choice of the user that never changes the dtype of a tensor.

#include <cstdint>
#include <optional>
#include <string_view>

#include "tegula/core/dtype.h"

namespace tegula {

/// Sums are f32 in all of them; Variables, reductions, norms, softmax and losses stay f32.
enum class Precision : std::uint8_t {
  fp32,  // IEEE f32 throughout
  tf32,  // products of f32 operands rounded to 10 bits of mantissa, where the device has that; elsewhere fp32
  bf16,  // matmul and convolution take and give bf16, and activations between them are stored so
  fp16,  // the same in f16; train with optim::LossScaler
  fp8,   // bf16, and both operands of each matmul rounded to E4M3 under a factor of their own (round_e4m3), gradients' products included
};

/// Sets the precision for all threads, from the next node on. At first fp32.
void set_default_precision(Precision precision);
Precision default_precision();
/// The precision of nodes made now: of this thread's innermost scope, otherwise the default.
Precision current_precision();

/// PrecisionScope exact(Precision::fp32): until it goes, ops called on this thread have that precision, and so have their gradients
/// whenever those are taken. Around a call of a jit-ed function it selects an executable; inside of one it belongs to the trace.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  std::int8_t before_;
};

/// "fp32", …
std::string_view name(Precision precision);
/// The precision of that name, if there is one.
std::optional<Precision> precision_of(std::string_view name);
/// The dtype in which values are stored between tensor-core ops: bf16, f16, or f32.
DType storage_of(Precision precision);

}  // namespace tegula
