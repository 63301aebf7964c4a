#pragma once
// Words that were recorded into one builder, said again to another.

#include <map>
#include <optional>

#include "tegula/tile/builder.h"

namespace tegula::tile::language {

/// Says the words of a region of `from` again, to `to`. `known`: what stands for values of `from`; those of the region are added. Words that are made of
/// placeholders alone are left out.
void repeat(const Builder& from, const Region& region, Builder& to, std::map<Id, Value>& known);

/// A value of a loop's body, said in front of the loop, where it is the same in all iterations: made of constants and of `fixed`, which is added to.
std::optional<Value> say_unchanging(const Program& from, Id id, Builder& to, std::map<Id, Value>& fixed);

}  // namespace tegula::tile::language
