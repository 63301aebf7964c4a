// Text of kernels beside cuSOLVER's: BATCH, LENGTH, ROWS, COUNT and Pivot are defined in front of it by solver_call.cpp.

#pragma region Solver
// Stores the place where each matrix of the batch begins; LENGTH: bytes of one.
extern "C" __global__ void matrix_pointers(char* first, char** to) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < BATCH) to[i] = first + i * LENGTH;
}

// The order of ROWS rows after COUNT exchanges with pivots that count from 1, and how many were of two rows. A block has a matrix; one thread exchanges, in shared memory
// if the rows fit.
#define PIECE 256
extern "C" __global__ void row_order(const Pivot* pivots, long long* order, int* exchanges) {
  const long long i = blockIdx.x;
  long long* const mine = order + i * ROWS;
#if ROWS <= 8192
  __shared__ int rows[ROWS];
#else
  long long* const rows = mine;
#endif
  __shared__ long long piece[PIECE];
  for (long long r = threadIdx.x; r < ROWS; r += blockDim.x) rows[r] = r;
  int count = 0;
  for (long long begin = 0; begin < COUNT; begin += PIECE) {
    const int length = COUNT - begin < PIECE ? COUNT - begin : PIECE;
    __syncthreads();
    for (int k = threadIdx.x; k < length; k += blockDim.x) piece[k] = pivots[i * COUNT + begin + k] - 1;
    __syncthreads();
    for (int k = 0; threadIdx.x == 0 && k < length; ++k) {
      const long long other = piece[k];
      if (other == begin + k || other < 0 || other >= ROWS) continue;
      const auto kept = rows[begin + k];
      rows[begin + k] = rows[other];
      rows[other] = kept;
      ++count;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) exchanges[i] = count;
#if ROWS <= 8192
  for (long long r = threadIdx.x; r < ROWS; r += blockDim.x) mine[r] = rows[r];
#endif
}
#pragma endregion
