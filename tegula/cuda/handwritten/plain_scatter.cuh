// Text of kernels, as plain_scatter.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

#pragma region Sort
// Rows outside of the result count as row LENGTH: they come behind all others and nobody reads them.
__device__ inline Number key_at(const long long* index, Number at) {
  const long long row = index[at];
  return row < 0 || row >= LENGTH ? Number(LENGTH) : Number(row);
}
__device__ inline Number key_at(const Number* keys, Number at) { return keys[at]; }

// Counts each digit in the block's tile.
template <int SHIFT, class Key>
__device__ inline void count_digits(const Key* keys, Number* table) {
  __shared__ unsigned counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const Number begin = Number(blockIdx.x) * TILE;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < TILE; i += 256) {
    if (begin + i < COUNT) atomicAdd(&counts[(key_at(keys, begin + i) >> SHIFT) & 255], 1u);
  }
  __syncthreads();
  table[blockIdx.x * 256 + threadIdx.x] = counts[threadIdx.x];
}

// Puts the tile's keys where they belong by this digit, equal ones in their order. Each warp has a stretch of the tile.
template <int SHIFT, class Key>
__device__ inline void sort_digits(const Key* keys, const Number* lines, const Number* table, Number* sorted_keys, Number* sorted_lines) {
  __shared__ Number next[8][257];  // where a warp's next key of each digit goes; 256: behind the end of the index
  __shared__ Number sums[256];
  const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  for (unsigned w = 0; w < 8; ++w) next[w][thread] = 0;
  __syncthreads();
  const Number begin = Number(blockIdx.x) * TILE + warp * (TILE / 8);
#pragma unroll 4
  for (unsigned i = lane; i < TILE / 8; i += 32) {
    if (begin + i < COUNT) atomicAdd(&next[warp][(key_at(keys, begin + i) >> SHIFT) & 255], Number(1));
  }
  // In front of this thread's digit stand all smaller digits, and its own in the tiles before.
  Number before = 0, all = 0;
#pragma unroll 16
  for (unsigned tile = 0; tile < TILES; ++tile) {
    const Number count = table[tile * 256 + thread];
    before += tile < blockIdx.x ? count : 0;
    all += count;
  }
  sums[thread] = all;
  for (unsigned distance = 1; distance < 256; distance *= 2) {
    __syncthreads();
    const Number left = thread >= distance ? sums[thread - distance] : 0;
    __syncthreads();
    sums[thread] += left;
  }
  before += sums[thread] - all;
  for (unsigned w = 0; w < 8; ++w) {
    const Number count = next[w][thread];
    next[w][thread] = before;
    before += count;
  }
  __syncthreads();
  for (unsigned i = lane; i < TILE / 8; i += 32) {
    const bool inside = begin + i < COUNT;
    const Number key = inside ? key_at(keys, begin + i) : 0;
    const unsigned digit = inside ? unsigned(key >> SHIFT) & 255 : 256;
    const unsigned equal = __match_any_sync(0xffffffffu, digit);
    const unsigned rank = __popc(equal & ((1u << lane) - 1));
    const Number first = digit < 256 ? next[warp][digit] : 0;
    __syncwarp();
    if (rank == 0) next[warp][digit] = first + __popc(equal);
    __syncwarp();
    if (!inside) continue;
    sorted_keys[first + rank] = key;
    sorted_lines[first + rank] = SHIFT == 0 ? begin + i : lines[begin + i];
  }
}
#pragma endregion

#pragma region Pass
extern "C" __global__ void scatter_count_@SHIFT@(const @KEY@* keys, Number* table, Number* rows) {
  if (@SHIFT@ == 0) {
    for (Index i = blockIdx.x * Index(256) + threadIdx.x; i < 2 * Index(LENGTH); i += gridDim.x * Index(256)) rows[i] = 0;
  }
  if (blockIdx.x < TILES) count_digits<@SHIFT@>(keys, table);
}
extern "C" __global__ void scatter_sort_@SHIFT@(const @KEY@* keys, const Number* lines, const Number* table, Number* sorted_keys, Number* sorted_lines) {
  sort_digits<@SHIFT@>(keys, lines, table, sorted_keys, sorted_lines);
}
#pragma endregion

#pragma region Add
struct alignas(16) Words { unsigned word[4]; };
union Pack { Words words; Element values[VECTOR]; };

