// compile_kernels FOLDER [RESULTS]: compiles the sources that tests/cuda/driver/fake_nvrtc.cpp has kept in FOLDER, each distinct kernel once, with the
// options that the library has for it, in as many processes as there are processors ($TEGULA_COMPILERS). Compiled sources are noted in the file RESULTS under
// a hash of everything they depend on, and are not compiled again. Sources that do not compile are left in FOLDER/failed with the compiler's log.
// Remarks of ptxas on kernels that lose time (as C7514: products that wait for each other) are reported, too.
// Exit status: 0 when all compile without such remarks, 77 without NVRTC.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/cuda/compiler/nvrtc_library.h"
#include "tegula/simt/codegen.h"
#include "tegula/simt/text_hash.h"
#include "tests/cuda/driver/cubin_figures.h"

namespace {

using namespace tegula;
using namespace tegula::gpu;
namespace fs = std::filesystem;

constexpr std::size_t kUnitCharacters = 24000;  // compiled in one go, as the library does

/// A kernel, or a unit that was written by hand.
struct Text {
  std::string source;
  bool generated = false;  // the prelude comes before it
  int architecture = 90;
  Products products = Products::Rounded;
  int made = 0;  // how many processes, or units of one, asked for it

  std::string unit() const { return generated ? with_prelude(source) : source; }
  std::string key(int version) const {
    const std::string all =
        unit() + "\n" + std::to_string(version) + " " + std::to_string(architecture) + (products == Products::Rounded ? " rounded" : "");
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(text_hash(all)),
                  static_cast<unsigned long long>(text_hash(all, 1)));
    return text;
  }
};

struct Result {
  std::string name;
  int registers = 0, stack_bytes = 0;
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The lines that are code.
std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (end > at + 1 && text.compare(at, 2, "//") != 0) out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

/// The kernels of a unit behind its prelude: each is the struct of its arguments and its function, behind the functions of its own that stand before.
std::vector<std::string> kernels_of(const std::string& body) {
  constexpr std::string_view kStruct = "\nstruct Arguments_", kFunction = "\nextern \"C\" __global__", kEnd = "\n}\n";
  std::vector<std::string> kernels;
  for (std::size_t from = 0, at = body.find(kStruct); at != std::string::npos; at = body.find(kStruct, from)) {
    const std::size_t function = body.find(kFunction, at), close = body.find(kEnd, function);
    const std::size_t end = close == std::string::npos ? body.size() : close + kEnd.size();
    kernels.push_back(without_comments(body.substr(from, at + 1 - from)) + body.substr(at + 1, end - at - 1));
    from = end;
  }
  return kernels;
}

/// Every distinct text of the folder, and how often each was made.
std::vector<Text> texts_of(const fs::path& folder) {
  std::map<std::string, int> made;
  std::ifstream list(folder / "made");
  for (std::string name; std::getline(list, name);) made[name]++;
  std::map<std::string, Text> all;  // in an order that does not depend on the machine
  for (const auto& [name, times] : made) {
    const std::string file = read(folder / name);
    const std::size_t line = file.find('\n') + 1;
    const std::string options = file.substr(0, line), source = file.substr(line);
    const std::string_view body = behind_prelude(source);
    Text text{.generated = !body.empty()};
    text.architecture = std::atoi(options.c_str() + options.find("sm_") + 3);
    if (options.find("--fmad=true") != std::string::npos) text.products = Products::Contracted;
    const auto kernels = text.generated ? kernels_of(std::string(body)) : std::vector{source};
    for (const std::string& kernel : kernels) {
      text.source = kernel;
      all.try_emplace(options + kernel, text).first->second.made += times;
    }
  }
  std::vector<Text> texts;
  for (auto& [key, text] : all) texts.push_back(std::move(text));
  return texts;
}

using Unit = std::vector<const Text*>;

/// Units of several kernels.
std::vector<Unit> units_of(const std::vector<const Text*>& texts) {
  std::vector<Unit> units;
  std::size_t size = 0;
  for (const Text* text : texts) {
    const bool joins = !units.empty() && text->generated && units.back()[0]->generated &&
                       units.back()[0]->architecture == text->architecture && size + text->source.size() <= kUnitCharacters;
    if (!joins) units.emplace_back(), size = 0;
    units.back().push_back(text);
    size += text->source.size();
  }
  return units;
}

std::vector<char> compile(const Unit& unit) {
  std::string source;
  for (const Text* text : unit) source += (unit[0]->generated ? "\n" : "") + text->source;
  return compile_cubin(unit[0]->generated ? with_prelude(source) : source, unit[0]->architecture, unit[0]->products);
}

/// The text that the compiler writes to this process's stderr: remarks of ptxas come there, and not into the log.
class Remarks {
 public:
  Remarks() {
    if (file_ == nullptr || dup2(fileno(file_), STDERR_FILENO) < 0) throw std::runtime_error("no file for remarks");
  }
  /// Lines since the last call that tell of lost time.
  std::vector<std::string> take() {
    std::vector<std::string> lines;
    std::fseek(file_, read_, SEEK_SET);
    char line[4096];
    while (std::fgets(line, sizeof line, file_))
      if (std::string_view(line).find("Performance Loss") != std::string_view::npos) lines.emplace_back(line, std::strcspn(line, "\n"));
    read_ = std::ftell(file_);
    return lines;
  }

