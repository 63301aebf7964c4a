#pragma once
// A plan bound to memory: run it with new inputs as often as needed. A run allocates nothing.
//
// Exchanges with other processes go on beside the steps (plan/overlap.h). On a device that runs at once (the CPU) the steps are walked. On one that queues work,
// numbers lie in device memory and are uploaded when they have changed, and a run at the same addresses as the one before is recorded once and replayed from then on.

#include <memory>
#include <mutex>
#include <optional>

#include "tegula/compile/plan/overlap.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/compile/run/arena.h"
#include "tegula/compile/run/kept.h"
#include "tegula/compile/run/poison.h"
#include "tegula/compile/run/step_times.h"

namespace tegula::compile {

/// The owner of the arena: the device, which lends one per run, or the caller (Bindings::arena), whose plan contains this one.
enum class ArenaOf : std::uint8_t { Device, Caller };

class Executable {
 public:
  /// `kept`: the values of the plan's last leaves (cut_steady), computed again when the version of a leaf they depend on changes.
  Executable(Plan plan, runtime::Device& device, Kept kept = {}, ArenaOf arena_of = ArenaOf::Device);

  /// The data that changes from run to run. Leaves, outputs and updates point at the first element; an update may be its own leaf (in place) or
  /// fresh memory of the same size.
  struct Bindings {
    std::span<void* const> leaves;  // without the kept ones
    std::span<const std::uint64_t> constants;  // Reading::constants
    std::span<void* const> outputs;
    std::span<void* const> updates;
    /// The nodes of this run (Reading::order), whose lines errors name: another program part may have compiled the executable. May be empty.
    std::span<const Node* const> nodes = {};
    /// The same addresses will probably come again: worth recording.
    bool repeats = false;
    /// A number per leaf that changes when the contents of a steady leaf do; needed where values are kept.
    std::span<const std::uint64_t> versions = {};
    /// The number of runs, one after another; at least 1.
    int times = 1;
    /// With ArenaOf::Caller: arena_bytes() bytes that nothing else uses during the run.
    std::byte* arena = nullptr;
  };
  /// Throws Error when a check failed (an index out of range); no update has been written then. On an asynchronous device a failed check
  /// is reported by a later run, or by confirm(), and until then no run writes updates.
  void run(const Bindings& bindings);
  /// Computes the kept values that are not up to date; reads steady leaves only.
  void keep(const Bindings& bindings) { refresh(bindings); }
  /// Throws Error when a check failed in work that has already been waited for.
  void confirm(std::span<const Node* const> nodes = {});
  /// Waits for the last run and throws Error when one of its checks failed; `nodes` as in Bindings.
  void confirm_now(std::span<const Node* const> nodes);
  /// True when some step has a check.
  bool checks() const { return !checks_.empty(); }
  /// True once runs are replays of a recording.
  bool recorded() const { return static_cast<bool>(recording_); }

  const Plan& plan() const { return plan_; }
  /// Bytes of the arena: the most that this plan, or a plan that computes kept values, needs.
  std::size_t arena_bytes() const;
  /// The launches (steps that are no calls), with the arguments of the last run.
  std::vector<runtime::PlannedLaunch> launches() const;
  /// The kept values, perhaps shared with other plans; the number of times they were computed.
  const Kept& kept() const { return kept_; }
  int refreshes() const;
  /// Bytes of values that loops in the plan keep; these are not shared with other plans.
  std::size_t kept_in_loops() const;
  runtime::Device& device() const { return device_; }
  /// Runs of one executable exclude each other: they share its arguments.
  std::mutex& mutex() { return mutex_; }

 private:
  // An argument or a buffer of a call that changes from run to run.
  struct Patch {
    void** place;
    Reference reference;
  };
  // A pointer into the arena, at this offset: rewritten when the arena moves.
  struct ArenaPlace {
    void** place;
    std::size_t offset;
  };
  struct Prepared {
    std::vector<runtime::ArgumentSet> sets;
    std::vector<void*> buffers;
    void* scratch = nullptr;
  };

  void prepare();
  void prepare_queue();
  void refresh(const Bindings& bindings);
  void forget_failures();
  runtime::LaunchOptions options_of(std::size_t step) const;
  void patch(const Bindings& bindings);
  void walk(const Bindings& bindings);
  int queue(const Bindings& bindings, int times);
  void poison(void* memory, std::size_t bytes);
  void poison_all(const Bindings& bindings);
  void poison_after(std::size_t step);
  void issue(std::size_t step, runtime::Queue& queue, const StepTimes* times);
  void issue(const StepTimes* times);
  int replay(int times);
  std::unique_ptr<runtime::Recording> record(int times, const StepTimes* marks);
  Line line_of(std::size_t step, const Bindings& bindings) const;
  void upload_constants();
  /// The reference's address goes to `place`: now, or when the arena moves, or at each run.
  void bind(void*& place, const Reference& reference);
  ArenaUse::Lease borrow(const Bindings& bindings) { return arena_use_ ? arena_use_->lease() : ArenaUse::Lease(bindings.arena); }
  bool move_arena(std::byte* begin);
  void* address(const Reference& reference, const Bindings& bindings) const;
  [[noreturn]] void throw_check(const Step& step, const runtime::Failure& failure, const Bindings& bindings) const;

  Plan plan_;
  runtime::Device& device_;
  std::optional<ArenaUse> arena_use_;  // with ArenaOf::Device
  std::byte* arena_ = nullptr;  // that of the last run
  std::vector<runtime::Argument> arguments_;  // of all launches, one after another
  std::vector<Patch> patches_;
  std::vector<ArenaPlace> arena_places_;
  std::vector<Prepared> prepared_;  // one per step
  Overlap overlap_;  // of a run that is no replay

  Kept kept_;
  std::vector<void*> leaves_;  // those of a run, and the kept values
  // The sources of one KeptBatch, during a refresh.
  std::vector<void*> sources_;
  std::vector<std::uint64_t> versions_;

  // TEGULA_CHECK=memory: per step, what of the arena is filled after it.
  bool poisons_ = false;
  std::vector<std::vector<Stretch>> dead_;

  std::vector<std::uint64_t> given_, numbers_;  // the constants of the last run, and with what is derived from them

  // Asynchronous devices.
  Ref<Buffer> constants_;  // 8 bytes for each number, on the device
  std::vector<int> checks_;  // the steps that have some
  Ref<Buffer> failures_;  // one Failure for each of them, on the device; null without checks
  Ref<Buffer> report_buffer_;
  runtime::Failure* reports_ = nullptr;  // the same in shared memory
  std::vector<void*> bound_;  // the addresses of the last run
  std::unique_ptr<runtime::Recording> recording_, many_;  // of one run, and of many_times_
  int many_times_ = 0;
  bool prepared_launches_ = false, recordable_ = true;
  std::unique_ptr<StepTimes> step_times_;  // while somebody records what happens when
  std::mutex mutex_;
};

/// All passes: the straight list of what happens to a graph. TEGULA_PRINT=graph,plan,tile (or all; docs/design.md has
/// the names) prints the stages through the warning handler.
std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device);
/// Compiles a graph with steady leaves: values that depend on those alone are kept, and shared with the function's other plans. `runs`: the expected
/// number of runs before a steady leaf changes.
std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device, const Identities& identities, KeptValues& values,
                                    const tile::Ladder& ladder = {}, ArenaOf arena_of = ArenaOf::Device, std::int64_t runs = 1);

}  // namespace tegula::compile
