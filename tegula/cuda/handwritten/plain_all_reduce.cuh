// Text of a kernel, as plain_all_reduce.cpp puts it together (cmake/EmbedCuda.cmake).

#pragma region Again
// Reads memory as it is now, whoever else writes there.
#ifdef TEGULA_EMULATED
__device__ inline unsigned again(const unsigned* p) { return *p; }
__device__ inline void all_see_it() {}
#else
__device__ __forceinline__ unsigned again(const unsigned* p) { return *static_cast<const volatile unsigned*>(p); }
__device__ __forceinline__ void all_see_it() { __threadfence_system(); }
#endif
#pragma endregion

#pragma region Pack
// The words that a thread moves at once.
struct alignas(4 * WORDS) Words { unsigned values[WORDS]; };
union Pack { Words words; Element values[VECTOR]; };

__device__ inline Pack pack_at(const Element* from, Index at, bool wide) {
  Pack pack;
  if (wide && at + VECTOR <= COUNT) {
    pack.words = *reinterpret_cast<const Words*>(from + at);
  } else {
    pack.words = Words{};
    for (int k = 0; k < VECTOR; ++k) if (at + k < COUNT) pack.values[k] = from[at + k];
  }
  return pack;
}

// The first of a pack's elements lies at `at`; those behind the end stay where they are.
__device__ inline void put(Element* to, Index at, const Pack& pack, bool wide) {
  if (wide && at + VECTOR <= COUNT) {
    *reinterpret_cast<Words*>(to + at) = pack.words;
  } else {
    for (int k = 0; k < VECTOR; ++k) if (at + k < COUNT) to[at + k] = pack.values[k];
  }
}
#pragma endregion

#pragma region AllReduce
// Eight bytes on their way to another GPU. Both halves carry the number of the exchange, so what has come shows by itself: no barrier, no fence. A half is written
// and read as a whole.
struct alignas(16) Line { unsigned low, low_number, high, high_number; };
#ifdef TEGULA_EMULATED
__device__ inline void send(Line* to, const Line& line) { *to = line; }
__device__ inline Line receive(const Line* from) { return *from; }
#else
__device__ __forceinline__ void send(Line* to, const Line& line) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(line.low), "r"(line.low_number), "r"(line.high),
               "r"(line.high_number)
               : "memory");
}
__device__ __forceinline__ Line receive(const Line* from) {
  Line line;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(line.low), "=r"(line.low_number), "=r"(line.high), "=r"(line.high_number)
               : "l"(from)
               : "memory");
  return line;
}
#endif

// Waits for the line; false when waiting is in vain.
__device__ inline bool arrived(Line& line, const Line* from, unsigned number, const unsigned* stop) {
  line = receive(from);
  for (unsigned turn = 1; line.low_number != number || line.high_number != number; ++turn) {
    if (turn % 1024 == 0 && again(stop) != 0) return false;
    line = receive(from);
  }
  return true;
}

struct State {
  unsigned exchange;  // the number of the last one that is over
  unsigned finished;  // blocks of this one
  unsigned rank;
  const unsigned* stop;  // of the host: not 0 when nobody is to wait any longer
  Line* to[MOST_RANKS];    // where this rank's lines go in each other rank's memory
  Line* from[MOST_RANKS];  // where theirs come
};

// Adds in the order of ranks, whichever rank adds: all of them get the same bits.
extern "C" __global__ void __launch_bounds__(THREADS) all_reduce(const Element* in, Element* out, State* state) {
  const unsigned number = again(&state->exchange) + 1, rank = state->rank;
  const Index first = blockIdx.x * Index(THREADS) + threadIdx.x, step = gridDim.x * Index(THREADS);
  const bool read_wide = reinterpret_cast<unsigned long long>(in) % 8 == 0, write_wide = reinterpret_cast<unsigned long long>(out) % 8 == 0;
  // A rank is at most one exchange ahead of another, so two boxes take turns.
  const Index box = number % 2 * Index(BOX_LINES);
  for (Index i = first; i < LINES; i += step) {
    const Pack pack = pack_at(in, i * VECTOR, read_wide);
    const Line line{pack.words.values[0], number, pack.words.values[1], number};
    for (unsigned r = 1; r < RANKS; ++r) send(state->to[(rank + r) % RANKS] + box + i, line);
  }
  const unsigned lane = threadIdx.x % 32;
  for (Index begin = first - lane; begin < LINES; begin += step) {
    // A warp's lines come together: one thread looks for the first, and the others leave the memory to those who work.
    Line line;
    for (unsigned r = 1; lane == 0 && r < RANKS; ++r) arrived(line, state->from[(rank + r) % RANKS] + box + begin, number, state->stop);
    __syncwarp();
    const Index i = begin + lane, at = i * VECTOR;
    if (i >= LINES) continue;
    const Pack own = pack_at(in, at, read_wide);
    Sum total[VECTOR];
#pragma unroll
    for (unsigned r = 0; r < RANKS; ++r) {
      Pack pack = own;
      if (r != rank) {
        if (!arrived(line, state->from[r] + box + i, number, state->stop)) return;
        pack.words = Words{{line.low, line.high}};
      }
      for (int k = 0; k < VECTOR; ++k) total[k] = r == 0 ? load(&pack.values[k]) : total[k] + load(&pack.values[k]);
    }
    Pack result;
    for (int k = 0; k < VECTOR; ++k) store(&result.values[k], MEAN ? total[k] / Sum(RANKS) : total[k]);
    put(out, at, result, write_wide);
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&state->finished, 1u) == gridDim.x - 1) {
    state->finished = 0;
    state->exchange = number;
  }
}
#pragma endregion

