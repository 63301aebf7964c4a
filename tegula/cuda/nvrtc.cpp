#include "tegula/cuda/nvrtc.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "tegula/core/error.h"
#include "tegula/cuda/shared_library.h"
#include "tegula/cuda/text_hash.h"
#include "tegula/cuda/tuning.h"

namespace tegula::gpu {
namespace {

// The part of nvrtc.h that is used, as its documentation gives it.
using Result = int;
using Handle = struct Opaque*;
constexpr Result kSuccess = 0, kCompilationFailed = 6;
constexpr const char* kLibrary = "NVRTC";

void finish_background();

/// exit() destroys what is thread_local in the main thread before it runs any handler, those that NVRTC registers in the midst of its
/// first compilations included: waiting here, nothing is taken away from a thread that compiles.
struct AtExit {
  ~AtExit() {
    if (gettid() == getpid()) finish_background();
  }
};

/// Threads that compile. A process that ends waits for those that are in the compiler; the others find out that there is nothing to do.
class Background {
 public:
  void start(std::function<void()> work) {
    thread_local const AtExit at_exit;
    static_cast<void>(at_exit);
    const std::scoped_lock lock(mutex_);
    std::erase_if(running_, [](const auto& thread) { return thread.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    if (ending_) return work();
    try {
      running_.push_back(std::async(std::launch::async, work));
    } catch (const std::system_error&) { work(); }  // no more threads
  }
  void finish() {
    ending_ = true;
    std::vector<std::future<void>> last;
    {
      const std::scoped_lock lock(mutex_);
      last.swap(running_);
    }
    for (const auto& thread : last) thread.wait();
  }
  bool is_ending() const { return ending_; }

 private:
  std::mutex mutex_;
  std::vector<std::future<void>> running_;
  std::atomic<bool> ending_ = false;
};

Background& background() {
  static auto* instance = [] {
    std::atexit(finish_background);  // for an exit() of another thread
    return new Background;
  }();
  return *instance;
}
void finish_background() { background().finish(); }

class Nvrtc {
 public:
  /// Throws Error naming the library.
  static const Nvrtc& get() {
    static const Nvrtc instance;
    return instance;
  }

  int version = 0;  // 13000 for 13.0
  Result (*create)(Handle*, const char* source, const char* name, int headers, const char* const* contents, const char* const* names);
  Result (*destroy)(Handle*);
  Result (*compile)(Handle, int options, const char* const* texts);
  Result (*log_size)(Handle, std::size_t*);
  Result (*log)(Handle, char*);
  Result (*cubin_size)(Handle, std::size_t*);
  Result (*cubin)(Handle, char*);
  Result (*ptx_size)(Handle, std::size_t*);
  Result (*ptx)(Handle, char*);
  const char* (*error_text)(Result);

 private:
  Nvrtc()
      : library_("cuda", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                 "install the CUDA toolkit's NVRTC package, or set CUDA_PATH") {
    library_.read_ahead();  // 110 MB
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    find(error_text, "nvrtcGetErrorString");
    Result (*get_version)(int*, int*);
    find(get_version, "nvrtcVersion");
    int major = 0, minor = 0;
    if (get_version(&major, &minor) == kSuccess) version = 1000 * major + 10 * minor;
    remember_version(kLibrary, reinterpret_cast<const void*>(get_version), version);
    // Registered behind whatever the library has to do at the end of the process, so that it is done before.
    std::atexit(finish_background);
  }
  template <class F>
  void find(F& function, const char* symbol) const {
    function = library_.function<std::remove_pointer_t<F>>(symbol);
  }
  Library library_;
};

void check(Result result, const char* what) {
  if (result == kSuccess) return;
  throw Error({.op = "cuda",
               .got = std::string(what) + ": " + Nvrtc::get().error_text(result),
               .advice = "this is a defect of the generated code or of the compiler's installation"});
}

/// A unit after compilation.
class Unit {
 public:
  Unit(const std::string& source, const std::vector<std::string>& options) {
    check(nvrtc_.create(&handle_, source.c_str(), "tegula.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const Result result = nvrtc_.compile(handle_, static_cast<int>(texts.size()), texts.data());
    log_ = text(nvrtc_.log_size, nvrtc_.log);
    if (result == kSuccess) return;
    const std::string what =
        result == kCompilationFailed ? "source that does not compile:\n" + log_ : nvrtc_.error_text(result) + ("\n" + log_);
    nvrtc_.destroy(&handle_);
    throw Error({.op = "cuda", .got = what, .expected = "CUDA C++ that NVRTC accepts"});
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  ~Unit() { nvrtc_.destroy(&handle_); }

  const std::string& log() const { return log_; }
  std::string ptx() const { return text(nvrtc_.ptx_size, nvrtc_.ptx); }
  std::vector<char> cubin() const {
    std::size_t size = 0;
    check(nvrtc_.cubin_size(handle_, &size), "nvrtcGetCUBINSize");
    std::vector<char> image(size);
    check(nvrtc_.cubin(handle_, image.data()), "nvrtcGetCUBIN");
    return image;
  }

 private:
  std::string text(Result (*size_of_text)(Handle, std::size_t*), Result (*get)(Handle, char*)) const {
    std::size_t size = 0;
    check(size_of_text(handle_, &size), "the size of a text");
    std::string result(size, '\0');
    check(get(handle_, result.data()), "a text");
    while (!result.empty() && result.back() == '\0') result.pop_back();
    return result;
  }
  const Nvrtc& nvrtc_ = Nvrtc::get();
  Handle handle_ = nullptr;
  std::string log_;
};

std::vector<std::string> options_for(const std::string& target, int version) {
  std::vector<std::string> options{"--gpu-architecture=" + target, "--std=c++17", "--fmad=true", "--diag-suppress=177,550"};
  // Without what the language has for textures and launches from kernels, which takes a third of the time that reading a unit does.
  if (version >= 13000) options.emplace_back("--minimal");
  return options;
}

std::string hexadecimal(std::uint64_t a, std::uint64_t b) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  return text;
}

// ---- The cache on disk: a line of magic and a checksum, then the cubin.
std::string header_of(std::string_view image) { return "tegula cubin 2 " + hexadecimal(text_hash(image), image.size()) + "\n"; }

std::optional<std::vector<char>> read_cached(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string content((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = content.find('\n');
  if (end == std::string::npos) return {};
  const std::string_view image = std::string_view(content).substr(end + 1);
  if (content.compare(0, end + 1, header_of(image)) != 0) return {};
  return std::vector<char>(image.begin(), image.end());
}

/// Under its name only as a whole; failures do not matter.
void write_cached(const std::filesystem::path& path, const std::vector<char>& cubin) {
  static std::atomic<int> number = 0;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path temporary = path.string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  {
    std::ofstream file(temporary, std::ios::binary);
    const std::string_view image(cubin.data(), cubin.size());
    file << header_of(image) << image;
    file.flush();
    if (!file) {
      file.close();
      std::filesystem::remove(temporary, ignored);
      return;
    }
  }
  std::filesystem::rename(temporary, path, ignored);
  if (ignored) std::filesystem::remove(temporary, ignored);
}

std::atomic<int> compiled = 0, from_disk = 0;

std::vector<std::string> cubin_options(int architecture, int version) {
  std::vector<std::string> options = options_for("sm_" + std::to_string(architecture), version);
  // The kernels of a unit side by side; the code does not depend on how many at once.
  if (version >= 13000) options.emplace_back("--split-compile=0");
  return options;
}

/// Where the cubin of a unit lies; nowhere when nothing is kept.
std::optional<std::filesystem::path> cubin_path(const std::string& source, int architecture, int version) {
  const auto folder = cache_folder();
  if (!folder) return {};
  std::string key = std::to_string(version);
  for (const std::string& option : cubin_options(architecture, version)) key += " " + option;
  key += "\n" + source;
  return *folder / (hexadecimal(text_hash(key), text_hash(key, kTextHashSeed ^ 0x9E3779B97F4A7C15ull)) + ".cubin");
}

/// One of a limited number.
class Turn {
 public:
  explicit Turn(std::counting_semaphore<>& free) : free_(free) { free_.acquire(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { free_.release(); }

 private:
  std::counting_semaphore<>& free_;
};

}  // namespace

std::optional<std::filesystem::path> cache_folder() {
  const auto variable = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    if (!value || !*value) return {};
    return std::filesystem::path(value);
  };
  if (auto path = variable("TEGULA_CACHE_DIR")) return path;
  if (auto path = variable("XDG_CACHE_HOME")) return *path / "tegula";
  if (auto path = variable("HOME")) return *path / ".cache" / "tegula";
  return {};
}

std::vector<char> compile_cubin(const std::string& source, int architecture) {
  std::optional<std::filesystem::path> path;
  const auto look_up = [&](int version) -> std::optional<std::vector<char>> {
    path = cubin_path(source, architecture, version);
    auto cached = path ? read_cached(*path) : std::nullopt;
    if (cached) ++from_disk;
    return cached;
  };
  // The compiler is opened where something has to be compiled.
  const auto known = known_version(kLibrary);
  if (known) {
    if (auto cached = look_up(*known)) return *std::move(cached);
  }
  const int version = Nvrtc::get().version;
  if (version != known) {
    if (auto cached = look_up(version)) return *std::move(cached);
  }
  std::vector<char> cubin;
  {
    static std::counting_semaphore<> processors(std::max(1u, std::thread::hardware_concurrency()));
    const Turn turn(processors);
    if (background().is_ending()) throw Error({.op = "cuda", .got = "the end of the program"});
    cubin = Unit(source, cubin_options(architecture, version)).cubin();
  }
  ++compiled;
  if (path) write_cached(*path, cubin);
  return cubin;
}

std::shared_future<std::vector<char>> compile_cubin_later(std::string source, int architecture) {
  // A process must not end while a library is being opened: that is not left to the thread.
  const auto known = known_version(kLibrary);
  const auto path = known ? cubin_path(source, architecture, *known) : std::nullopt;
  if (!path || !std::filesystem::exists(*path)) nvrtc_available();
  auto task = std::make_shared<std::packaged_task<std::vector<char>()>>(
      [source = std::move(source), architecture] { return compile_cubin(source, architecture); });
  std::shared_future<std::vector<char>> result = task->get_future().share();
  background().start([task] { (*task)(); });
  return result;
}

bool anything_compiled() { return known_version(kLibrary).has_value(); }

void warm_up_compiler() {
  try {
    compile_ptx("extern \"C\" __global__ void nothing() {}\n", 80);
  } catch (const Error&) { return; }  // whoever needs it will say what is missing
}

std::string compile_ptx(const std::string& source, int architecture) {
  return Unit(source, options_for("compute_" + std::to_string(architecture), Nvrtc::get().version)).ptx();
}

std::map<std::string, Figures> figures(const std::string& source, int architecture) {
  std::vector<std::string> options = cubin_options(architecture, Nvrtc::get().version);
  options.emplace_back("--ptxas-options=-v");
  const Unit unit(source, options);
  std::map<std::string, Figures> result;
  std::istringstream lines(unit.log());
  Figures* current = nullptr;
  for (std::string line; std::getline(lines, line);) {
    const auto number = [&](const char* label) -> std::size_t {  // the number before a label
      const std::size_t at = line.find(label);
      if (at == std::string::npos) return 0;
      std::size_t begin = at;
      while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
      return begin == at ? 0 : static_cast<std::size_t>(std::stoull(line.substr(begin, at - begin)));
    };
    if (const std::size_t at = line.find("Compiling entry function '"); at != std::string::npos) {
      const std::size_t begin = at + 26;
      current = &result[line.substr(begin, line.find('\'', begin) - begin)];
    }
    if (!current) continue;
    if (line.find("bytes stack frame") != std::string::npos) {
      current->stack_bytes = number(" bytes stack frame");
      current->spill_stores = number(" bytes spill stores");
      current->spill_loads = number(" bytes spill loads");
    }
    if (line.find(" registers") != std::string::npos) {
      current->registers = static_cast<int>(number(" registers"));
      current->shared_bytes = number(" bytes smem");
    }
  }
  return result;
}

bool nvrtc_available(std::string* why) {
  try {
    Nvrtc::get();
    return true;
  } catch (const Error& error) {
    if (why) *why = error.what();
    return false;
  }
}

CompileCounters compile_counters() { return {compiled, from_disk}; }

}  // namespace tegula::gpu
