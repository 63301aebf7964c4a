#pragma once
// What Variables are called: the names under which parameters(net) listed them last. For messages; nothing depends on them.

#include <cstdint>
#include <string>

#include "tegula/graph/variable.h"

namespace tegula {

void remember_names(const Parameters& parameters);
/// Of the Variable whose value it is (Node::cell_number()), "" when there is none or it has no name.
std::string variable_name(const Node& node);
/// By a cell that goes.
void forget_name(std::uint32_t cell_number);

}  // namespace tegula
