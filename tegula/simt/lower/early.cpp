// Launches that begin while the one ahead of them in a recording runs (decide/early.cpp).

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

void Lowering::entry() {
  if (decided_.wait.within) return;
  if (a_.program().early) add(simt::AwaitLaunchAhead{});
  guard();
}

void Lowering::guard() {
  if (!a_.guarded()) return;
  let(simt::computed(DType::boolean), "stopped", simt::call("any_failed", "guards", "guard_count"));
  if (grid_.cluster > 1) add({simt::Leave{}, simt::Expression("stopped")});  // blocks that work together leave together
}

void Lowering::wait_for_launch_ahead() {
  add(simt::AwaitLaunchAhead{});
  guard();
}

}  // namespace tegula::gpu
