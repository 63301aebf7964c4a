#include "tegula/cuda/compiler/nvrtc.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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
#include "tegula/cuda/compiler/cubin_file.h"
#include "tegula/cuda/compiler/nvrtc_library.h"
#include "tegula/cuda/compiler/nvrtc_process.h"
#include "tegula/cuda/compiler/tuning.h"
#include "tegula/simt/codegen.h"
#include "tegula/simt/text_hash.h"

namespace tegula::gpu {
namespace {

void finish_background();

/// exit() destroys thread_local objects of the main thread before it runs any handler, even one that NVRTC registers in the midst of its
/// first compilations: waiting here keeps everything alive for the threads that compile.
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

/// The compiler, opened with this process's preparations.
const Nvrtc& compiler() {
  static const Nvrtc& opened = []() -> const Nvrtc& {
    const Nvrtc& nvrtc = Nvrtc::get();
    remember_version(kNvrtc, nvrtc.place(), nvrtc.version);
    std::atexit(finish_background);  // behind whatever the library has to do at the end of the process, so that it is done before
    return nvrtc;
  }();
  return opened;
}

std::vector<std::string> options_for(const std::string& target, int version, Products products) {
  const char* const contraction = products == Products::Contracted ? "--fmad=true" : "--fmad=false";
  std::vector<std::string> options{"--gpu-architecture=" + target, "--std=c++17", contraction, "--diag-suppress=177,550"};
  // Without the declarations for textures and launches from kernels, which take a third of the time that reading a unit does.
  if (version >= 13000) options.emplace_back("--minimal");
  return options;
}

/// 128 bits, in hexadecimal digits.
std::string hash_of(std::string_view text) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(text_hash(text)),
                static_cast<unsigned long long>(text_hash(text, kTextHashSeed ^ 0x9E3779B97F4A7C15ull)));
  return digits;
}

std::atomic<int> compiled = 0, from_disk = 0;

/// wgmma is an instruction of sm_90a, whose code runs on all GPUs of that architecture.
std::string target_of(int architecture) { return "sm_" + std::to_string(architecture) + (architecture == 90 ? "a" : ""); }

std::vector<std::string> cubin_options(int architecture, int version, Products products) {
  std::vector<std::string> options = options_for(target_of(architecture), version, products);
  // The kernels of a unit side by side. The code does not depend on how many at once, but it is not the code of one alone: see store_pieces.
  if (version >= 13000) options.emplace_back("--split-compile=0");
  return options;
}

/// A unit of CUDA C++. A start that finds every cubin on disk neither writes generated kernels nor joins the prelude to them.
struct Text {
  std::string text;  // or what stands for the kernels:
  std::function<std::string()> kernels = {};  // on the prelude

  std::string whole() const { return kernels ? with_prelude(kernels()) : text; }
  /// Stands for whole() in keys: equal keys mean equal texts.
  std::string key() const { return kernels ? "kernels\n" + text : text; }
};

/// The key of a unit's cubin: everything it depends on.
std::string cubin_key(const Text& source, int architecture, Products products, int version) {
  std::string key = std::to_string(version);
  for (const std::string& option : cubin_options(architecture, version, products)) key += " " + option;
  return key + "\n" + source.key();
}

/// The file of the cubin; nothing if none are kept.
std::optional<std::filesystem::path> cubin_path(const std::string& key) {
  const auto folder = cache_folder();
  if (!folder) return {};
  return *folder / (hash_of(key) + ".cubin");
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

/// One of those that compile at a time: where they are several, other processes help.
class Several {
 public:
  Several() {
    constexpr int kMany = 5;
    if (++number() == kMany) CompilerProcesses::get().start();
  }
  Several(const Several&) = delete;
  Several& operator=(const Several&) = delete;
  ~Several() { --number(); }

 private:
  static std::atomic<int>& number() {
    static std::atomic<int> number = 0;
    return number;
  }
};

std::vector<char> cubin_of(const Text& source, int architecture, Products products) {
  std::string key;
  std::optional<std::filesystem::path> path;
  const auto look_up = [&](int version) -> std::optional<std::vector<char>> {
    key = cubin_key(source, architecture, products, version);
    path = cubin_path(key);
    auto cached = path ? read_cubin(*path, key) : std::nullopt;
    if (cached) ++from_disk;
    return cached;
  };
  // The compiler is opened where something has to be compiled.
  const auto known = known_version(kNvrtc);
  if (known) {
    if (auto cached = look_up(*known)) return *std::move(cached);
  }
  const int version = compiler().version;
  if (version != known) {
    if (auto cached = look_up(version)) return *std::move(cached);
  }
  std::vector<char> cubin;
  {
    const Several several;
    static std::counting_semaphore<> places(
        std::max({1, static_cast<int>(std::thread::hardware_concurrency()), CompilerProcesses::get().count()}));
    const Turn turn(places);
    if (background().is_ending()) throw Error({.op = "cuda", .got = "the end of the program"});
    const std::vector<std::string> options = cubin_options(architecture, version, products);
    const std::string whole = source.whole();
    auto elsewhere = CompilerProcesses::get().compile(whole, options, version);
    cubin = elsewhere ? *std::move(elsewhere) : Unit(whole, options).cubin();
  }
  ++compiled;
  if (path) write_cubin(*path, key, cubin);
  return cubin;
}

std::shared_future<std::vector<char>> cubin_later(Text source, int architecture, Products products) {
  // A process must not end while a library is being opened: that is not left to the thread.
  const auto known = known_version(kNvrtc);
  const auto path = known ? cubin_path(cubin_key(source, architecture, products, *known)) : std::nullopt;
  if (std::error_code ignored; !path || !std::filesystem::exists(*path, ignored)) nvrtc_available();
  auto task = std::make_shared<std::packaged_task<std::vector<char>()>>(
      [source = std::move(source), architecture, products] { return cubin_of(source, architecture, products); });
  std::shared_future<std::vector<char>> result = task->get_future().share();
  background().start([task] { (*task)(); });
  return result;
}

}  // namespace

std::vector<char> compile_cubin(const std::string& source, int architecture, Products products) {
  return cubin_of({.text = source}, architecture, products);
}

std::shared_future<std::vector<char>> compile_cubin_later(std::string source, int architecture, Products products) {
  return cubin_later({.text = std::move(source)}, architecture, products);
}

std::shared_future<std::vector<char>> compile_kernels_later(std::string keys, std::function<std::string()> text, int architecture) {
  return cubin_later({.text = std::move(keys), .kernels = std::move(text)}, architecture, Products::Rounded);
}

bool anything_compiled() { return known_version(kNvrtc).has_value(); }

void warm_up_compiler() {
  CompilerProcesses::get().start();
  try {
    compiler();
    Nvrtc::warm_up();
  } catch (const Error&) { return; }  // a later use reports what is missing
}

std::string compile_ptx(const std::string& source, int architecture) {
  return Unit(source, options_for("compute_" + std::to_string(architecture), compiler().version, Products::Rounded)).ptx();
}

std::map<std::string, Figures> figures(const std::string& source, int architecture) {
  std::vector<std::string> options = cubin_options(architecture, compiler().version, Products::Rounded);
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
    compiler();
    return true;
  } catch (const Error& error) {
    if (why) *why = error.what();
    return false;
  }
}

std::string compiler_version() {
  const auto known = known_version(kNvrtc);
  if (known) return std::to_string(*known);
  return nvrtc_available() ? std::to_string(compiler().version) : std::string();
}

CompileCounters compile_counters() { return {compiled, from_disk}; }

}  // namespace tegula::gpu
