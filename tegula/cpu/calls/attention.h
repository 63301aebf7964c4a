#pragma once
// Attention in blocks of queries and keys (Dao et al., "FlashAttention", 2022): the whole matrix of scores never exists.

#include <memory>

#include "tegula/runtime/device.h"

namespace tegula::host {

/// Throws Error for a dtype that is no float and for shapes that do not fit.
std::unique_ptr<runtime::Call> make_attention(const runtime::Attention& description);

}  // namespace tegula::host
