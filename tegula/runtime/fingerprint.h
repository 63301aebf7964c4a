#pragma once
// Tells one machine, and one build of the library, from another: a plan from a file is used only if both are the same.

#include <string>

namespace tegula::runtime {

class Device;

/// Machine, instruction set and versions of libraries that a plan of the device is for: "cpu AVX3_ZEN4, oneDNN 2.6.3".
std::string fingerprint(Device& device);
/// The same of the CPU; defined in cpu/.
std::string cpu_fingerprint();
/// The version of the headers that describe tile programs, calls and devices (CMake's TEGULA_INTERFACE).
int interface_version();

}  // namespace tegula::runtime
