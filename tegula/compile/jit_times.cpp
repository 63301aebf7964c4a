// How long the steps of a jit-ed function take: its plan runs again, beside the program.

#include <algorithm>

#include "tegula/compile/jit_state.h"
#include "tegula/compile/run/placement.h"
#include "tegula/compile/show/times.h"
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
  std::vector<void*> cells, leaves, outputs, updates;
  for (std::size_t c = 0; c < r.cells.size(); ++c) {
    Node& node = const_cast<Node&>(r.cells[c]->settled());
    move_to(node, device);
    const bool written = std::ranges::find(r.updated_cells, static_cast<int>(c)) != r.updated_cells.end();
    cells.push_back(written || !node.layout().is_dense() ? copies.copy_of(node) : node.data());
  }
  for (std::size_t i = 0; i < r.sources.size(); ++i) {
    const Source& source = r.sources[i];
    const auto index = static_cast<std::size_t>(source.index);
    if (source.kind == Source::Kind::Cell) {
      leaves.push_back(cells[index]);
    } else if (source.kind == Source::Kind::Captured) {
      move_to(*source.captured, device);
      leaves.push_back(source.captured->data());
    } else if (void* const slot = device.traits().queues ? entry.slots.copied(i) : nullptr) {
      leaves.push_back(slot);
    } else if (index < arguments.size() && arguments[index].defined()) {
      move_to(*arguments[index].node(), device);
      leaves.push_back(arguments[index].node()->data());
    } else {  // it is gone
      leaves.push_back(copies.zeros(*r.reading.leaves[i]));
    }
  }
  for (const auto& output : r.outputs) outputs.push_back(copies.room_for(*output));
  for (const int cell : r.updated_cells) updates.push_back(cells[static_cast<std::size_t>(cell)]);

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

}  // namespace tegula::compile
