// The printing methods of a jit-ed function.

#include <unordered_set>

#include "tegula/compile/jit_state.h"
#include "tegula/compile/passes/dtypes.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/compile/show/show.h"
#include "tegula/core/text.h"

namespace tegula::compile {

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
