// tegula-nvrtc COUNT: processes that compile for a process of Tegula what comes through the sockets it was started with. See
// tegula/cuda/compiler/nvrtc_process.h.

#include <unistd.h>

#include <cstdlib>

#include "tegula/cuda/compiler/nvrtc_library.h"
#include "tegula/cuda/compiler/nvrtc_process.h"

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1;
  // The parent waits for this process, so a child does the work and is then orphaned.
  if (const pid_t child = fork(); child != 0) _exit(child < 0);
  try {
    tegula::gpu::Nvrtc::warm_up();  // before anything is asked for, once for all of them; as PTX, which leaves no thread behind
    _exit(!tegula::gpu::fork_servers(count));
  } catch (...) { _exit(1); }  // the process that waits for a result sees the socket close
}
