#pragma once
// Cases of ONNX's backend suite: a model, and data sets of inputs with the results that belong to them.

#include <filesystem>
#include <string>
#include <vector>

#include "tegula/onnx/model.h"

namespace tegula::testing {

/// The outcome of a case: empty text where it passed, else the reason.
struct SuiteOutcome {
  std::string eager, traced;
};

/// The cases of a folder, by name.
std::vector<std::filesystem::path> suite_cases(const std::filesystem::path& folder);
/// Runs all data sets of the case, plainly and in a jit-ed function. Equal: |got - want| <= absolute + 1e-3 * |want|, with the same shape and dtype.
SuiteOutcome run_case(const std::filesystem::path& folder, double absolute = 1e-6);
/// The difference between a result and the wanted one; empty when they are equal by that rule.
std::string difference(const Tensor& got, const onnx::StoredArray& want, double absolute = 1e-6);

}  // namespace tegula::testing
