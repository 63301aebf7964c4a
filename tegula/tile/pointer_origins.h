#pragma once
// Which parameters of a program a pointer may come from: through arithmetic, shapes, loops and branches.

#include <unordered_map>
#include <utility>
#include <vector>

#include "tegula/tile/ir.h"

namespace tegula::tile {

class PointerOrigins {
 public:
  /// `program` stays as it is meanwhile.
  explicit PointerOrigins(const Program& program);
  /// Places among the program's parameters, each once.
  std::vector<int> operator()(Id pointer) const;

 private:
  const Program& program_;
  std::unordered_map<Id, std::pair<Id, std::size_t>> carried_;  // region parameters of loops: the loop, and which of those carried
};

}  // namespace tegula::tile
