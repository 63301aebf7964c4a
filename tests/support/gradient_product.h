#pragma once
// Products times a derivative (runtime::gelu_tanh_gradient) as the library's plain product and a naive loop.

#include <array>
#include <cmath>
#include <memory>

#include "tegula/runtime/device.h"

namespace tegula::test {

class GradientProduct final : public runtime::Call {
 public:
  GradientProduct(runtime::Device& device, const runtime::Matmul& d) : d_(d) {
    runtime::Matmul plain = d;
    plain.epilogue = {};
    product_ = device.make(plain);
  }

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  std::string describe() const override { return "naive product times a derivative"; }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const std::array<void*, 3> plain{buffers[0], buffers[1], buffers.back()};
    product_->run(plain, options);
    visit(d_.dtype(),
          [&](auto zero) { multiply(static_cast<const decltype(zero)*>(buffers[2]), static_cast<decltype(zero)*>(buffers.back())); });
  }

 private:
  template <class T>
  void multiply(const T* x, T* c) const {  // both dense
    constexpr double kScale = 0.79788456080286536, kCube = 0.044715;
    for (std::int64_t i = 0; i < numel(d_.c.layout.shape); ++i) {
      const double v = as_double(x[i]), t = std::tanh(kScale * (v + kCube * v * v * v));
      c[i] = from_double<T>(as_double(c[i]) * (0.5 * (1 + t) + 0.5 * v * (1 - t * t) * kScale * (1 + 3 * kCube * v * v)));
    }
  }

  runtime::Matmul d_;
  std::unique_ptr<runtime::Call> product_;
};

}  // namespace tegula::test
