// Texts of kernels behind a refined SVD (plain_singular.cpp): ROWS and COLUMNS are defined in front of them. Blocks have 128 threads.

#pragma region Singular
// values[j] = u's column j times p's, both by columns. A block has a column.
extern "C" __global__ void singular_values(const Element* u, const Element* p, Element* values) {
  __shared__ Element sums[128];
  const long long first = (long long)blockIdx.x * ROWS;
  Element sum = 0;
  for (long long i = threadIdx.x; i < ROWS; i += 128) sum += u[first + i] * p[first + i];
  sums[threadIdx.x] = sum;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) values[blockIdx.x] = sums[0];
}

// Stores values by descending size, and the columns of u and v (by rows) in the same order; NaN come first. A negative value turns its column of u.
// A block has a column of u; those behind COLUMNS stay where they are.
extern "C" __global__ void singular_order(const Element* values, const Element* u, const Element* v, Element* values_out, Element* u_out, Element* v_out) {
  __shared__ int counts[128];
  const long long j = blockIdx.x;
  long long place = j;
  bool turned = false;
  if (j < COLUMNS) {
    const Element value = values[j], own = value < 0 ? -value : value;
    int count = 0;
    for (long long i = threadIdx.x; i < COLUMNS; i += 128) {
      const Element other = values[i] < 0 ? -values[i] : values[i];
      const bool first = other > own || (other != other && own == own), equal = other == own || (other != other && own != own);
      count += first || (equal && i < j);
    }
    counts[threadIdx.x] = count;
    for (int half = 64; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) counts[threadIdx.x] += counts[threadIdx.x + half];
    }
    __syncthreads();
    place = counts[0], turned = value < 0;
    if (threadIdx.x == 0) values_out[place] = own;
    for (long long r = threadIdx.x; r < COLUMNS; r += 128) v_out[r * COLUMNS + place] = v[r * COLUMNS + j];
  }
  for (long long i = threadIdx.x; i < ROWS; i += 128) u_out[place * ROWS + i] = turned ? -u[j * ROWS + i] : u[j * ROWS + i];
}
#pragma endregion
