#pragma once
// Shared by the tests of the tile IR.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/runtime/interpreter.h"
#include "tegula/tile/builder.h"

namespace tegula::tile {

/// The message of the Error thrown by f; fails the test if f throws nothing.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

inline int count(const Program& program, Word word) {
  int n = 0;
  for (const Instruction& instruction : program.instructions) n += instruction.word == word;
  return n;
}

inline runtime::Argument argument(void* pointer) { return {.pointer = pointer}; }
inline runtime::Argument argument(std::int64_t integer) { return {.integer = integer}; }
inline runtime::Argument argument(double real) { return {.real = real}; }

/// Runs one instance, or a row of them.
template <class... Arguments>
void interpret_with(const Program& program, std::int64_t instances, Arguments... arguments) {
  const runtime::Argument list[]{argument(arguments)...};
  interpret(program, {list, {instances, 1, 1}});
}

}  // namespace tegula::tile
