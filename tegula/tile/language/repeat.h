#pragma once
// Words that were recorded into one builder, said again to another.

#include <map>

#include "tegula/tile/builder.h"

namespace tegula::tile::language {

/// Says the words of a region of `from` again, to `to`. `known`: what stands for values of `from`; those of the region are added. Words that are made of
/// placeholders alone are left out.
void repeat(const Builder& from, const Region& region, Builder& to, std::map<Id, Value>& known);

}  // namespace tegula::tile::language
