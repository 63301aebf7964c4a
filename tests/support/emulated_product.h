#pragma once
// The arithmetic of a tensor core on the fragments of a warp, for plain kernels of f32 (m16n8k8 in TF32; here in full precision). Behind the
// emulator's words.

namespace emulated {
struct Fragment {
  float x, y, z, w;
};
}  // namespace emulated
inline void product(float (&d)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
  emulated::Fragment a[32], b[32];
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int other = 0; other < 32; ++other) {
    a[lane ^ other] = emulated::exchange(emulated::Fragment{a0, a1, a2, a3}, other);
    b[lane ^ other] = emulated::exchange(emulated::Fragment{b0, b1, 0, 0}, other);
  }
  for (int k = 0; k < 8; ++k) {
    const emulated::Fragment& row = a[g * 4 + k % 4];
    for (int e = 0; e < 2; ++e) {
      const emulated::Fragment& column = b[(2 * t + e) * 4 + k % 4];
      const float factor = k < 4 ? column.x : column.y;
      d[e] += (k < 4 ? row.x : row.z) * factor;
      d[2 + e] += (k < 4 ? row.y : row.w) * factor;
    }
  }
}
