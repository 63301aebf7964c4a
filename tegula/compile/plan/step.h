#pragma once
// The steps of a plan. A step is a launch of a tile program, a call of the device's library, or a loop whose turns run a plan of their own. All of it is data
// but for what a device makes of it (`kernel`, `bound`), which is made late: by compile_kernels and bind_calls.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tegula/compile/plan/loop_schedule.h"
#include "tegula/core/copy_on_edit.h"
#include "tegula/core/rare.h"
#include "tegula/graph/node.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {

class Executable;

/// The object that one argument of a launch or call refers to.
struct Reference {
  enum class Kind : std::uint8_t {
    Value /* a stored item or leaf */,
    Scratch,
    Constant,
    Integer,
    Real,
    Update,
    Nothing /* a result of a call that nobody wants */
  } kind = Kind::Value;
  int index = -1;  // item, scratch buffer, constant or updated Variable
  std::int64_t integer = 0;  // Integer; for Value the offset in bytes
  double real = 0;
};

struct LaunchSet {
  std::vector<Reference> arguments;
  std::array<std::int64_t, 3> grid{1, 1, 1};
};

/// Instances of a tile program, over one or several sets of arguments.
struct Launch {
  CopyOnEdit<tile::Program> program;  // launches of equal groups share one
  CopyOnEdit<Words> structure;  // of the program; equal structures may share a launch
  std::vector<LaunchSet> sets;
  std::shared_ptr<const runtime::Kernel> kernel;
};

/// Shared by library calls and loops: buffers, and the call that runs.
struct Called {
  std::vector<Reference> buffers;
  std::shared_ptr<const runtime::Call> bound;
  int item = -1;  // that it computes
  int workspace = -1;  // the scratch buffer that is its scratch memory (RunOptions); -1: none
};

/// A call of the device's library with its epilogue. Without a description the op prepares its own call.
struct LibraryCall : Called {
  Rare<runtime::CallDescription> description;  // apart: it is ten times as large as the rest of a step
  struct Part {
    int number = -1, count = 0;
    bool operator==(const Part&) const = default;
  } part = {};  // step `number` of the `count` steps of the described call (runtime/call_steps.h); -1: the whole call
  std::vector<runtime::Access> accesses;  // only of such a step: its access to each buffer
};

/// A loop. Its buffers are the loop's inputs and results, dense; its scratch memory holds the places of the schedule, then the arena of the body.
struct SubPlan : Called {
  LoopSchedule schedule;
  std::shared_ptr<Executable> body;  // null where the turns compute nothing
};

struct Step {
  std::string name;  // for people
  std::variant<Launch, LibraryCall, SubPlan> what;

  std::vector<int> reads, writes;  // items
  std::vector<int> scratch;  // scratch buffers used
  std::vector<std::pair<int, int>>
      in_place;  // (written item, read item) that may share memory: read only where and before it is written, or by a call that says so
  double bytes = 0, operations = 0;  // what the step must move and do
  bool checks = false;  // may fail: comes before any state is changed
  bool guarded = false;  // changes state: does nothing after a failed check, where those are not waited for
  bool exchanges = false;  // other processes take part in it
  int check_item = -1;  // the item whose checks these are; -1: the check's number tells (Builder::set_check_scope)
  std::vector<int> check_items;  // by the check's number, where it counts within the step
  Origin origin;
  int threads = 1;
  bool streaming = false;

  /// The launch; null for a call or loop.
  Launch* launch() { return std::get_if<Launch>(&what); }
  const Launch* launch() const { return std::get_if<Launch>(&what); }
  const SubPlan* loop() const { return std::get_if<SubPlan>(&what); }
  /// One of the steps of a described call; null for every other kind of step.
  const LibraryCall* part() const {
    const auto* const library = std::get_if<LibraryCall>(&what);
    return library && library->part.number >= 0 ? library : nullptr;
  }
  /// The fields that calls and loops share; null for a launch.
  Called* called() { return const_cast<Called*>(std::as_const(*this).called()); }
  const Called* called() const {
    if (const auto* library = std::get_if<LibraryCall>(&what)) return library;
    return loop();
  }
  bool is_call() const { return !launch(); }
  /// The call that runs, once it is bound; null for a launch.
  const runtime::Call* call() const { return is_call() ? called()->bound.get() : nullptr; }
  /// Empty for a launch.
  std::span<const Reference> buffers() const {
    return is_call() ? std::span<const Reference>(called()->buffers) : std::span<const Reference>();
  }
  /// Empty for a call or loop.
  std::span<const LaunchSet> sets() const { return launch() ? std::span<const LaunchSet>(launch()->sets) : std::span<const LaunchSet>(); }
};

}  // namespace tegula::compile
