#include "tegula/core/code_file.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace tegula {

std::string code_file(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || !map || !map->l_name) return "";
  const std::string name = map->l_name;
  if (!name.empty()) return name[0] == '/' ? name : "";  // a relative path holds for the folder that the loader was in
  // The program. dladdr would give argv[0], which the caller may choose freely.
  std::array<char, PATH_MAX> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  return length > 0 ? std::string(program.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace tegula
