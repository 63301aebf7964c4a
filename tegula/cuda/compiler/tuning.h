#pragma once
// The tuning file of cards (runtime/tuning.h), and the versions of the libraries whose choices it holds.

#include <optional>
#include <string>

#include "tegula/runtime/tuning.h"

namespace tegula::gpu {

using runtime::tuning_enabled, runtime::tuning_file, runtime::TuningFile;

/// A library's version without opening it, which takes tens of milliseconds: the version that an earlier process found in the file that it opened, if
/// that file is unchanged and the loader looks in the same places. Another file may be found all the same: data kept under this version
/// must do with any. Kept beside compiled kernels; nothing if the version is unknown.
std::optional<int> known_version(const std::string& library);
/// To be called by the code that opened the library. `symbol` is an address in it.
void remember_version(const std::string& library, const void* symbol, int version);

}  // namespace tegula::gpu
