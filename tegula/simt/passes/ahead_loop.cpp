#include "tegula/simt/passes/ahead_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tegula::simt {

AheadLoop::AheadLoop(For loop) : loop_(std::move(loop)) {
  const auto own = loop_.body.begin() + static_cast<std::ptrdiff_t>(loop_.program->own);
  carried_.assign(std::make_move_iterator(own), std::make_move_iterator(loop_.body.end()));
  loop_.body.erase(own, loop_.body.end());
}

void AheadLoop::find_addresses(std::span<const Ring::Address> addresses) {
  for (const Ring::Address& one : addresses) {
    for (const Statement& statement : loop_.body) {
      const auto* const declare = statement.as<Declare>();
      if (!declare || !(declare->what.name == one.value)) continue;
      if (one.where.line() != 0) addresses_.push_back(Origin{one.where});
      addresses_.push_back(*declare);
      break;
    }
  }
}

void AheadLoop::touch(const Expression& pointer, Block& out) const {
  for (const Statement& statement : loop_.body) {
    const auto* const touch = statement.as<Touch>();
    if (!touch || !(touch->pointer == pointer) || touch->writes) continue;
    out.push_back(*touch);
    return;
  }
}

Statement AheadLoop::let(Name name, Expression value) const {
  return Declare{.what = {name, loop_.type, {}}, .value = std::move(value), .constant = true};
}

void AheadLoop::close(Block body, int stages, Block behind) {
  std::ranges::move(loop_.body, std::back_inserter(body));
  std::ranges::move(behind, std::back_inserter(body));
  body.push_back(Assign{.target = "stage", .value = choose(binary("stage", "==", stages - 1), 0, Expression("stage") + 1)});
  std::ranges::move(carried_, std::back_inserter(body));
  loop_.body = std::move(body);
}

}  // namespace tegula::simt
