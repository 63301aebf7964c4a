// tegula debug: which debugger is run, with what.

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/app/cli.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

class DebugCommand : public ::testing::Test {
 protected:
  DebugCommand() : path_(std::getenv("PATH")) {
    ::setenv("PATH", folder_.path().c_str(), 1);
    ::setenv("TEGULA_CACHE_DIR", (folder_ / "cache").c_str(), 1);
    ::unsetenv("TEGULA_CHECK");
  }
  ~DebugCommand() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("TEGULA_CACHE_DIR");
    ::unsetenv("TEGULA_CHECK");
  }
  /// A debugger that says how it was called.
  void install(const std::string& name) {
    std::ofstream(folder_ / name) << "#!/bin/sh\necho \"$0 with $TEGULA_CHECK\"\nfor word in \"$@\"; do echo \"<$word>\"; done\n";
    ::chmod((folder_ / name).c_str(), 0755);
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(DebugCommand, GdbHasThePrintersAndTheProgramAndKernelsRunAtOnce) {
  install("gdb"), install("lldb");
  const Ran ran = tegula_cli({"debug", "./program", "--steps", "3"});
  const std::string printers = folder_ / "cache/gdb_tiles.py";
  EXPECT_EQ(ran.out, (folder_ / "gdb") + " with tile\n<-ex>\n<source " + printers + ">\n<--args>\n<./program>\n<--steps>\n<3>\n")
      << ran.err;
  std::ifstream file(printers);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_HAS(text, "class TilePrinter:");
  EXPECT_HAS(text, "register_pretty_printer");
}

TEST_F(DebugCommand, LldbIsTakenWhereThereIsNoGdbOrItIsNamed) {
  install("lldb-14");
  ::setenv("TEGULA_CHECK", "nan", 1);
  const Ran ran = tegula_cli({"debug", "--debugger", "lldb-14", "./program"});
  const std::string printers = folder_ / "cache/lldb_tiles.py";
  EXPECT_EQ(ran.out, (folder_ / "lldb-14") + " with nan,tile\n<-o>\n<command script import " + printers + ">\n<-->\n<./program>\n")
      << ran.err;
  std::ifstream file(printers);
  EXPECT_HAS(std::string((std::istreambuf_iterator<char>(file)), {}), "def __lldb_init_module");
  install("lldb");
  EXPECT_HAS(tegula_cli({"debug", "./program"}).out, (folder_ / "lldb") + " with");
}

TEST_F(DebugCommand, WithoutADebuggerItSaysWhatToInstall) {
  const Ran ran = tegula_cli({"debug", "./program"});
  EXPECT_NE(ran.status, 0);
  EXPECT_HAS(ran.err, "no lldb in PATH");
  EXPECT_HAS(ran.err, "install gdb or lldb");
}

}  // namespace
}  // namespace tegula
