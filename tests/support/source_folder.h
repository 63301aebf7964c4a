#pragma once
// The folder of this build's sources: known to one object alone, so that compiler caches serve other checkouts.

#include <string>

namespace tegula {

/// The project's folder, without a slash at its end.
std::string source_folder();

}  // namespace tegula
