#pragma once
// Discrete Fourier transforms. No complex dtype exists: a complex tensor of shape (…) is a real one of shape (…, 2), pairs of real and imaginary parts. `axes`
// name axes of the complex (…): -1 is the one in front of the pairs. f32 or f64; halves compute in f32. All sizes: primes above 31 by Bluestein's algorithm. On
// the CPU by our own loops, on a GPU by cuFFT where it is found, else on the host. All differentiate, and again.

#include <cstdint>
#include <optional>

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {

/// The divisor of the n numbers along the axes.
enum class FourierNorm : std::uint8_t {
  Backward,  // the inverse by n
  Ortho,  // both by √n
  Forward,  // the other by n
};
struct FourierOptions {
  Axes axes = {-1};
  FourierNorm norm = FourierNorm::Backward;
};
/// X[k] = Σ x[j] exp(-2πi jk / n) along the axes: x (…, 2) complex -> (…, 2). One to three axes at once, more one after another.
Tensor fft(Arg x, const FourierOptions& options = {});
/// x[j] = 1/n Σ X[k] exp(2πi jk / n).
Tensor ifft(Arg x, const FourierOptions& options = {});

/// fft of real x (…): the numbers 0 to n/2 along the last of the axes, which say all: (…, n/2 + 1, 2).
Tensor rfft(Arg x, const FourierOptions& options = {});
/// The real x (…, size) whose rfft is this: x (…, size/2 + 1, 2). `size` along the last of the axes, by default the even one. Imaginary parts of numbers that are their own
/// mirror images are left out.
Tensor irfft(Arg x, std::optional<std::int64_t> size = std::nullopt, const FourierOptions& options = {});

/// Real and imaginary parts as pairs, and back; sizes and angles of pairs.
Tensor complex_of(Arg re, Arg im);
Tensor real_part(Arg x);
Tensor imaginary_part(Arg x);
Tensor complex_abs(Arg x);
Tensor complex_angle(Arg x);
/// The product of complex numbers.
Tensor complex_multiply(Arg a, Arg b);

/// The full convolution of real a (…, n) and b (…, m) along the last axis, (…, n + m - 1): by fft, for long ones. Axes in front broadcast.
Tensor convolve(Arg a, Arg b);

}  // namespace tegula
