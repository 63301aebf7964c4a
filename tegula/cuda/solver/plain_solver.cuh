// Text of kernels beside cuSOLVER's: BATCH, LENGTH, ROWS, COUNT and Pivot are defined in front of it by solver_call.cpp.

#pragma region Solver
// Where each matrix of the batch begins; LENGTH: bytes of one.
extern "C" __global__ void matrix_pointers(char* first, char** to) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < BATCH) to[i] = first + i * LENGTH;
}

// The order of ROWS rows after COUNT exchanges with pivots that count from 1, and how many were of two rows. A thread has a matrix.
extern "C" __global__ void row_order(const Pivot* pivots, long long* order, int* exchanges) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= BATCH) return;
  long long* const mine = order + i * ROWS;
  int count = 0;
  for (long long r = 0; r < ROWS; ++r) mine[r] = r;
  for (long long k = 0; k < COUNT; ++k) {
    const long long other = pivots[i * COUNT + k] - 1;
    if (other == k || other < 0 || other >= ROWS) continue;
    const long long kept = mine[k];
    mine[k] = mine[other];
    mine[other] = kept;
    ++count;
  }
  exchanges[i] = count;
}
#pragma endregion
