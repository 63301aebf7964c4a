#pragma once
// The machine that a process is on.

#include <cstdint>

namespace tegula::dist {

/// Equal for processes that a machine has run since it was started, and so have one clock; 0 where that cannot be found.
std::uint64_t boot_number();

/// The same, also by the network that the process sees: between ranks of one number no bytes go over a wire. 0 also where TEGULA_RINGS=flat says that a rank is to
/// be taken as one that lies nowhere. Throws Error for another word there than flat and levels.
std::uint64_t host_number();

}  // namespace tegula::dist
