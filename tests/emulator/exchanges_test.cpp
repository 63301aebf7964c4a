// Exchanges between the lanes of a warp, drawn by chance, beside what CUDA's guide says that they give. Each warp of a partial block is a warp of its own.

#include <random>

#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

/// The source of lane `lane` of a warp with `lanes` threads, by the guide: the number of the lane it reads, or its own where it reads none.
int source_of(int word, int lane, int by, int width) {
  const int within = lane % width, first = lane - within;
  switch (word) {
    case 0: return first + ((by % width) + width) % width;
    case 1: return within < by ? lane : lane - by;
    case 2: return within + by >= width ? lane : lane + by;
    default: return (lane ^ by) >= first + width ? lane : lane ^ by;
  }
}

TEST(CudaExchanges, GiveWhatTheGuideSays) {
  // An exchange after the other: which, by how much, over how wide a part.
  const std::string text = R"(
    __global__ void f(const int* word, const int* by, const int* width, int n, int* y, unsigned* votes) {
      const int t = threadIdx.x, threads = blockDim.x;
      const int last = (t / 32 + 1) * 32 > threads ? threads % 32 : 32;
      const unsigned mask = last == 32 ? ~0u : (1u << last) - 1;
      for (int i = 0; i < n; ++i) {
        const int mine = 1000 * i + t;
        int got = 0;
        if (word[i] == 0) got = __shfl_sync(mask, mine, by[i], width[i]);
        if (word[i] == 1) got = __shfl_up_sync(mask, mine, by[i], width[i]);
        if (word[i] == 2) got = __shfl_down_sync(mask, mine, by[i], width[i]);
        if (word[i] == 3) got = __shfl_xor_sync(mask, mine, by[i], width[i]);
        y[i * threads + t] = got;
        votes[4 * (i * threads + t)] = __ballot_sync(mask, (mine * 7 >> by[i] % 4) & 1);
        votes[4 * (i * threads + t) + 1] = __match_any_sync(mask, mine >> by[i] % 5);
        votes[4 * (i * threads + t) + 2] = __reduce_xor_sync(mask, (unsigned)mine);
        votes[4 * (i * threads + t) + 3] = __all_sync(mask, mine % (by[i] + 2) != 1) + 2 * __any_sync(mask, mine % (by[i] + 2) == 1);
      }
    })";
  std::minstd_rand random(7);
  for (const int threads : {32, 1, 7, 40, 95}) {
    const int n = 60;
    std::vector<int> words, bys, widths;
    for (int i = 0; i < n; ++i) {
      const int width = 1 << (1 + random() % 5);
      words.push_back(static_cast<int>(random() % 4)), widths.push_back(width), bys.push_back(static_cast<int>(random() % 32));
    }
    const auto results =
        cuda_kernel("f", text, {tensor(words), tensor(bys), tensor(widths), n, cuda_out({n, threads}, i32), cuda_out({n, threads, 4}, u32)},
                    {.block = {threads}});
    const std::vector<int> got = results[0].to_host<int>();
    const std::vector<std::uint32_t> votes = results[1].to_host<std::uint32_t>();
    for (int i = 0; i < n; ++i)
      for (int t = 0; t < threads; ++t) {
        const auto k = static_cast<std::size_t>(i), at = static_cast<std::size_t>(i * threads + t);
        const int warp = t / 32 * 32, there = std::min(32, threads - warp);
        const int source = source_of(words[k], t % 32, bys[k], widths[k]);
        // CUDA promises nothing for a lane that is not there: the emulator gives the thread's own value.
        if (source < there || &default_device() == &cpu()) {
          ASSERT_EQ(got[at], 1000 * i + (source < there ? warp + source : t))
              << "exchange " << words[k] << " by " << bys[k] << " of " << widths[k] << ", thread " << t << " of " << threads;
        }
        std::uint32_t ballot = 0, equal = 0, all = 0;
        bool every = true, some = false;
        for (int lane = 0; lane < there; ++lane) {
          const int theirs = 1000 * i + warp + lane, mine = 1000 * i + t;
          if ((theirs * 7 >> bys[k] % 4) & 1) ballot |= 1u << lane;
          if (theirs >> bys[k] % 5 == mine >> bys[k] % 5) equal |= 1u << lane;
          all ^= static_cast<std::uint32_t>(theirs);
          every = every && theirs % (bys[k] + 2) != 1, some = some || theirs % (bys[k] + 2) == 1;
        }
        ASSERT_EQ(votes[4 * at], ballot);
        ASSERT_EQ(votes[4 * at + 1], equal);
        ASSERT_EQ(votes[4 * at + 2], all);
        ASSERT_EQ(votes[4 * at + 3], static_cast<std::uint32_t>(every) + 2u * some);
      }
  }
}

}  // namespace
}  // namespace tegula
