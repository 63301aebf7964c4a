#include "tegula/runtime/registry.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "tegula/core/code_file.h"
#include "tegula/core/error.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/findings.h"
#include "tegula/runtime/fingerprint.h"

namespace tegula {
namespace {

constexpr const char* kFileName = "libtegula_cuda.so";

std::string loader_message() {
  const char* message = dlerror();
  return message ? message : "no reason given";
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Folders that may hold the CUDA library: that of the file with this code (the program, or a shared libtegula), that of the program, the
/// library folder that belongs to it, and one folder up (programs of the build tree).
std::vector<std::string> folders() {
  std::vector<std::string> found;
  const auto add = [&](const std::string& folder) {
    if (folder.empty()) return;
    for (const char* step : {"", "/" TEGULA_LIBRARY_FOLDER, "/.."}) found.push_back(folder + step);
  };
  add(folder_of(code_file(reinterpret_cast<const void*>(&loader_message))));
  std::array<char, PATH_MAX> program{};
  if (const ssize_t length = readlink("/proc/self/exe", program.data(), program.size()); length > 0)
    add(folder_of({program.data(), static_cast<std::size_t>(length)}));
  return found;
}

/// True if a file that was found near the program, not named by the user, may be loaded: it belongs to this user, to root or to the program's
/// owner, and is not writable by everybody. A program in /tmp/x must not load a file that another user has put into /tmp.
bool is_trusted(const std::string& path) {
  struct stat file{}, program{};
  if (stat(path.c_str(), &file) != 0 || (file.st_mode & S_IWOTH) != 0) return false;
  return file.st_uid == 0 || file.st_uid == geteuid() || (stat("/proc/self/exe", &program) == 0 && program.st_uid == file.st_uid);
}

void* open_library() {
  if (const char* path = std::getenv("TEGULA_CUDA_LIBRARY"); path && *path) {
    if (void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL)) return handle;
    throw Error({.op = "cuda",
                 .got = "a library that cannot be loaded, " + loader_message(),
                 .advice = "TEGULA_CUDA_LIBRARY names it: correct the path, or unset it"});
  }
  std::string refused;
  for (const std::string& folder : folders()) {
    const std::string path = folder + "/" + kFileName;
    if (access(path.c_str(), R_OK) != 0) continue;
    if (!is_trusted(path)) {
      refused = "; " + path + " is another user's, or everybody may write it";
      continue;
    }
    if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
    throw Error(
        {.op = "cuda",
         .got = "a library that cannot be loaded, " + loader_message(),
         .advice = "it was built for another system, or the NVIDIA driver is too old for it: build it again, or update the driver"});
  }
  if (void* handle = dlopen(kFileName, RTLD_LAZY | RTLD_LOCAL)) return handle;
  throw Error({.op = "cuda",
               .got = "no " + std::string(kFileName) + ", the CUDA side of this library (" + loader_message() + refused + ")",
               .expected = "it beside the program or the library, or in TEGULA_CUDA_LIBRARY",
               .advice = "it is built when CMake finds the CUDA toolkit"});
}

/// The CUDA side. The driver is asked for first: without it the other messages would only confuse.
const runtime::CudaLibrary& load() {
  if (!dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    throw Error({.op = "cuda",
                 .got = "no NVIDIA driver on this machine (" + loader_message() + ")",
                 .advice = "install the NVIDIA driver, or compute on the cpu"});
  }
  void* handle = open_library();
  using Entry = const runtime::CudaLibrary*(int);
  auto* entry = reinterpret_cast<Entry*>(dlsym(handle, "tegula_cuda_library"));
  const runtime::CudaLibrary* library = entry ? entry(TEGULA_INTERFACE) : nullptr;
  if (library) {
    library->forward_warnings(warn, show_text);
    library->ask_for_checks(checking);
    return *library;
  }
  throw Error({.op = "cuda",
               .got = std::string("a ") + kFileName + " of another version of Tegula",
               .expected = "interface " + std::to_string(TEGULA_INTERFACE),
               .advice = "build and install both together"});
}

const runtime::CudaLibrary& library() {
  static std::mutex mutex;
  static const runtime::CudaLibrary* loaded = nullptr;
  const std::scoped_lock lock(mutex);
  if (!loaded) loaded = &load();
  return *loaded;
}

std::atomic<Device*>& default_slot() {
  static std::atomic<Device*> slot{nullptr};
  return slot;
}

thread_local Device* scoped_device = nullptr;

}  // namespace

Device& cpu() { return runtime::cpu(); }

Device& cuda(int index, Line where) {
  try {
    return library().open(index);
  } catch (const Error& error) {
    Report report = error.report();
    report.where = where;
    throw Error(std::move(report));
  }
}

int cuda_count(std::string* why) {
  std::string reason;
  int count = 0;
  try {
    count = library().count(reason);
  } catch (const Error& error) { reason = error.what(); }
  if (why) *why = reason;
  return count;
}

Device& device(std::string_view name, Line where) {
  if (name == "cpu") return cpu();
  if (name == "cuda") return cuda(0, where);
  constexpr std::string_view prefix = "cuda:";
  if (name.starts_with(prefix)) {
    int index = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, index);
    if (error == std::errc() && rest == end) return cuda(index, where);
  }
  throw Error({.op = "device", .got = "\"" + std::string(name) + "\"", .expected = "cpu, cuda, or cuda:1", .where = where});
}

void set_default_device(Device& device) { default_slot().store(&device, std::memory_order_release); }

Device& default_device() {
  if (scoped_device) return *scoped_device;
  Device* device = default_slot().load(std::memory_order_acquire);
  return device ? *device : cpu();
}

DeviceScope::DeviceScope(Device& device) : before_(std::exchange(scoped_device, &device)) {}
DeviceScope::~DeviceScope() { scoped_device = before_; }

}  // namespace tegula

namespace tegula::runtime {

Device& device_of(int number) { return number == 0 ? cpu() : cuda(number - 1, {}); }
bool has_device(int number) { return number == 0 || number <= cuda_count(); }
int interface_version() { return TEGULA_INTERFACE; }
std::string fingerprint(Device& device) {
  if (device.number() == 0) return cpu_fingerprint();
  const DeviceProperties properties = device.properties();
  return properties.model + " " + properties.architecture + ", " + std::to_string(properties.processors) + " processors";
}
DeviceFindings* findings_of(Device& device) {
  const int index = device.number() - 1;
  return index >= 0 && index < cuda_count() && &cuda(index) == &device ? &library().findings(index) : nullptr;
}

}  // namespace tegula::runtime
