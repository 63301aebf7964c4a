#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

std::optional<std::int64_t> Numbers::value(const Expression& e) const {
  using Kind = Expression::Kind;
  switch (e.kind) {
    case Kind::Name:
      if (const auto known = known_.find(e.name.str()); known != known_.end()) return known->second;
      if (e.is_name("tiles")) return kTiles;
      for (const char* const zero : {"threadIdx.x", "tr", "tc", "shared"})
        if (e.is_name(zero)) return 0;
      return {};
    case Kind::Integer: return e.integer;
    case Kind::Number: return is_float(e.type.dtype) ? std::nullopt : std::optional(e.integer);
    case Kind::Group:
    case Kind::Reinterpret:
    case Kind::Cast: return value(e.operands[0]);
    case Kind::Choose: {
      const auto when = value(e.operands[0]);
      return when ? value(e.operands[*when ? 1 : 2]) : std::nullopt;
    }
    case Kind::Binary: {
      const auto a = value(e.operands[0]), b = value(e.operands[1]);
      if (!a || !b) return {};
      const auto number = [&](const char* sign) { return e.name == sign; };
      if (number("+")) return *a + *b;
      if (number("-")) return *a - *b;
      if (number("*")) return *a * *b;
      if (number("/")) return *b == 0 ? std::nullopt : std::optional(*a / *b);
      if (number("%")) return *b == 0 ? std::nullopt : std::optional(*a % *b);
      if (number("&")) return *a & *b;
      if (number("^")) return *a ^ *b;
      if (number(">>")) return *a >> *b;
      if (number("<")) return *a < *b;
      if (number(">=")) return *a >= *b;
      if (number("&&")) return *a != 0 && *b != 0;
      if (number("==")) return *a == *b;
      return {};
    }
    default: return {};
  }
}

const For* loop_behind_first(const Branch& branch) {
  const Expression& when = branch.when;
  if (when.kind != Expression::Kind::Binary || !(when.name == "<")) return nullptr;
  for (const Statement& statement : branch.then) {
    const auto* const loop = statement.as<For>();
    if (loop && loop->program && loop->begin == when.operands[0] + loop->step && loop->end == when.operands[1]) return loop;
  }
  return nullptr;
}

}  // namespace tegula::simt
