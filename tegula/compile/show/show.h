#pragma once
// TEGULA_PRINT: the text of a stage goes where warnings go, as "print.<stage>".

#include <string>
#include <string_view>

#include "tegula/compile/plan/plan.h"
#include "tegula/core/warning.h"

namespace tegula::compile {

/// True if TEGULA_PRINT names the stage, or is "all".
bool wants(std::string_view stage);

void show(std::string_view stage, const auto& text_of) {
  if (!wants(stage)) return;
  if (const std::string text = text_of(); !text.empty()) show_text("print." + std::string(stage), text);
}

/// The kernels of these launches (the steps that are no calls, in order) and the library calls, as text for people. GPU code depends on
/// the arguments, so they must be known.
std::string kernel_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);
/// The assembly of these kernels; empty on a CPU.
std::string assembly_text(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);
/// A table of each launch's resources on the device; empty on a CPU.
std::string figures_table(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);

/// A table of the milliseconds that preparing each library call took, including the choice of algorithm, longest first. Prepares the calls that are not
/// prepared yet, while kernels compile.
std::string call_times(const Plan& plan);

/// Prints the stages that show kernels, if TEGULA_PRINT names them.
void show_kernels(const Plan& plan, std::span<const runtime::PlannedLaunch> launches);

}  // namespace tegula::compile
