#include "tegula/core/code_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>

#include "tegula/io/child.h"

namespace tegula {
namespace {

int here() { return 0; }

TEST(CodeFile, IsTheProgramWhateverItWasCalledAndWhereverItStands) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(code_file(reinterpret_cast<const void*>(&here)), program);
  if (const char* asked = std::getenv("TEGULA_TEST_CALLED_OTHERWISE"); asked && *asked) return;
  // The same in a process that was told another name, from another folder.
  const std::string command = "cd / && TEGULA_TEST_CALLED_OTHERWISE=1 exec -a evil/app/prog " + program + " --gtest_filter=CodeFile.Is*";
  EXPECT_EQ(io::run_child({"bash", "-c", command}, {}).exit_code, 0);
}

TEST(CodeFile, IsTheSharedLibraryOfAFunctionThere) {
  const std::string file = code_file(reinterpret_cast<const void*>(&::zlibVersion));
  EXPECT_TRUE(file.starts_with("/") && file.find("libz") != std::string::npos) << file;
}

}  // namespace
}  // namespace tegula
