// A libnccl.so.2 for machines without a GPU: ranks are threads or processes of this machine, device memory is host memory. Data goes through a file that
// all of them map, and as in NCCL a send ends when it was received. On a stream of the pretended driver it runs in the stream's order; without a stream at once.
// TEGULA_FAKE_NCCL=R:N: on rank R its N-th exchange, from 1, never ends, and the communicator tells of an error.

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/dtype.h"

namespace {

using tegula::DType;

enum Result : int { Success = 0, SystemError = 2, InvalidArgument = 4, RemoteError = 6 };
enum Operation : int { Sum = 0, Max = 2, Average = 4 };

constexpr std::size_t kBox = 1 << 14;
constexpr int kMostRanks = 8;

/// Bytes on their way from one rank to another.
struct Box {
  std::atomic<std::uint64_t> written{0}, read{0};
  std::byte data[kBox];
};
struct Area {
  std::atomic<int> joined{0};
  Box boxes[kMostRanks][kMostRanks];  // [from][to]
};

struct Comm {
  Area* area = nullptr;
  int rank = 0, size = 1;
  std::atomic<bool> aborted{false};
  std::atomic<int> exchanges{0}, error{Success};
};

struct Transfer {
  bool sends;
  int peer;
  std::byte* at;
  std::size_t left;
  std::uint64_t over = 0;  // for a send: the total that the receiver will have read
};

bool is_first(const std::vector<Transfer>& all, std::size_t i) {
  for (std::size_t k = 0; k < i; ++k) {
    if (all[k].sends == all[i].sends && all[k].peer == all[i].peer) return false;
  }
  return true;
}

/// True if some bytes moved.
bool move(Comm& comm, Transfer& t) {
  Box& box = t.sends ? comm.area->boxes[comm.rank][t.peer] : comm.area->boxes[t.peer][comm.rank];
  const std::uint64_t written = box.written, read = box.read;
  const std::size_t at = static_cast<std::size_t>(t.sends ? written : read) % kBox;
  const std::size_t ready = t.sends ? kBox - static_cast<std::size_t>(written - read) : static_cast<std::size_t>(written - read);
  const std::size_t count = std::min({t.left, ready, kBox - at});
  if (count == 0) return false;
  if (t.sends) std::memcpy(box.data + at, t.at, count);
  else std::memcpy(t.at, box.data + at, count);
  (t.sends ? box.written : box.read) += count;
  t.at += count, t.left -= count;
  if (t.sends) t.over = written + count;
  return true;
}

/// All at once, those between the same two in order; until the communicator is given up.
void transfer(Comm& comm, std::vector<Transfer> all) {
  for (int idle = 0; !all.empty() && !comm.aborted;) {
    bool moved = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_first(all, i)) moved |= move(comm, all[i]);
    }
    const std::size_t before = all.size();
    std::erase_if(all, [&](const Transfer& t) { return t.left == 0 && (!t.sends || comm.area->boxes[comm.rank][t.peer].read >= t.over); });
    if (moved || all.size() < before) idle = 0;
    else if (++idle < 100) sched_yield();
    else usleep(50);
  }
}

/// Everybody's `bytes`, in the order of ranks.
std::vector<std::byte> gathered(Comm& comm, const void* in, std::size_t bytes) {
  std::vector<std::byte> all(bytes * static_cast<std::size_t>(comm.size));
  std::vector<Transfer> transfers;
  for (int r = 0; r < comm.size; ++r) {
    transfers.push_back({true, r, static_cast<std::byte*>(const_cast<void*>(in)), bytes});
    transfers.push_back({false, r, all.data() + static_cast<std::size_t>(r) * bytes, bytes});
  }
  std::erase_if(transfers, [](const Transfer& t) { return t.left == 0; });
  transfer(comm, std::move(transfers));
  return all;
}

bool known(int type, DType* dtype) {
  switch (type) {
    case 0: return *dtype = DType::i8, true;
    case 1: return *dtype = DType::u8, true;
    case 2: return *dtype = DType::i32, true;
    case 3: return *dtype = DType::u32, true;
    case 4: return *dtype = DType::i64, true;
    case 5: return *dtype = DType::u64, true;
    case 6: return *dtype = DType::f16, true;
    case 7: return *dtype = DType::f32, true;
    case 8: return *dtype = DType::f64, true;
    case 9: return *dtype = DType::bf16, true;
    default: return false;
  }
}

/// Combines two numbers; halves are rounded at every step, as by NCCL.
template <class T>
T combined(T a, T b, int operation) {
  if constexpr (std::is_integral_v<T>) {
    if (operation == Max) return std::max(a, b);
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(operation == Max ? std::max(x, y) : x + y);
  }
}

void reduce(const std::vector<std::byte>& all, void* out, std::size_t first, std::size_t count, std::size_t stride, int ranks, DType dtype,
            int operation) {
  tegula::visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      const T* const in = reinterpret_cast<const T*>(all.data()) + first;
      for (std::size_t i = 0; i < count; ++i) {
        T value = in[i];
        for (int r = 1; r < ranks; ++r) value = combined<T>(value, in[static_cast<std::size_t>(r) * stride + i], operation);
        if constexpr (!std::is_integral_v<T>) {
          using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
          if (operation == Average) value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(ranks));
        }
        static_cast<T*>(out)[i] = value;
      }
    }
  });
}

/// A stream of the pretended driver, if there is one.
using Launch = int (*)(void* stream, void (*work)(void*), void* data);
Launch launch_of_driver() {
  static const Launch launch = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? reinterpret_cast<Launch>(dlsym(driver, "cuLaunchHostFunc")) : nullptr;
  }();
  return launch;
}

