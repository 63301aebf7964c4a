#pragma once
// Spectra of short pieces of a signal, and windows.

#include <cstdint>

#include "tegula/graph/tensor.h"

namespace tegula {

// Windows of n numbers; periodic: the beginning of a window of n + 1, as spectra want it.
enum class Period : bool { Symmetric, Periodic };
/// sin²(π k / n), of n - 1 in place of n where symmetric.
Tensor hann_window(std::int64_t n, DType dtype = f32, Period period = Period::Periodic, Line where = Line::current());
/// 0.54 - 0.46 cos(2π k / n).
Tensor hamming_window(std::int64_t n, DType dtype = f32, Period period = Period::Periodic, Line where = Line::current());
/// 0.42 - 0.5 cos(2π k / n) + 0.08 cos(4π k / n).
Tensor blackman_window(std::int64_t n, DType dtype = f32, Period period = Period::Periodic, Line where = Line::current());

struct StftOptions {
  std::int64_t size = 512;  // of a piece
  std::int64_t hop = 0;     // from one piece to the next; 0: size / 4
  Tensor window = {};       // (size); by default hann_window(size)
  bool center = true;       // the signal is reflected at both ends by size / 2, so that piece k is around element k hop
};
/// x (…, n) real -> (…, size/2 + 1, pieces, 2): rfft of each piece times the window (torch.stft with onesided and return_complex).
Tensor stft(Arg x, const StftOptions& options = {});
/// The signal (…, length) whose stft comes nearest to this: pieces are added up and divided by what the squares of the windows add up to, which must not be 0
/// (torch.istft).
Tensor istft(Arg x, std::int64_t length, const StftOptions& options = {});

}  // namespace tegula
