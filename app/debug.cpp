// tegula debug ./program …: a debugger that stops in kernels of the tile language and shows their tiles.

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include "app/commands.h"
#include "scripts/gdb_tiles.py.h"
#include "scripts/lldb_tiles.py.h"
#include "tegula/core/error.h"
#include "tegula/runtime/cache_file.h"

namespace tegula::app {
namespace {

[[noreturn]] void fail(const std::string& got, const std::string& advice) {
  throw Error({.op = "tegula debug", .got = got, .expected = "", .advice = advice});
}

bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// The printers as a file: the debuggers take them from one.
std::string printers(const std::string& name, const std::string& text) {
  const auto folder = runtime::cache_folder();
  if (!folder) fail("no folder for the printers of tiles", "set TEGULA_CACHE_DIR, or HOME");
  const std::filesystem::path path = *folder / name;
  runtime::write_cache_file(path, text);
  if (!std::filesystem::exists(path)) fail("a folder that cannot be written to: " + folder->string(), "set TEGULA_CACHE_DIR");
  return path.string();
}

void run(std::string debugger, const std::vector<std::string>& program) {
  if (debugger.empty()) debugger = is_in_path("gdb") ? "gdb" : "lldb";
  if (!is_in_path(debugger)) fail("no " + debugger + " in PATH", "install gdb or lldb, or name the one that is there with --debugger");
  const bool is_lldb = std::filesystem::path(debugger).filename().string().starts_with("lldb");
  std::vector<std::string> words{debugger};
  if (is_lldb) words.insert(words.end(), {"-o", "command script import " + printers("lldb_tiles.py", gpu::kLldbTiles), "--"});
  else words.insert(words.end(), {"-ex", "source " + printers("gdb_tiles.py", gpu::kGdbTiles), "--args"});
  words.insert(words.end(), program.begin(), program.end());
  const char* const checks = std::getenv("TEGULA_CHECK");
  ::setenv("TEGULA_CHECK", checks && *checks ? (std::string(checks) + ",tile").c_str() : "tile", 1);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fail(debugger + ": " + std::strerror(errno), "name another one with --debugger");
}

}  // namespace

void add_debug(Command& app) {
  auto debugger = std::make_shared<std::string>();
  Command command = app.command("debug", "run a program in gdb or lldb, which stops in its kernels and shows their tiles: debug ./program");
  command.option("--debugger", *debugger, "gdb, lldb, or another name of one, such as lldb-14")
      .shows_default("gdb, else lldb")
      .type("PROGRAM");
  command.runs_program([debugger](const std::vector<std::string>& program) { run(*debugger, program); });
}

}  // namespace tegula::app