 private:
  std::FILE* file_ = std::tmpfile();
  long read_ = 0;
};

/// Reports on units as lines: "done KEY NAME REGISTERS STACK", "failed NUMBER", "slow REMARK", "time SECONDS NUMBER".
class Worker {
 public:
  Worker(fs::path folder, int version, int out) : folder_(std::move(folder)), version_(version), out_(out) {}
  void work_on(const Unit& unit, std::size_t number) {
    const auto begin = std::chrono::steady_clock::now();
    if (!try_compile(unit)) {
      for (const Text* text : unit) {  // finds the kernel at fault
        if (!try_compile({text})) say("failed " + leave(*text));
      }
    }
    say("time " + std::to_string(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()) + " " +
        std::to_string(number));
  }

 private:
  bool try_compile(const Unit& unit) {
    try {
      const std::vector<char> cubin = compile(unit);
      const std::vector<std::string> remarks = remarks_.take();
      for (const std::string& remark : remarks) say("slow " + remark);
      if (!remarks.empty()) return true;  // not noted: it is said again the next time
      const auto figures = cubin_figures(cubin.data());
      for (const Text* text : unit) {
        Result result{.name = "?"};
        for (const auto& [name, figure] : figures) {
          if (text->source.find(name) != std::string::npos && figure.registers >= result.registers)
            result = {name, figure.registers, figure.local_bytes};
        }
        say("done " + text->key(version_) + " " + result.name + " " + std::to_string(result.registers) + " " +
            std::to_string(result.stack_bytes));
      }
      return true;
    } catch (const Error& error) {
      log_ = error.what();
      return false;
    }
  }
  /// The path of the source and the log.
  std::string leave(const Text& text) {
    const fs::path path = folder_ / "failed" / (text.key(version_) + ".cu");
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text.unit();
    std::ofstream(path.string() + ".log") << log_;
    return path.string();
  }
  /// Short enough to come through the pipe as a whole.
  void say(const std::string& line) {
    const std::string text = line.substr(0, 4000) + "\n";
    if (write(out_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
  }

  fs::path folder_;
  int version_, out_;
  std::string log_;
  Remarks remarks_;
};

/// Starts `count` processes that share the units; returns a descriptor to read their output from.
int start(const std::vector<Unit>& units, const fs::path& folder, int version, int count) {
  int ends[2];
  void* shared = mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pipe(ends) != 0 || shared == MAP_FAILED) throw std::runtime_error("no pipe");
  auto* next = new (shared) std::atomic<std::size_t>(0);
  for (int i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    close(ends[0]);
    Worker worker(folder, version, ends[1]);
    for (std::size_t unit = (*next)++; unit < units.size(); unit = (*next)++) worker.work_on(units[unit], unit);
    _exit(0);
  }
  close(ends[1]);
  return ends[0];
}

struct Report {
  std::map<std::string, Result> compiled;  // by key
  std::vector<std::string> failed, slow;
  std::vector<std::pair<double, std::size_t>> times;  // seconds, unit
};

void take(const std::string& line, Report& report) {
  std::istringstream words(line);
  std::string kind, key;
  words >> kind;
  if (kind == "done") {
    Result result;
    words >> key >> result.name >> result.registers >> result.stack_bytes;
    report.compiled[key] = result;
  } else if (kind == "failed") {
    report.failed.emplace_back(line.substr(7));
  } else if (kind == "slow") {
    report.slow.emplace_back(line.substr(5));
  } else if (kind == "time") {
    report.times.emplace_back();
    words >> report.times.back().first >> report.times.back().second;
  }
}

void print(const Report& report, const std::vector<Text>& texts, const std::vector<Unit>& units, int version) {
  int made = 0, by_hand = 0;
  for (const Text& text : texts) made += text.made, by_hand += !text.generated;
  std::printf("%d kernels made, %zu distinct (%d of them written by hand)\n", made, texts.size(), by_hand);
  std::vector<Result> results;
  for (const Text& text : texts) {
    if (const auto found = report.compiled.find(text.key(version)); found != report.compiled.end()) results.push_back(found->second);
  }
  double seconds = 0;
  std::size_t now = 0;
  for (const auto& [time, unit] : report.times) seconds += time, now += units[unit].size();
  std::printf("%zu compile by NVRTC %d.%d (%zu of them now, in %zu units: %.1f s of processor time and waiting), %zu do not\n",
              results.size(), version / 1000, version % 1000 / 10, now, report.times.size(), seconds, report.failed.size());
  auto times = report.times;
  std::sort(times.rbegin(), times.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(times.size(), 3); ++i) {
    const Unit& unit = units[times[i].second];
    const std::string& source = unit[0]->source;
    std::printf("  %.2f s: a unit of %zu, the first %s\n", times[i].first, unit.size(),
                source.substr(0, source.find('\n')).substr(0, 120).c_str());
  }
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return std::pair(a.stack_bytes, a.registers) > std::pair(b.stack_bytes, b.registers); });
  const auto spilling = std::count_if(results.begin(), results.end(), [](const Result& r) { return r.stack_bytes > 0; });
  std::printf("%td use memory of a thread's own (spills, or arrays that are indexed)\n", spilling);
  for (std::size_t i = 0; i < std::min<std::size_t>(results.size(), 5) && results[i].stack_bytes > 0; ++i)
    std::printf("  %d bytes, %d registers: %s\n", results[i].stack_bytes, results[i].registers, results[i].name.c_str());
  for (const std::string& path : report.failed) std::printf("does not compile: %s (and .log)\n", path.c_str());
  for (const std::string& remark : report.slow) std::printf("%s\n", remark.c_str());
}

