#pragma once
// The library never prints; what deserves a word goes to a handler that the program sets.

#include <functional>
#include <string>

namespace tegula {

/// Called with a name ("jit.many_signatures") and a sentence. None by default. Thread-safe; the handler may be called on any thread.
using WarningHandler = std::function<void(const std::string& name, const std::string& text)>;
void set_warning_handler(WarningHandler handler);
void warn(const std::string& name, const std::string& text);

}  // namespace tegula
