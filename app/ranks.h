#pragma once
// Shared by commands under `tegula launch`.

#include <string>

#include "tegula/dist/exchange/group.h"

namespace tegula::app {

/// All ranks of the run, which train together. A command prints once: from here on the other ranks print nothing.
dist::Group training_ranks(const std::string& op);
/// True if this rank writes the files.
bool is_first(const dist::Group& ranks);
/// A run that `tegula launch --restarts` has started again goes on where it wrote its checkpoint last.
void resume_after_restart(const std::string& checkpoint, std::string& resume);
/// For work of a single process. Throws Error if there are several.
void refuse_ranks(const std::string& op, const std::string& why);

}  // namespace tegula::app
