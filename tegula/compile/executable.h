#pragma once
// A plan bound to memory: run it with new inputs as often as needed. A run allocates nothing.

#include <mutex>

#include "tegula/compile/plan.h"

namespace tegula::compile {

class Executable {
 public:
  Executable(Plan plan, runtime::Device& device);

  /// What changes from run to run. Leaves, outputs and updates point at the first element; an update may be its own leaf (in place) or
  /// fresh memory of the same size.
  struct Bindings {
    std::span<void* const> leaves;
    std::span<const double> constants;
    std::span<void* const> outputs;
    std::span<void* const> updates;
    /// The nodes of this run (Reading::order), whose lines errors name: another program part may have compiled the executable. May be empty.
    std::span<const Node* const> nodes = {};
  };
  /// Throws Error when a check failed (an index out of range); no update has been written then.
  void run(const Bindings& bindings);

  const Plan& plan() const { return plan_; }
  runtime::Device& device() const { return device_; }
  /// Runs of one executable exclude each other: they share its arena.
  std::mutex& mutex() { return mutex_; }

 private:
  struct Patch {
    runtime::Argument* argument;
    Reference reference;
  };
  struct BufferPatch {
    void** buffer;
    Reference reference;
  };
  struct Prepared {
    std::vector<runtime::ArgumentSet> sets;
    std::vector<void*> buffers;
    void* scratch = nullptr;
  };

  void prepare();
  void* fixed_address(const Reference& reference) const;
  void* address(const Reference& reference, const Bindings& bindings) const;
  [[noreturn]] void throw_check(const Step& step, const runtime::Failure& failure, const Bindings& bindings) const;

  Plan plan_;
  runtime::Device& device_;
  Ref<Buffer> arena_;
  std::vector<runtime::Argument> arguments_;  // of all launches, one after another
  std::vector<Patch> patches_;                // those that change from run to run
  std::vector<BufferPatch> buffer_patches_;
  std::vector<Prepared> prepared_;            // one per step
  std::mutex mutex_;
};

/// All passes: the straight list of what happens to a graph. TEGULA_PRINT=graph,fuse,plan,tile (or all) prints the stages through
/// the warning handler.
std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device);

}  // namespace tegula::compile
