#pragma once
// The text of a kernel's error.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/tile.h"

namespace tegula {

/// The error when the kernel `f` of the text runs; "nothing" if there is none.
inline std::string said(const std::string& text, const std::vector<CudaArg>& arguments, const CudaLaunch& launch) {
  try {
    for (const Tensor& y : cuda_kernel("f", text, arguments, launch)) eval(y);
  } catch (const Error& error) { return error.what(); }
  return "nothing";
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in\n" << text;
}

}  // namespace tegula
