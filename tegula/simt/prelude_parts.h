#pragma once
// The pieces of prelude().

#include <string_view>

namespace tegula::gpu {

std::string_view prelude_words();   // arithmetic
std::string_view prelude_across();  // reductions and order across threads

}  // namespace tegula::gpu
