#pragma once
// Numbers as people read them.

#include <cstddef>
#include <string>

namespace tegula {

/// "1.5 GiB"
std::string bytes_text(std::size_t bytes);

}  // namespace tegula
