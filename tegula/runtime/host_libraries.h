#pragma once
// Libraries that the CPU's calls open at run time where they are installed. Declared here, defined in cpu/.

#include <string>

namespace tegula::runtime {

/// The library that computes factors and spectra: "liblapack.so.3 for svd and eig, our own for the rest".
std::string linear_algebra_library();

}  // namespace tegula::runtime
