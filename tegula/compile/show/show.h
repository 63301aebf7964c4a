#pragma once
// TEGULA_PRINT: the text of a stage goes where warnings go, as "print.<stage>".

#include <string>
#include <string_view>

#include "tegula/compile/plan/plan.h"
#include "tegula/core/warning.h"

namespace tegula::compile {

/// Whether TEGULA_PRINT names the stage, or is "all".
bool wants(std::string_view stage);

void show(std::string_view stage, const auto& text_of) {
  if (!wants(stage)) return;
  if (const std::string text = text_of(); !text.empty()) show_text("print." + std::string(stage), text);
}

/// What these launches (of the steps that are no calls, in order) run, and what library calls are. For people. The code of a GPU depends on
/// the arguments, so they must be known.
std::string kernel_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);
/// Its assembly; nothing on a CPU.
std::string assembly_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);
/// What each launch takes of the device: a table; nothing on a CPU.
std::string figures_table(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);

/// Makes the calls (they are made when they are first asked, beside the compilation of kernels), and says how many milliseconds each took, choosing
/// algorithms included: the longest first.
std::string call_times(const Plan& plan);

/// The stages of these names.
void show_kernels(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);

}  // namespace tegula::compile
