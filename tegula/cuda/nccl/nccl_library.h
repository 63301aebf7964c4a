#pragma once
// NCCL itself, NVIDIA's collectives between GPUs: the library.

#include <cstddef>
#include <string>
#include <type_traits>

#include "tegula/cuda/compiler/shared_library.h"

namespace tegula::gpu {

/// The part of nccl.h that is used, as its documentation gives it (NCCL 2).
class Nccl {
 public:
  using Result = int;
  using Comm = struct NcclComm*;
  using Stream = void*;
  struct UniqueId {
    char internal[128];
  };
  static constexpr Result kSuccess = 0, kInProgress = 7;
  enum Type : int {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    BFloat16 = 9
  };
  enum Operation : int { Sum = 0, Max = 2, Average = 4 };

  /// Opened at the first call. Throws Error naming the library.
  static const Nccl& get();
  /// Throws Error("nccl: got NCCL: …") unless the call succeeded.
  void check(Result result, const char* what) const;

  std::string version;  // "2.28.9"
  Result (*draw)(UniqueId*);
  Result (*join)(Comm*, int size, UniqueId, int rank);
  Result (*abort)(Comm);
  Result (*async_error)(Comm, Result*);
  const char* (*error_text)(Result);
  const char* (*last_error)(Comm);
  Result (*all_reduce)(const void* in, void* out, std::size_t count, int type, int operation, Comm, Stream);
  Result (*reduce_scatter)(const void* in, void* out, std::size_t count, int type, int operation, Comm, Stream);
  Result (*all_gather)(const void* in, void* out, std::size_t count, int type, Comm, Stream);
  Result (*broadcast)(const void* in, void* out, std::size_t count, int type, int root, Comm, Stream);
  Result (*reduce)(const void* in, void* out, std::size_t count, int type, int operation, int root, Comm, Stream);
  Result (*send)(const void* in, std::size_t count, int type, int peer, Comm, Stream);
  Result (*receive)(void* out, std::size_t count, int type, int peer, Comm, Stream);
  Result (*group_start)();
  Result (*group_end)();

 private:
  Nccl();
  template <class F>
  void find(F& function, const char* symbol) const {
    function = library_.function<std::remove_pointer_t<F>>(symbol);
  }
  Library library_;
};

}  // namespace tegula::gpu
