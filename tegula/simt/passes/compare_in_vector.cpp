#include "tegula/simt/passes/compare_in_vector.h"

#include <algorithm>
#include <utility>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

/// The value of the row that the expression compares the column with; nothing where it is something else.
const Expression* place_compared(const Expression& e) {
  const bool compares = e.kind == Expression::Kind::Binary && (e.name == "==" || e.name == "!=") && e.operands[0].is_name("col") &&
                        e.operands[1].kind == Expression::Kind::Call && e.operands[1].name == "place_of";
  return compares ? &e.operands[1].operands[0] : nullptr;
}

template <class B, class F>
void for_each_part_of(B& block, F&& f) {
  for_each_statement(block, [&](auto& statement) { for_each_expression(statement, [&](auto& e) { for_each_part(e, f); }); });
}

Loop elements(int count, Block body) {
  body.insert(body.begin(), Declare{.what = {"col", computed(DType::i32), {}}, .value = Expression("first") + "k", .constant = true});
  return {.name = "k", .end = count, .unroll = 0, .body = std::move(body)};
}

void walk(EachOfVector vector, Block& out) {
  out.push_back(Declare{.what = {"first", computed(DType::i32), {}}, .value = "col", .constant = true});
  std::vector<Expression> places;
  for_each_part_of(vector.body, [&](Expression& e) {
    const Expression* const place = place_compared(e);
    if (place != nullptr && std::ranges::find(places, *place) == places.end()) places.push_back(*place);
  });
  if (places.size() != 1) return out.push_back(elements(vector.count, std::move(vector.body)));
  Block others = vector.body;
  for_each_part_of(others, [&](Expression& e) {
    if (place_compared(e) != nullptr) e = number(std::int64_t{e.name == "!="}, DType::boolean);
  });
  const Type word{.kind = Type::Kind::Unsigned, .dtype = DType::i32};
  Expression count = number(std::int64_t{vector.count}, DType::i32);
  count.type = word;
  Branch branch{.when = cast(word, call("place_of", places[0]) - "first") < std::move(count)};
  branch.then.push_back(elements(vector.count, std::move(vector.body)));
  branch.otherwise.push_back(elements(vector.count, std::move(others)));
  out.push_back(std::move(branch));
}

bool has_vectors(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& statement) { found = found || statement.as<EachOfVector>() != nullptr; });
  return found;
}

void walk_all(Block& block) {
  if (!has_vectors(block)) return;
  Block out;
  for (Statement& statement : block) {
    for_each_block(statement, [](Block& inner) { walk_all(inner); });
    if (auto* vector = statement.as<EachOfVector>()) walk(std::move(*vector), out);
    else out.push_back(std::move(statement));
  }
  block = std::move(out);
}

}  // namespace

void compare_in_vector(Kernel& kernel) { walk_all(kernel.body); }

}  // namespace tegula::simt
