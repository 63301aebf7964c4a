#pragma once
// The command line from outside: its output and exit status.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/io/child.h"
#include "tests/io/files.h"

namespace tegula::testing {

struct Ran {
  int status;
  std::string out, err;
};

/// `tegula` of the same build, which lies beside the folder of the tests.
inline std::filesystem::path tegula_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula";
}

inline Ran tegula_cli(std::vector<std::string> arguments, std::string_view input = "") {
  arguments.insert(arguments.begin(), tegula_program().string());
  const io::ChildResult result = io::run_child(arguments, bytes_of(input));
  return {result.exit_code, text_of(result.output), result.messages};
}

}  // namespace tegula::testing

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