int run(Comm* comm, void* stream, std::function<void()> work) {
  const auto whole = [comm, work = std::move(work)] {
    int rank = -1, number = 0;
    const char* const fails = std::getenv("TEGULA_FAKE_NCCL");
    if (fails) std::sscanf(fails, "%d:%d", &rank, &number);
    if (++comm->exchanges == number && comm->rank == rank) {
      comm->error = RemoteError;
      while (!comm->aborted) usleep(100);
    }
    if (!comm->aborted) work();
  };
  const Launch launch = stream ? launch_of_driver() : nullptr;
  if (!launch) return whole(), Success;
  static std::mutex mutex;
  static auto* kept = new std::deque<std::function<void()>>;  // recordings come back to them
  const std::scoped_lock lock(mutex);
  kept->push_back(whole);
  return launch(stream, [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, &kept->back()) == 0 ? Success : SystemError;
}

/// Between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  Comm* comm = nullptr;
  void* stream = nullptr;
  std::vector<Transfer> transfers;
};
thread_local Group group;

int end_group() {
  if (group.depth > 0 || group.transfers.empty()) return Success;
  Comm* const comm = group.comm;
  return run(comm, group.stream, [comm, all = std::exchange(group.transfers, {})] { transfer(*comm, all); });
}

int add(Comm* comm, void* stream, Transfer one) {
  if (one.peer < 0 || one.peer >= comm->size) return InvalidArgument;
  group.comm = comm;
  group.stream = stream;
  if (one.left > 0) group.transfers.push_back(one);
  return end_group();
}

}  // namespace

extern "C" {

struct UniqueId {
  char internal[128];
};

int ncclGetVersion(int* version) { return *version = 22809, Success; }
const char* ncclGetErrorString(int result) { return result == RemoteError ? "remote process exited" : "an error of the pretended NCCL"; }
const char* ncclGetLastError(Comm*) { return "as it was told to"; }

int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  std::strcpy(id->internal, "/tmp/tegula-fake-nccl-XXXXXX");
  const int file = mkstemp(id->internal);
  if (file < 0 || ftruncate(file, sizeof(Area)) != 0) return SystemError;
  close(file);
  return Success;
}

int ncclCommInitRank(Comm** comm, int size, UniqueId id, int rank) {
  if (size > kMostRanks) return InvalidArgument;
  const int file = open(id.internal, O_RDWR | O_CLOEXEC);
  if (file < 0) return SystemError;
  void* const memory = mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return SystemError;
  static std::mutex mutex;
  static auto* all = new std::deque<Comm>;  // never destroyed: a thread may be in it
  {
    const std::scoped_lock lock(mutex);
    *comm = &all->emplace_back();
  }
  (*comm)->area = static_cast<Area*>(memory);  // filled with zeros
  (*comm)->rank = rank;
  (*comm)->size = size;
  if (++(*comm)->area->joined == size) unlink(id.internal);
  while ((*comm)->area->joined < size) usleep(100);
  return Success;
}

int ncclCommAbort(Comm* comm) { return comm->aborted = true, Success; }
int ncclCommGetAsyncError(Comm* comm, int* error) { return *error = comm->error, Success; }

int ncclAllReduce(const void* in, void* out, std::size_t count, int type, int operation, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype)) return InvalidArgument;
  return run(comm, stream, [=] {
    const auto all = gathered(*comm, in, count * tegula::size_of(dtype));
    if (!comm->aborted) reduce(all, out, 0, count, count, comm->size, dtype, operation);
  });
}
int ncclReduceScatter(const void* in, void* out, std::size_t count, int type, int operation, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype)) return InvalidArgument;
  return run(comm, stream, [=] {
    const std::size_t whole = count * static_cast<std::size_t>(comm->size);
    const auto all = gathered(*comm, in, whole * tegula::size_of(dtype));
    if (!comm->aborted) reduce(all, out, count * static_cast<std::size_t>(comm->rank), count, whole, comm->size, dtype, operation);
  });
}
int ncclAllGather(const void* in, void* out, std::size_t count, int type, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype)) return InvalidArgument;
  return run(comm, stream, [=] {
    const auto all = gathered(*comm, in, count * tegula::size_of(dtype));
    std::memcpy(out, all.data(), all.size());
  });
}
int ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype) || root < 0 || root >= comm->size) return InvalidArgument;
  return run(comm, stream, [=] {
    const std::size_t bytes = count * tegula::size_of(dtype);
    const auto all = gathered(*comm, in, bytes);
    std::memcpy(out, all.data() + static_cast<std::size_t>(root) * bytes, bytes);
  });
}
int ncclReduce(const void* in, void* out, std::size_t count, int type, int operation, int root, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype) || root < 0 || root >= comm->size) return InvalidArgument;
  return run(comm, stream, [=] {
    const auto all = gathered(*comm, in, count * tegula::size_of(dtype));
    if (!comm->aborted && comm->rank == root) reduce(all, out, 0, count, count, comm->size, dtype, operation);
  });
}
int ncclSend(const void* in, std::size_t count, int type, int peer, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype)) return InvalidArgument;
  return add(comm, stream, {true, peer, static_cast<std::byte*>(const_cast<void*>(in)), count * tegula::size_of(dtype)});
}
int ncclRecv(void* out, std::size_t count, int type, int peer, Comm* comm, void* stream) {
  DType dtype{};
  if (!known(type, &dtype)) return InvalidArgument;
  return add(comm, stream, {false, peer, static_cast<std::byte*>(out), count * tegula::size_of(dtype)});
}
int ncclGroupStart() { return ++group.depth, Success; }
int ncclGroupEnd() { return --group.depth, end_group(); }

}  // extern "C"
