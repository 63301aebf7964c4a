// The CUDA machine of tests that keeps each request to the code generator, for scripts/same_kernels.sh: the linker puts this function in the place of
// gpu::generate. Each process appends the requests it has not made before to a file of its own in the folder $TEGULA_REQUESTS.

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "tests/simt/kernel_request.h"

namespace tegula::gpu {

#define TEGULA_GENERATE "_ZN6tegula3gpu8generateERKNS_4tile7ProgramERKNS0_14SpecialisationEi"
Generated real_generate(const tile::Program& program, const Specialisation& specialisation,
                        int architecture) __asm__("__real_" TEGULA_GENERATE);
Generated recorded_generate(const tile::Program& program, const Specialisation& specialisation,
                            int architecture) __asm__("__wrap_" TEGULA_GENERATE);

Generated recorded_generate(const tile::Program& program, const Specialisation& specialisation, int architecture) {
  static std::mutex mutex;
  static std::set<std::size_t> known;
  if (const char* folder = std::getenv("TEGULA_REQUESTS"); folder && *folder) {
    const std::string line = request_line(program, specialisation, architecture);
    const std::scoped_lock lock(mutex);
    if (known.insert(std::hash<std::string>()(line)).second)
      std::ofstream(std::string(folder) + "/" + std::to_string(getpid()) + ".jsonl", std::ios::app) << line << "\n";
  }
  return real_generate(program, specialisation, architecture);
}

}  // namespace tegula::gpu
