#pragma once
// The library prints nothing but warnings, and the output of TEGULA_PRINT. Both go to stderr, or to the handler that the program sets.

#include <functional>
#include <string>

namespace tegula {

/// Called with a name ("jit.many_signatures") and a sentence, on any thread. Must not evaluate tensors.
using WarningHandler = std::function<void(const std::string& name, const std::string& text)>;

/// Sends warnings to `handler` from now on, each distinct one once; an empty handler restores the default, stderr. Earlier warnings are
/// repeated. Thread-safe.
void set_warning_handler(WarningHandler handler);

// Warns; the library calls this.
/// A warning; the same one again is dropped.
void warn(const std::string& name, const std::string& text);
/// Shows output that the user requested (a stage of TEGULA_PRINT) through the same handler, every time.
void show_text(const std::string& name, const std::string& text);
/// Both go to another copy of the library in this process, which knows the program's handler: libtegula_cuda.so has these functions a second time.
using Shown = void (*)(const std::string& name, const std::string& text);
void forward_warnings(Shown warn, Shown show_text);

}  // namespace tegula
