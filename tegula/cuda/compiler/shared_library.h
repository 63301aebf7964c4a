#pragma once
// NVIDIA's libraries, opened when they are first needed.

#include <initializer_list>
#include <string>
#include <string_view>

namespace tegula::gpu {

/// A shared library that is opened when it is first needed. Throws Error naming the library and what to install.
/// Names are tried in order; never closed.
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

}  // namespace tegula::gpu
