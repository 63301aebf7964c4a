#pragma once
// Shared by the decoders of this folder.

#include <string_view>

#include "tegula/nn/sequences/cache.h"

namespace tegula::models {

/// q (B, T, H, D), k and v (B, T, G, D) -> (B, T, H * D): causal attention, over the cache's content if there is one, which then holds
/// k and v too.
Tensor attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, nn::KeyValueCache* cache, int layer, double dropout = 0);

/// Tokens (B, T), at most `context` of them in a sequence. Throws Error in the name of the model.
Tensor checked_tokens(std::string_view model, const Arg& tokens, std::int64_t context);

}  // namespace tegula::models
