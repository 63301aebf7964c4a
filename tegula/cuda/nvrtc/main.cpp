// tegula-nvrtc: compiles for a process of Tegula what comes through the socket it was started with. See tegula/cuda/nvrtc_process.h.

#include <unistd.h>

#include "tegula/cuda/nvrtc_library.h"
#include "tegula/cuda/nvrtc_process.h"

int main() {
  // Who started this waits for it: the work is a child's, which is nobody's afterwards.
  if (const pid_t child = fork(); child != 0) _exit(child < 0);
  constexpr int kSocket = 3;
  try {
    // The first unit takes longer than the others: before anything is asked for.
    static_cast<void>(tegula::gpu::Unit("extern \"C\" __global__ void nothing() {}\n", {"--gpu-architecture=compute_80"}).ptx());
    _exit(tegula::gpu::serve_compilations(kSocket));
  } catch (...) { _exit(1); }  // who waits for a result sees the end
}
