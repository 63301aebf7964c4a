#pragma once
// What the ranks of `tegula launch` have in common.

#include <string>

#include "tegula/dist/exchange/group.h"

namespace tegula::app {

/// All ranks of the run, which train together. What a command says, it says once: from here on the others say nothing.
dist::Group training_ranks(const std::string& op);
/// Whether this one writes the files.
bool is_first(const dist::Group& ranks);
/// A run that `tegula launch --restarts` has started again goes on where it wrote its checkpoint last.
void resume_after_restart(const std::string& checkpoint, std::string& resume);
/// For what one process does. Throws Error where there are several.
void refuse_ranks(const std::string& op, const std::string& why);

}  // namespace tegula::app
