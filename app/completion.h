#pragma once
// tegula completion: a shell's completion of commands, options and their values.

#include "app/command.h"

namespace tegula::app {

void add_completion(Command& root);

}  // namespace tegula::app
