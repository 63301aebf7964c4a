// Sums of a block, from the first idea to warp shuffles (Mark Harris, Optimizing Parallel Reduction in CUDA). Each block of 256 threads leaves one number.

#define BLOCK 256

// Interleaved addressing: neighbours first. Half the threads of each warp idle.
__global__ void reduce_interleaved(const float* in, float* out, int n) {
  __shared__ float s[BLOCK];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    if (t % (2 * d) == 0) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// Sequential addressing: the first half adds the second one to itself, so whole warps end.
__global__ void reduce_sequential(const float* in, float* out, int n) {
  __shared__ float s[BLOCK];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// The last warp unrolled. The slides leave its barriers out, because the threads of a warp ran in step before Volta: that is a race now, and the emulator finds it.
__device__ void last_warp(volatile float* s, int t) {
  float v = s[t];
  v += s[t + 32]; __syncwarp(); s[t] = v; __syncwarp();
  v += s[t + 16]; __syncwarp(); s[t] = v; __syncwarp();
  v += s[t + 8]; __syncwarp(); s[t] = v; __syncwarp();
  v += s[t + 4]; __syncwarp(); s[t] = v; __syncwarp();
  v += s[t + 2]; __syncwarp(); s[t] = v; __syncwarp();
  v += s[t + 1]; __syncwarp(); s[t] = v;
}

// Sizes are known to the compiler, and each thread adds two elements while it loads them.
template <unsigned int blockSize>
__global__ void reduce_unrolled(const float* in, float* out, int n) {
  __shared__ float s[blockSize];
  const int t = threadIdx.x, i = blockIdx.x * (2 * blockSize) + t;
  s[t] = (i < n ? in[i] : 0.f) + (i + blockSize < n ? in[i + blockSize] : 0.f);
  __syncthreads();
  if (blockSize >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
  if (blockSize >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
  if (blockSize >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
  if (t < 32) last_warp(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

// Within a warp numbers go from register to register; shared memory holds one number of each warp. One atomic addition joins the blocks.
__inline__ __device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  return v;
}
__global__ void reduce_shuffled(const float* in, float* out, int n) {
  __shared__ float of_warp[32];
  float v = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  v = warp_sum(v);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < blockDim.x / 32 ? of_warp[lane] : 0.f;
    v = warp_sum(v);
    if (lane == 0) atomicAdd(out, v);
  }
}