// Columns of lines added to `total`, in their order: those from `source` on, and as many for each further part of the line.
template <bool ALIGNED>
__device__ inline void add_lines(const Element* source, const Number* lines, Number begin, Number end, Sum (&total)[PARTS][VECTOR]) {
#pragma unroll 4
  for (Number i = begin; i < end; ++i) {
    const Element* const line = source + Index(lines[i]) * WIDTH;
    for (int p = 0; p < PARTS; ++p) {
      const Element* const from = line + p * (WIDTH / PARTS);
      Pack pack;
      if (ALIGNED) pack.words = *reinterpret_cast<const Words*>(from);
      else for (int k = 0; k < VECTOR; ++k) pack.values[k] = from[k];
      for (int k = 0; k < VECTOR; ++k) total[p][k] += load(&pack.values[k]);
    }
  }
}
__device__ inline bool is_aligned(const void* p) { return VECTOR > 1 && reinterpret_cast<unsigned long long>(p) % 16 == 0; }

// Finds where the lines of each row in this block's piece begin and end. Rows that go on in another piece get their partial sum here:
// slot 2 * piece for the one that begins with the piece or before it, the next slot for another one that goes on behind it.
extern "C" __global__ void scatter_find(const Number* keys, const Number* lines, const Element* source, Number* rows, Sum* partial) {
  __shared__ unsigned counts[2];  // of lines in the first row and in the last one
  const Index slab = blockIdx.x % SLABS;
  const Number piece = blockIdx.x / SLABS, begin = piece * PIECE, end = begin + PIECE < COUNT ? begin + PIECE : COUNT;
  const Number first = keys[begin], last = keys[end - 1];
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  __syncthreads();
  const Number at = begin + threadIdx.x;
  if (at < end) {
    const Number key = keys[at];
    if (key == first) atomicAdd(&counts[0], 1u);
    if (key == last) atomicAdd(&counts[1], 1u);
    if (slab == 0 && key < LENGTH) {
      if (at == 0 || keys[at - 1] != key) rows[2 * Index(key)] = at;
      if (at + 1 == COUNT || keys[at + 1] != key) rows[2 * Index(key) + 1] = at + 1;
    }
  }
  __syncthreads();
  const bool goes_on = end < COUNT && keys[end] == last;
  const bool head = first < LENGTH && ((begin > 0 && keys[begin - 1] == first) || (goes_on && first == last));
  const bool tail = last < LENGTH && goes_on && first != last;
  const Index item = slab * FIND_THREADS + threadIdx.x, outer = item / PACKS, column = item % PACKS * VECTOR;
  if (item >= OUTER * PACKS) return;
  const Element* const from = source + outer * Index(COUNT) * WIDTH + column;
  for (int side = 0; side < 2; ++side) {
    if (!(side == 0 ? head : tail)) continue;
    Sum total[PARTS][VECTOR] = {};
    const Number from_line = side == 0 ? begin : end - counts[1], to_line = side == 0 ? begin + counts[0] : end;
    if (is_aligned(source)) add_lines<true>(from, lines, from_line, to_line, total);
    else add_lines<false>(from, lines, from_line, to_line, total);
    Sum* const to = partial + ((2 * Index(piece) + side) * OUTER + outer) * WIDTH + column;
    for (int p = 0; p < PARTS; ++p) {
      for (int k = 0; k < VECTOR; ++k) to[p * (WIDTH / PARTS) + k] = total[p][k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) scatter_add(const Number* rows, const Number* lines, const Element* source, const Sum* partial, Element* sums) {
  const Index item = blockIdx.x * Index(256) + threadIdx.x;
  if (item >= OUTER * Index(LENGTH) * PACKS) return;
  const Index column = item % PACKS * VECTOR, row = item / PACKS % LENGTH, outer = item / PACKS / LENGTH;
  const Number begin = rows[2 * row], end = rows[2 * row + 1];
  Sum total[PARTS][VECTOR] = {};
  if (begin < end) {
    const Number first = begin / PIECE, last = (end - 1) / PIECE;
    if (first == last) {
      const Element* const from = source + outer * Index(COUNT) * WIDTH + column;
      if (is_aligned(source)) add_lines<true>(from, lines, begin, end, total);
      else add_lines<false>(from, lines, begin, end, total);
    } else {
#pragma unroll 4
      for (Number piece = first; piece <= last; ++piece) {
        const Index slot = 2 * Index(piece) + (piece == first && begin % PIECE != 0);
        const Sum* const from = partial + (slot * OUTER + outer) * WIDTH + column;
        for (int p = 0; p < PARTS; ++p) {
          for (int k = 0; k < VECTOR; ++k) total[p][k] += from[p * (WIDTH / PARTS) + k];
        }
      }
    }
  }
  for (int p = 0; p < PARTS; ++p) {
    Element* const to = sums + (outer * LENGTH + row) * WIDTH + column + p * (WIDTH / PARTS);
    Pack pack;
    for (int k = 0; k < VECTOR; ++k) store(&pack.values[k], total[p][k]);
    if (is_aligned(sums)) *reinterpret_cast<Words*>(to) = pack.words;
    else for (int k = 0; k < VECTOR; ++k) to[k] = pack.values[k];
  }
}
#pragma endregion
