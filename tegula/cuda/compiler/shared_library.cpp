#include "tegula/cuda/compiler/shared_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/setting.h"
#include "tegula/core/warning.h"

namespace tegula::gpu {

Library::Library(std::string_view op, std::initializer_list<const char*> names, std::string_view advice) {
  // Libraries are sought as the loader finds them (the module's run path has the toolkit it was built with), then in the toolkit the user points at.
  std::vector<std::string> folders{""};
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* root = std::getenv(variable); root && *root) folders.push_back(std::string(root) + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  std::string reason;
  const std::string_view first = *names.begin();
  constexpr std::size_t kPrefix = 3;  // "lib"
  if (listed("TEGULA_WITHOUT", first.substr(kPrefix, first.find(".so") - kPrefix))) reason = "TEGULA_WITHOUT lists it", folders.clear();
  for (const std::string& folder : folders) {
    for (const char* name : names) {
      handle_ = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_) {
        name_ = name;
        return;
      }
      const char* message = dlerror();
      if (reason.empty() && message) reason = message;
    }
  }
  throw Error({.op = std::string(op),
               .got = "no library " + std::string(*names.begin()) + (reason.empty() ? "" : " (" + reason + ")"),
               .advice = std::string(advice)});
}

void tell_missing(const Error& why, std::string_view instead) {
  const Report& report = why.report();
  warn("cuda.library", report.got + ": " + std::string(instead) + (report.advice.empty() ? "" : "; " + report.advice));
}

void Library::read_ahead() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  const int file = open(map->l_name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
  close(file);
}

void* Library::find(const char* symbol) const {
  if (void* address = dlsym(handle_, symbol)) return address;
  throw Error({.op = name_, .got = "a library without " + std::string(symbol), .expected = "a newer version"});
}

}  // namespace tegula::gpu
