#pragma once
// Declarations that generated sources need after the prelude when they are emulated (tegula/emulator/).

inline float widen(Float16 x) {
  _Float16 y;
  __builtin_memcpy(&y, &x.bits, 2);
  return static_cast<float>(y);
}
inline float widen(BFloat16 x) { return __int_as_float(static_cast<int>(static_cast<unsigned>(x.bits) << 16)); }
inline void narrow(float x, Float16& y) {
  const auto half = static_cast<_Float16>(x);
  __builtin_memcpy(&y.bits, &half, 2);
}
inline void narrow(float x, BFloat16& y) {
  const auto word = static_cast<unsigned>(__float_as_int(x));
  y.bits =
      static_cast<unsigned short>((word & 0x7fffffffu) > 0x7f800000u ? (word >> 16) | 0x40u : (word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}
template <class T>
void narrow(const float* x, T* y) {
  narrow(x[0], y[0]), narrow(x[1], y[1]);
}
