#pragma once
// The file that code was loaded from.

#include <string>

namespace tegula {

/// The absolute path of the file that holds the code at `address`: a shared library, else the program itself as the kernel knows it, whatever it
/// was called with. Empty where that is not known.
std::string code_file(const void* address);

}  // namespace tegula
