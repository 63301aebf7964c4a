#pragma once
// The library prints nothing but warnings, and what TEGULA_PRINT asks for. Both go to stderr, or to the handler that the program sets.

#include <functional>
#include <string>

namespace tegula {

/// Called with a name ("jit.many_signatures") and a sentence, on any thread. Must not evaluate tensors.
using WarningHandler = std::function<void(const std::string& name, const std::string& text)>;

/// From now on warnings go to `handler`, each distinct one once; an empty handler means stderr again, where they go by default. What was said
/// before is said again. Thread-safe.
void set_warning_handler(WarningHandler handler);

// For the library.
/// A warning; the same one again is dropped.
void warn(const std::string& name, const std::string& text);
/// What the user asked for (a stage of TEGULA_PRINT): takes the same way, every time.
void show_text(const std::string& name, const std::string& text);

}  // namespace tegula
