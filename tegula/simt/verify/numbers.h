#pragma once
// Numbers that a verifier knows while it follows a thread's statements; those of registers and of memory are left out.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

class Numbers {
 public:
  static constexpr std::int64_t kTiles = std::int64_t{1} << 40;  // in place of the address of tiles

  void learn(Name name, const Expression& e) {
    if (const auto number = value(e)) known_[name.str()] = *number;
    else known_.erase(name.str());
  }
  /// The value with the first thread's and the first register's numbers.
  std::optional<std::int64_t> value(const Expression& e) const;

 protected:
  std::map<std::string, std::int64_t> known_;
};

/// The loop of the program whose first iteration stands ahead of it in the branch (passes/split_roles.h): where that holds for begin < end, the loop goes from one step
/// behind the begin to the end. Null where there is none.
const For* loop_behind_first(const Branch& branch);

}  // namespace tegula::simt
