#pragma once
// Kernels as a shared object: text that the system's C++ compiler has compiled, and what is known of it.

#include <cstddef>
#include <string>
#include <vector>

#include "tegula/emulator/interface.h"

namespace tegula::emulator {

/// With Checked::Yes accesses to memory are checked (memory_check.h), which is some ten times slower.
enum class Checked : std::uint8_t { No, Yes };

/// CUDA's words, which precede the text of every kernel.
std::string words(Checked checked);

class Image {
 public:
  /// A variable with a place of its own: __shared__, __device__, __constant__.
  struct Variable {
    std::string name;  // without where it is declared
    const unsigned char* begin = nullptr;
    std::size_t bytes = 0;
    std::string function = {};  // that it stands in, as C++ has it: "void reduce<256>(float*)"; empty: outside of functions
  };

  /// The unit, compiled once per process; it stays loaded. Throws Error of `op` with the compiler's messages, and where the system has no C++ compiler
  /// ($TEGULA_CXX, else c++).
  static const Image& of(const std::string& unit, Checked checked, const std::string& op);

  /// Null where it has none.
  void* find(const std::string& name) const;
  emulated::State& state() const { return *static_cast<emulated::State*>(find("tegula_emulated")); }
  const std::vector<Variable>& variables() const { return variables_; }
  const unsigned char* begin() const { return begin_; }
  const unsigned char* end() const { return end_; }
  /// "saxpy.cu:12": the line of the text that the code at this return address comes from; empty where nobody knows (addr2line is missing).
  std::string line_of(const void* from) const;

 private:
  void read_symbols();

  std::string path_, compiled_in_;
  void* handle_ = nullptr;
  const unsigned char *begin_ = nullptr, *end_ = nullptr;
  std::vector<Variable> variables_;
};

}  // namespace tegula::emulator
