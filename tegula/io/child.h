#pragma once
// Runs another program.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/io/file.h"

namespace tegula::io {

struct ChildResult {
  bool found = true;     // false: no such program in PATH
  int exit_code = 0;     // 128 + n when signal n ended it
  Bytes output;          // its standard output
  std::string messages;  // its standard error
};

/// Runs `arguments` (the first is the program, looked up in PATH, without a shell) with `input` as standard input and waits for the end.
/// Throws Error when the system has no more descriptors or processes.
ChildResult run_child(const std::vector<std::string>& arguments, std::span<const std::byte> input);

}  // namespace tegula::io
