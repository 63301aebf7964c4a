#pragma once
// The functions that the library needs of MPI. They are in libtegula_mpi.so, which is built if CMake finds MPI and loaded by the ranks of mpirun alone: one program serves
// machines with and without MPI, and the library does not depend on MPI's binary interface, which differs between implementations.

#include <cstddef>

namespace tegula::dist {

struct MpiFunctions {
  int version;  // kMpiInterface of who built it
  /// Starts MPI; returns an error text, or null.
  const char* (*start)(int* rank, int* size);
  /// Begins to send or receive a message of `count` bytes (below 2 GiB). On channel 0 data, on channel 1 words, on channel 2 notes.
  void* (*send)(int to, const void* bytes, std::size_t count, int channel);
  void* (*receive)(int from, void* bytes, std::size_t count, int channel);
  /// True if it is done; the handle is then freed.
  bool (*is_done)(void* request);
  /// True if a message waits on the channel; its sender and length.
  bool (*waits)(int channel, int* from, std::size_t* count);
  /// Ends MPI, together with all others.
  void (*finish)();
};

inline constexpr int kMpiInterface = 2;

}  // namespace tegula::dist