int compile_all(const fs::path& folder, const fs::path& results) {
  // Only the results are kept; compiled code is not needed again.
  for (const char* variable : {"TEGULA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) setenv(variable, "", 1);
  if (std::string why; !nvrtc_available(&why)) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const int version = Nvrtc::get().version;
  const std::vector<Text> texts = texts_of(folder);
  Report report;
  std::ifstream known(results);
  for (std::string line; std::getline(known, line);) take(line, report);
  std::vector<const Text*> missing;
  for (const Text& text : texts) {
    if (!report.compiled.contains(text.key(version))) missing.push_back(&text);
  }
  const std::vector<Unit> units = units_of(missing);
  std::printf("%zu distinct kernels, %zu of them to be compiled\n", texts.size(), missing.size());
  std::fflush(stdout);
  const char* given = std::getenv("TEGULA_COMPILERS");
  const int processes = std::max(1, given ? std::atoi(given) : static_cast<int>(std::thread::hardware_concurrency()));
  std::FILE* said = fdopen(start(units, folder, version, processes), "r");
  std::ofstream kept(results, std::ios::app);
  char line[8192];
  while (std::fgets(line, sizeof line, said)) {
    std::string text = line;
    text.pop_back();
    take(text, report);
    if (text.starts_with("done")) (kept << text << "\n").flush();
  }
  bool died = false;
  for (int status; wait(&status) > 0;) died = died || status != 0;
  print(report, texts, units, version);
  if (died || report.times.size() != units.size()) std::printf("a process ended before its work did\n");
  const bool whole = !died && report.times.size() == units.size() && !texts.empty();
  return whole && report.failed.empty() && report.slow.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: compile_kernels FOLDER [RESULTS]\n"), 2;
  try {
    return compile_all(argv[1], argc > 2 ? fs::path(argv[2]) : fs::path(argv[1]) / "results");
  } catch (const std::exception& error) { return std::fprintf(stderr, "%s\n", error.what()), 1; }
}
