// Matrix products C (m, n) = A (m, k) · B (k, n), row-major.

#define TILE 16

// One thread, one element: each element of A is read n times from memory.
__global__ void matmul_naive(const float* A, const float* B, float* C, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + column];
  C[row * n + column] = sum;
}

// A block brings tiles of both to shared memory, from where each element is read 16 times.
__global__ void __launch_bounds__(TILE * TILE) matmul_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.f;
  for (int first = 0; first < k; first += TILE) {
    const int i = first + threadIdx.x, j = first + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < m && i < k ? A[row * k + i] : 0.f;
    b[threadIdx.y][threadIdx.x] = j < k && column < n ? B[j * n + column] : 0.f;
    __syncthreads();
    for (int e = 0; e < TILE; ++e) sum += a[threadIdx.y][e] * b[e][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) C[row * n + column] = sum;
}
