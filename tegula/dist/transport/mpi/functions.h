#pragma once
// What the library needs of MPI. libtegula_mpi.so has it, which is built where CMake finds MPI and loaded by the ranks of mpirun alone: one program serves
// machines with and without MPI, and the library knows nothing of MPI's binary interface, which differs from make to make.

#include <cstddef>

namespace tegula::dist {

struct MpiFunctions {
  int version;  // kMpiInterface of who built it
  /// Starts MPI. What went wrong, or null.
  const char* (*start)(int* rank, int* size);
  /// Begins to send or receive a message of so many bytes (below 2 GiB). On channel 0 data, on channel 1 words, on channel 2 notes.
  void* (*send)(int to, const void* bytes, std::size_t count, int channel);
  void* (*receive)(int from, void* bytes, std::size_t count, int channel);
  /// Whether it is done; then the handle is gone.
  bool (*is_done)(void* request);
  /// Whether a message waits on the channel, from whom and how long.
  bool (*waits)(int channel, int* from, std::size_t* count);
  /// Ends MPI, together with all others.
  void (*finish)();
};

inline constexpr int kMpiInterface = 2;

}  // namespace tegula::dist
