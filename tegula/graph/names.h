#pragma once
// The names of Variables: those under which parameters(net) listed them last. For messages only.

#include <cstdint>
#include <string>

#include "tegula/graph/variable.h"

namespace tegula {

void remember_names(const Parameters& parameters);
/// The name of the Variable whose value the node is (Node::cell_number()); "" if it is none, or has no name.
std::string variable_name(const Node& node);
/// Called by a cell that goes.
void forget_name(std::uint32_t cell_number);

}  // namespace tegula
