#pragma once
// tegula completion: what a shell needs to complete commands, options and their values.

#include "app/command.h"

namespace tegula::app {

void add_completion(Command& root);

}  // namespace tegula::app
