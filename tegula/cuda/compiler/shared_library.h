#pragma once
// NVIDIA's libraries, opened when they are first needed.

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "tegula/core/error.h"

namespace tegula::gpu {

/// A shared library that is opened when it is first needed. Throws Error naming the library and what to install.
/// Names are tried in order; never closed. One that TEGULA_WITHOUT lists ("cudnn,cusolver") counts as missing.
class Library {
 public:
  Library(std::string_view op, std::initializer_list<const char*> names, std::string_view advice);
  /// Reads the whole file from the disk, in the background: a large file comes sooner this way than page by page.
  void read_ahead() const;
  /// The address of `symbol`, or an Error.
  void* find(const char* symbol) const;
  template <class F>
  F* function(const char* symbol) const {
    return reinterpret_cast<F*>(find(symbol));
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
};

/// Says that a library cannot be used, and what is done in its place ("the host computes"): once in a process.
void tell_missing(const Error& why, std::string_view instead);

/// The result of `make`; null where that throws Error, which tell_missing then tells.
template <class Make>
auto made_or_told(const Make& make, std::string_view instead) -> decltype(make()) {
  try {
    return make();
  } catch (const Error& why) {
    tell_missing(why, instead);
    return nullptr;
  }
}

}  // namespace tegula::gpu
