// The printing methods of a jit-ed function. For the times its plan runs again, beside the program.

#include <map>
#include <unordered_set>

#include "tegula/compile/jit_state.h"
#include "tegula/compile/passes/dtypes.h"
#include "tegula/compile/run/placement.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/compile/show/show.h"
#include "tegula/compile/show/times.h"
#include "tegula/core/text.h"
#include "tegula/runtime/timeline.h"

namespace tegula::compile {

namespace {

/// Memory that a run may write, in place of what belongs to the program.
class Copies {
 public:
  explicit Copies(runtime::Device& device) : device_(device) {}
  ~Copies() { device_.synchronize(); }  // nobody reads them any more
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  void* room_for(const Node& like) {
    held_.push_back(allocate_like(like, device_));
    return held_.back()->data();
  }
  void* zeros(const Node& like) {
    const std::vector<std::byte> nothing(bytes_of(like));
    void* const room = room_for(like);
    if (!nothing.empty()) device_.copy_in(room, nothing.data(), nothing.size());
    return room;
  }
  void* copy_of(const Node& value) {
    const HostArray array = on_host(value);
    void* const room = room_for(value);
    if (array.bytes() > 0) device_.copy_in(room, array.buffer->data(), array.bytes());
    return room;
  }

 private:
  runtime::Device& device_;
  std::vector<Ref<Buffer>> held_;
};

}  // namespace

std::string JitState::Impl::times(Entry& entry) {
  constexpr int kFewest = 3, kMost = 20;
  constexpr std::int64_t kEnough = 300'000'000;  // nanoseconds
  const Recorded& r = entry.recorded;
  Executable& executable = *entry.executable;
  runtime::Device& device = executable.device();
  const Passage passage = entry.admission.enter();
  const Slots::Use use(entry.slots);
  Copies copies(device);
  for (const auto& cell : r.cells) cell->settled();
  find_leaves(entry);
  std::vector<void*> leaves = entry.leaves, outputs, updates;
  std::map<int, void*> written;  // cells -> their copies
  for (const int cell : r.updated_cells) updates.push_back(written[cell] = copies.copy_of(r.cells[index(cell)]->settled()));
  for (std::size_t i = 0; i < r.sources.size(); ++i) {
    const auto& [kind, number, captured] = r.sources[i];
    const auto index = static_cast<std::size_t>(number);
    if (kind == Source::Kind::Cell && written.contains(number)) leaves[i] = written.at(number);
    if (kind != Source::Kind::Argument) continue;
    if (void* const slot = device.traits().queues ? entry.slots.copied(i) : nullptr) {
      leaves[i] = slot;
    } else if (index < arguments.size() && arguments[index].defined()) {
      move_to(*arguments[index].node(), device);
      leaves[i] = arguments[index].node()->data();
    } else {  // it is gone
      leaves[i] = copies.zeros(*r.reading.leaves[i]);
    }
  }
  for (const auto& output : r.outputs) outputs.push_back(copies.room_for(*output));

  const std::scoped_lock lock(executable.mutex());
  const auto run = [&] { executable.run({leaves, r.reading.constants, outputs, updates, {}, true, entry.versions, 1}); };
  run();  // memory is touched for the first time
  device.synchronize();
  runtime::Timeline timeline;
  const runtime::TimelineScope scope(&timeline);
  const std::int64_t begin = runtime::Timeline::now();
  for (int runs = 0; runs < kMost && (runs < kFewest || runtime::Timeline::now() - begin < kEnough); ++runs) run();
  device.synchronize();
  return times_table(timeline.events());
}

int JitState::traces() const {
  const auto lock = impl_->look();
  return impl_->traces;
}
int JitState::executables() const {
  const auto lock = impl_->look();
  return static_cast<int>(impl_->entries.size());
}
int JitState::refreshes() const {
  const auto lock = impl_->look();
  return impl_->last ? impl_->last->executable->refreshes() : 0;
}
std::size_t JitState::kept_bytes() const {
  const auto lock = impl_->look();
  std::unordered_set<const KeptBatch*> counted;
  std::size_t bytes = 0;
  for (const auto& entry : impl_->entries) {
    bytes += entry->executable->kept_in_loops();
    for (const Kept::Use& use : entry->executable->kept().batches)
      if (counted.insert(use.batch.get()).second) bytes += use.batch->bytes();
  }
  return bytes;
}
std::string JitState::print_plan() const {
  return impl_->show([](const Executable& executable) {
    const Kept& kept = executable.kept();
    if (kept.batches.empty()) return to_string(executable.plan());
    std::string text = "kept while the Variables stay (" + bytes_text(kept.bytes()) + "):\n";
    for (const Kept::Use& use : kept.batches) text += to_string(use.batch->plan().plan());
    return text + "every time:\n" + to_string(executable.plan());
  });
}
std::string JitState::plan_dot() const {
  return impl_->show([](const Executable& executable) { return to_dot(executable.plan()); });
}
std::string JitState::tile_dot() const {
  return impl_->show([](const Executable& executable) {
    std::string text;
    for (const Step& step : executable.plan().steps) {
      if (step.launch()) text += tile::to_dot(*step.launch()->program);
    }
    return text;
  });
}
std::string JitState::print_memory() const {
  return impl_->show([](const Executable& executable) {
    const std::size_t bytes = executable.kept().bytes();
    return (bytes > 0 ? "kept while the Variables stay: " + bytes_text(bytes) + "\n" : "") + memory_table(executable.plan());
  });
}
std::string JitState::print_kernels() const {
  return impl_->show([](const Executable& executable) {
    const auto launches = executable.launches();
    return kernel_text(executable.plan(), launches) + figures_table(executable.plan(), launches);
  });
}
std::string JitState::print_precision() const {
  return impl_->show([](const Executable& executable) { return precision_table(executable.plan().graph); });
}
std::string JitState::print_graph() const {
  return impl_->show([](const Executable& executable) { return to_string(executable.plan().graph); });
}
std::string JitState::print_times() const {
  const auto lock = impl_->look();
  return impl_->last ? impl_->times(*impl_->last) : std::string();
}

}  // namespace tegula::compile
