// The interface between a kernel's shared object and the threads that run it (threads.h): C++ for both of them.

// #pragma region Interface
namespace emulated {

struct Index {
  unsigned int x, y, z;
};
/// The value that one thread of a warp gave to the others.
struct Slot {
  alignas(16) unsigned char bytes[16];
};
/// A line of the kernel's text.
struct Place {
  const char* file;
  int line;
};

/// The place of the running thread, and its requests to those who run it. Each shared object has one, of the name tegula_emulated.
struct State {
  Index thread, block, block_size, grid;
  unsigned char* shared;  // of the running block, asked for by the launch
  const unsigned char *stack_begin, *stack_end;  // of the running thread
  int cluster_rank;
  unsigned lanes;  // of the running warp, that have not ended
  unsigned members;  // lanes that took part in the running thread's last meeting
  void (*sync_block)(Place place);
  int (*count_block)(int predicate, Place place);  // threads of the block whose predicate holds, behind its barrier
  void (*sync_warp)(unsigned mask, Place place);
  /// Meets the other threads of the mask: what each gave, by lane.
  const Slot* (*meet)(unsigned mask, const void* value, int bytes, Place place);
  void (*sync_cluster)();
  unsigned char* (*shared_of)(int rank);  // of another block of the cluster
  void (*copy)(void* to, const void* from, int there, int bytes);  // copies that arrive later: `there` bytes, then zeros
  void (*close_copies)();
  void (*wait_for_copies)(int unfinished);
  void (*access)(const void* place, int bytes, int kind, const void* from);  // kind: a Kind
  void (*fence)();
  void (*fault)(const char* what, Place place);  // does not return
  void (*fault_at)(const char* what, const void* from);  // neither: by the address of the code
};
enum Kind : int { kRead, kWrite, kAtomic };

}  // namespace emulated
// #pragma endregion