#pragma region ArrivedCopies
struct Meeting {
  unsigned next;         // the number of the exchange that is next or under way
  unsigned arrived;      // of the last whose numbers have come from the other rank; it writes this, and the next one
  unsigned theirs;       // of the last for which it needs its box no longer
  unsigned blocks;       // that are over with this one
  const unsigned* stop;  // of the host: not 0 when nobody is to wait any longer
  unsigned* tell;        // the other rank's `theirs`
};

// All threads of a block; what the other rank has sent may be read then.
__device__ inline void wait_for_copy(Meeting* meeting) {
  if (threadIdx.x == 0) {
    for (unsigned turn = 1; again(&meeting->arrived) != meeting->next; ++turn) {
      if (turn % 1024 == 0 && again(meeting->stop) != 0) break;
    }
    all_see_it();
  }
  __syncthreads();
}
// All threads of a block that has read its share: the last block says so.
__device__ inline void box_is_free(Meeting* meeting) {
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&meeting->blocks, 1u) == gridDim.x - 1) {
    const unsigned number = meeting->next;
    meeting->blocks = 0;
    meeting->next = number + 1;
    all_see_it();
    *static_cast<volatile unsigned*>(meeting->tell) = number;
  }
}
__device__ inline bool is_wide(const void* p) { return reinterpret_cast<unsigned long long>(p) % 16 == 0; }

// Until the other rank needs what lies in its box no longer.
extern "C" __global__ void wait_for_box(Meeting* meeting) {
  for (unsigned turn = 1; again(&meeting->theirs) + 1 != meeting->next; ++turn) {
    if (turn % 1024 == 0 && again(meeting->stop) != 0) return;
  }
}

#if ADDS
// A sum of two is the same in either order: both ranks get the same bits.
extern "C" __global__ void __launch_bounds__(THREADS) add_arrived(const Element* in, Element* out, const Element* box, Meeting* meeting) {
  wait_for_copy(meeting);
  const bool read_wide = is_wide(in), write_wide = is_wide(out);
  for (Index i = blockIdx.x * Index(THREADS) + threadIdx.x; i * VECTOR < COUNT; i += gridDim.x * Index(THREADS)) {
    const Index at = i * VECTOR;
    const Pack own = pack_at(in, at, read_wide), theirs = pack_at(box, at, true);
    Pack result;
    for (int k = 0; k < VECTOR; ++k) {
      const Sum total = load(&own.values[k]) + load(&theirs.values[k]);
      store(&result.values[k], MEAN ? total / Sum(2) : total);
    }
    put(out, at, result, write_wide);
  }
  box_is_free(meeting);
}
#else
extern "C" __global__ void __launch_bounds__(THREADS) join_arrived(const Element* in, Element* out, const Element* box, Meeting* meeting) {
  const auto copy = [](const Element* from, Element* to) {
    const bool read_wide = is_wide(from), write_wide = is_wide(to);
    for (Index i = blockIdx.x * Index(THREADS) + threadIdx.x; i * VECTOR < COUNT; i += gridDim.x * Index(THREADS))
      put(to, i * VECTOR, pack_at(from, i * VECTOR, read_wide), write_wide);
  };
  copy(in, out + RANK * COUNT);
  wait_for_copy(meeting);
  copy(box, out + (1 - RANK) * COUNT);
  box_is_free(meeting);
}
#endif
#pragma endregion
