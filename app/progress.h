#pragma once
// Shows a running training in the terminal, as the library's Trainer does.

#include "tegula/train/progress.h"

namespace tegula::app {

using progress::bar;
using progress::clock;
using progress::display_width;
using progress::duration;
using progress::fitted;
using progress::format;
using progress::ProgressLine;
using progress::ProgressTable;
using progress::terminal_columns;

}  // namespace tegula::app
