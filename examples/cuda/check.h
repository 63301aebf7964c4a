#pragma once
// Shared by the programs of this folder.

#include <tegula/tile.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#ifndef EXAMPLE_FOLDER  // set by the build; else the program runs in this folder
#define EXAMPLE_FOLDER "."
#endif

/// The file beside these programs.
inline tegula::CudaSource beside(const std::string& file) { return tegula::cuda_file(std::string(EXAMPLE_FOLDER) + "/" + file); }

/// Ends the program where a kernel and Tegula's own op differ.
inline void check(const char* what, const tegula::Tensor& got, const tegula::Tensor& want, double tolerance = 1e-5) {
  const double off = got.shape() == want.shape() ? tegula::max(tegula::abs(got - want)).item<double>() : 1e30;
  std::printf("%-28s %s\n", what, off <= tolerance ? "right" : "wrong");
  if (!(off <= tolerance)) std::exit(1);
}
