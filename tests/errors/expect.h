#pragma once
// Promised errors. Each tests/errors/<name>.cpp is a small program, `void <name>()`, that does one wrong thing:
//
//   // expect: matmul: got shapes \(3, 4\) and \(5, 6\)
//   // expect: hint: .+
//   #include <tegula/tegula.h>
//
//   void matmul_shape() {
//     tegula::Tensor c = tegula::matmul(tegula::ones({3, 4}), tegula::ones({5, 6}));  // here
//   }
//
// The program must throw tegula::Error; every `expect` is a regular expression (ECMAScript) that must be found in what(), and the message
// must name the line marked `// here`. A program without that mark promises no place (files, command lines).

#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include "tegula/core/error.h"

namespace errors {

struct Program {
  const char* name;
  void (*run)();
  const char* source;  // path of the .cpp file
};

/// The promise in a program's source.
struct Promise {
  std::vector<std::string> expected;  // regular expressions
  std::string place;                  // "matmul_shape.cpp:6", or empty
};

inline Promise read_promise(const std::string& path) {
  Promise promise;
  std::ifstream file(path);
  const std::string marker = "// expect: ";
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with(marker)) promise.expected.push_back(line.substr(marker.size()));
    if (line.ends_with("// here")) promise.place = path.substr(path.rfind('/') + 1) + ":" + std::to_string(number);
  }
  return promise;
}

/// Runs the program; returns how it broke its promise, or nothing.
inline std::string broken_promise(const Program& program) {
  const Promise promise = read_promise(program.source);
  if (promise.expected.empty()) return "no `// expect: ` line in " + std::string(program.source);
  std::string message;
  try {
    program.run();
    return "nothing was thrown";
  } catch (const tegula::Error& error) { message = error.what(); } catch (const std::exception& error) {
    return "threw something else than tegula::Error: " + std::string(error.what());
  }
  for (const std::string& expected : promise.expected) {
    if (!std::regex_search(message, std::regex(expected))) return "not found: " + expected + "\nin: " + message;
  }
  const std::size_t at = message.find(promise.place);
  const std::size_t end = at + promise.place.size();
  if (at == std::string::npos || (end < message.size() && std::isdigit(static_cast<unsigned char>(message[end])))) {
    return "the place " + promise.place + " is not named in: " + message;
  }
  return "";
}

/// Runs the programs named on the command line, all of them without arguments. Returns the exit status.
inline int run(std::span<const Program> programs, int argc, char** argv) {
  int failed = 0, found = 0;
  for (const Program& program : programs) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], program.name) == 0;
    if (!wanted) continue;
    ++found;
    const std::string broken = broken_promise(program);
    std::printf("%s: %s\n", program.name, broken.empty() ? "ok" : broken.c_str());
    if (!broken.empty()) ++failed;
  }
  if (found < argc - 1) std::printf("no such program\n");
  return failed == 0 && found >= argc - 1 ? 0 : 1;
}

}  // namespace errors
