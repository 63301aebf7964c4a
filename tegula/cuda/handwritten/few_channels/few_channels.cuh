// Text of kernels, as few_channels.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).

#pragma region FewChannelsWords
struct alignas(16) Four { float x, y, z, w; };
#ifndef TEGULA_EMULATED
#define TEGULA_SHARED extern __shared__ unsigned char shared[]
#endif
__device__ __forceinline__ Four rounded(Four x) { return Four{rounded(x.x), rounded(x.y), rounded(x.z), rounded(x.w)}; }
// Without a branch, so that many loads are under way at once: what is outside is read from the beginning and thrown away.
__device__ __forceinline__ float one_where(bool inside, const float* from, int at) {
  const float value = from[inside ? at : 0];
  return inside ? rounded(value) : 0.0f;
}
__device__ __forceinline__ Four four_where(bool inside, const float* from, int at) {
  const Four value = *(const Four*)(from + (inside ? at : 0));
  return inside ? rounded(value) : Four{0, 0, 0, 0};
}
#pragma endregion
