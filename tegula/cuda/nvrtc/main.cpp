// tegula-nvrtc: compiles for a process of Tegula what comes through the socket it was started with. See tegula/cuda/nvrtc_process.h.

#include <unistd.h>

#include "tegula/cuda/nvrtc_library.h"
#include "tegula/cuda/nvrtc_process.h"

int main() {
  // Who started this waits for it: the work is a child's, which is nobody's afterwards.
  if (const pid_t child = fork(); child != 0) _exit(child < 0);
  try {
    tegula::gpu::Nvrtc::warm_up();  // before anything is asked for
    _exit(tegula::gpu::serve_compilations(tegula::gpu::kCompilerSocket));
  } catch (...) { _exit(1); }  // who waits for a result sees the end
}
