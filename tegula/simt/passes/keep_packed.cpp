#include "tegula/simt/passes/keep_packed.h"

#include <algorithm>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

/// Calls f(expression) for every part of every expression of the statement and of those within.
template <class F>
void for_each_part_within(const Statement& statement, F&& f) {
  const auto all = [&](const Statement& one) { for_each_expression(one, [&](const Expression& e) { for_each_part(e, f); }); };
  all(statement);
  for_each_block(statement, [&](const Block& inner) { for_each_statement(inner, all); });
}
template <class F>
bool any_within(const Statement& statement, F&& holds) {
  bool found = holds(statement);
  for_each_block(statement,
                 [&](const Block& inner) { for_each_statement(inner, [&](const Statement& one) { found = found || holds(one); }); });
  return found;
}

bool names(const Expression& e, Name name) {
  using Kind = Expression::Kind;
  return (e.kind == Kind::Name || e.kind == Kind::Held || e.kind == Kind::Element) && e.name == name;
}
bool reads(const Statement& statement, Name name) {
  bool found = false;
  for_each_part_within(statement, [&](const Expression& e) { found = found || names(e, name); });
  return found;
}
bool stores(const Statement& statement) {
  return any_within(statement, [](const Statement& one) { return one.as<StoreWide>() || one.as<StoreOne>(); });
}
bool combines_columns(const Statement& statement) {
  return any_within(statement, [](const Statement& one) {
    const auto* const combine = one.as<Combine>();
    return combine && combine->how == Combine::How::Columns;
  });
}

class Keeper {
 public:
  void walk(Block& block) {
    const std::size_t known = packed_.size();
    const std::size_t depth = behind_.size();
    behind_.emplace_back();
    Block out;
    out.reserve(block.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      behind_[depth] = {block.data() + i + 1, block.data() + block.size()};
      Statement& statement = block[i];
      if (statement.as<Reduced>()) {
        for (const Packed& one : packed_)
          if (read_later(one.name)) out.push_back(Keep{one.name});
        continue;
      }
      follow(statement, out);
      out.push_back(std::move(statement));
    }
    block = std::move(out);
    behind_.resize(depth);
    packed_.resize(known);
  }

 private:
  struct Packed {
    Name name;
    bool late = false;  // loaded behind a reduction over columns, and not stored yet
  };
  struct Rest {
    const Statement *first = nullptr, *last = nullptr;
  };

  bool read_later(Name name) const {
    return std::ranges::any_of(behind_, [&](const Rest& rest) {
      return std::any_of(rest.first, rest.last, [&](const Statement& one) { return reads(one, name); });
    });
  }

  void follow(Statement& statement, Block& out) {
    if (const auto* declare = statement.as<Declare>(); declare && declare->what.type.kind == Type::Kind::Packed)
      packed_.push_back({declare->what.name});
    auto* const loop = statement.as<For>();
    const auto* const branch = statement.as<Branch>();
    if ((loop && loop->program) || (branch && branch->of_program) || statement.as<Scope>()) {
      if (loop && combines_columns(statement)) crossed_ = true;  // in the iteration before
      return for_each_block(statement, [&](Block& inner) { walk(inner); });
    }
    crossed_ = crossed_ || combines_columns(statement);
    const bool late = std::ranges::any_of(packed_, &Packed::late);
    if (late && stores(statement)) {
      for (Packed& one : packed_)
        if (one.late && reads(statement, one.name)) one.late = false, out.push_back(Keep{one.name});
    }
    if (crossed_ && !packed_.empty()) note_loads(statement);
  }
  void note_loads(const Statement& statement) {
    any_within(statement, [&](const Statement& one) {
      if (const auto* load = one.as<LoadWide>())
        for (Packed& value : packed_) value.late = value.late || names(load->target, value.name);
      return false;
    });
  }

  std::vector<Packed> packed_;  // that are declared around
  std::vector<Rest> behind_;    // the rest of the open blocks
  bool crossed_ = false;        // columns have been brought together
};

bool has_packed(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& one) {
    const auto* const declare = one.as<Declare>();
    found = found || one.as<Reduced>() || (declare && declare->what.type.kind == Type::Kind::Packed);
  });
  return found;
}

}  // namespace

void keep_packed(Kernel& kernel) {
  if (has_packed(kernel.body)) Keeper().walk(kernel.body);
}

}  // namespace tegula::simt
