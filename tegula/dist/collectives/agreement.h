#pragma once
// Agreement among ranks: facts they exchange and must have in common before they compute together.

#include <string>
#include <string_view>
#include <vector>

#include "tegula/dist/exchange/exchange.h"

namespace tegula::dist {

/// carry_out where it happens, with all that this thread has queued before it.
void exchange_now(const Group& group, const Collective& what, const void* in, void* out, const Line& where);

/// Everybody's, in the order of ranks. No item has a character 0.
std::vector<std::vector<std::string>> gather_items(const std::vector<std::string>& mine, const Group& group, const Line& where);

/// Throws Error on all ranks unless they say the same `items`, as many each: "got clip_norm 0 on rank 0 and clip_norm 0.3 on rank 1, expected …", with those that differ
/// between rank 0 and the first that says something else.
void require_alike(std::string_view op, const std::vector<std::string>& items, const std::string& expected, const Group& group,
                   const Line& where);

}  // namespace tegula::dist
