// tegula-nvrtc COUNT: processes that compile for a process of Tegula what comes through the sockets it was started with. See
// tegula/cuda/compiler/nvrtc_process.h.

#include <unistd.h>

#include <cstdlib>

#include "tegula/cuda/compiler/nvrtc_library.h"
#include "tegula/cuda/compiler/nvrtc_process.h"

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1;
  // Who started this waits for it: the work is a child's, which is nobody's afterwards.
  if (const pid_t child = fork(); child != 0) _exit(child < 0);
  try {
    tegula::gpu::Nvrtc::warm_up();  // before anything is asked for, once for all of them; as PTX, which leaves no thread behind
    _exit(!tegula::gpu::fork_servers(count));
  } catch (...) { _exit(1); }  // who waits for a result sees the end
}
