#pragma once
// The implementation of JitState, shared by the files that implement it.

#include <mutex>
#include <utility>

#include "tegula/compile/jit.h"
#include "tegula/compile/recorded.h"
#include "tegula/compile/run/executable.h"
#include "tegula/compile/run/slots.h"
#include "tegula/compile/sizes.h"
#include "tegula/graph/gate.h"

namespace tegula::compile {

/// While it lives, the body of this function runs on this thread: traced, or as a part of another's trace.
class Running {
 public:
  explicit Running(const void* function) : function_(function), outer_(std::exchange(innermost, this)) {}
  ~Running() { innermost = outer_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static bool contains(const void* function) {
    for (const Running* at = innermost; at; at = at->outer_) {
      if (at->function_ == function) return true;
    }
    return false;
  }

 private:
  static inline thread_local const Running* innermost = nullptr;
  const void* function_;
  const Running* outer_;
};

/// One signature of a function: what was traced and compiled for it.
struct Entry {
  Words signature;
  Recorded recorded;
  std::shared_ptr<Executable> executable;
  std::uint64_t calls = 0, last_use = 0;
  std::uint64_t next_check = 2;  // the call that is traced to compare: 2, 4, 16, 256, …
  bool stored = false;  // from a file: there is no trace to compare with
  // Buffers reused from call to call, so that a replay allocates nothing.
  std::vector<void*> leaves, outputs, updates;
  std::vector<std::uint64_t> versions;  // of leaves that are Variables
  std::vector<Ref<Buffer>> fresh;
  Slots slots;  // asynchronous devices
  Admission admission;
};

struct JitState::Impl {
  JitOptions options;
  Line where;
  mutable std::mutex mutex;  // of all that follows
  KeptValues kept;  // of all entries
  SizeHistory sizes;
  std::vector<std::unique_ptr<Entry>> entries;
  bool told_of_many = false;  // that there are more signatures than are kept
  Entry* last = nullptr;
  Words signature;
  std::span<const std::uint64_t> kind;  // the beginning of the signature, before the arguments
  std::vector<Tensor> arguments;  // of the call that is made, or what is kept of the last one's
  std::uint64_t clock = 0;
  int traces = 0;
  const std::shared_ptr<Gate> gate = std::make_shared<Gate>();

  /// For who looks at a function from outside; a function that looks at itself while it is traced has the mutex.
  std::unique_lock<std::mutex> look() const;
  /// Text about the plan of the last call; none before the first.
  template <class F>
  std::string show(F&& text) const {
    const auto lock = look();
    return last ? text(*last->executable) : std::string();
  }

  Recorded record(std::span<const Tensor> args, const Body& body);
  Entry& make_entry(std::span<const Tensor> args, const Body& body);
  void keep(std::unique_ptr<Entry> entry);
  void make_room(std::size_t bytes);
  Entry* find();
  Results replay(Entry& entry, int times);
  /// Collects the addresses and versions of Variables and captured tensors for a run.
  void find_leaves(Entry& entry);
  void keep_arguments();
  /// Runs the last call's plan again, writing to copies; for print_times().
  std::string times(Entry& entry);
};

}  // namespace tegula::compile
