#pragma once
// Walks over a kernel's statements and their expressions.

#include <type_traits>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// Calls f(block) for each block within the statement itself.
template <class S, class F>
void for_each_block(S& statement, F&& f) {
  std::visit(
      [&](auto& held) {
        auto& what = unboxed(held);
        using T = std::remove_const_t<std::remove_reference_t<decltype(what)>>;
        if constexpr (std::is_same_v<T, Loop> || std::is_same_v<T, EachOfVector> || std::is_same_v<T, For> || std::is_same_v<T, Scope> ||
                      std::is_same_v<T, CopyTile>)
          f(what.body);
        if constexpr (std::is_same_v<T, Branch>) f(what.then), f(what.otherwise);
      },
      statement.what);
}

/// Calls f(statement) for each statement of the block and of the blocks within, in the order of the text.
template <class B, class F>
void for_each_statement(B& block, F&& f) {
  for (auto& statement : block) {
    f(statement);
    for_each_block(statement, [&](auto& inner) { for_each_statement(inner, f); });
  }
}

/// Calls f(expression) for each expression of one kind of statement; not for those of blocks within, nor for parts of expressions.
template <class W, class F>
void for_each_expression_of(W& what, F&& f) {
  using T = std::remove_const_t<W>;
  const auto all = [&](auto&... expressions) { (f(expressions), ...); };
  if constexpr (std::is_same_v<T, Declare>) {
    if (what.value) f(*what.value);
  } else if constexpr (std::is_same_v<T, Assign>) all(what.target, what.value);
  else if constexpr (std::is_same_v<T, Keep> || std::is_same_v<T, Report>) all(what.value);
  else if constexpr (std::is_same_v<T, For>) {
    all(what.begin, what.end, what.step);
    if (what.when) f(*what.when);
  } else if constexpr (std::is_same_v<T, Branch>) all(what.when);
  else if constexpr (std::is_same_v<T, LoadWide>) {
    all(what.pointer, what.target);
    if (what.limited) all(what.limited->limit, what.limited->substitute);
  } else if constexpr (std::is_same_v<T, StoreWide>) {
    all(what.pointer, what.source);
    if (what.limited) all(what.limited->limit);
  } else if constexpr (std::is_same_v<T, StoreOne>) all(what.pointer, what.value);
  else if constexpr (std::is_same_v<T, Atomic>) {
    all(what.pointer, what.value);
    if (what.compared) f(*what.compared);
    if (what.target) f(*what.target);
  } else if constexpr (std::is_same_v<T, WriteInOrder>) all(what.count, what.owners, what.owner);
  else if constexpr (std::is_same_v<T, Show>) all(what.value, what.index);
  else if constexpr (std::is_same_v<T, Philox>) all(what.seed, what.counter, what.target);
  else if constexpr (std::is_same_v<T, Shuffle>) all(what.target, what.source, what.distance);
  else if constexpr (std::is_same_v<T, ReadMatrices>) all(what.place, what.target);
  else if constexpr (std::is_same_v<T, WriteMatrices>) all(what.place, what.source);
  else if constexpr (std::is_same_v<T, SendWide>) all(what.place, what.block, what.source);
  else if constexpr (std::is_same_v<T, PackFragment>) all(what.source, what.target);
  else if constexpr (std::is_same_v<T, MultiplyFragments>) all(what.upper, what.lower, what.left, what.right);
  else if constexpr (std::is_same_v<T, MultiplyTile>) {
    all(what.upper, what.lower, what.right.place);
    if (what.registers) f(*what.registers);
    else f(what.left.place);
  } else if constexpr (std::is_same_v<T, CopyAsync>) all(what.source, what.place);
  else if constexpr (std::is_same_v<T, CopyAhead>) all(what.place, what.source, what.inside);
  else if constexpr (std::is_same_v<T, BeginCounters> || std::is_same_v<T, EndCounters>) all(what.place);
  else if constexpr (std::is_same_v<T, ExpectBytes>) all(what.counter);
  else if constexpr (std::is_same_v<T, Arrive>) {
    f(what.counter);
    if (what.block) f(*what.block);
  } else if constexpr (std::is_same_v<T, AwaitBytes>) all(what.counter, what.parity);
  else if constexpr (std::is_same_v<T, NumberedBarrier>) all(what.number);
  else if constexpr (std::is_same_v<T, CopyBox>) {
    all(what.place, what.counter, what.x, what.y);
    if (!what.inside) all(what.pointer, what.columns, what.rows, what.stride);
    for (auto& one : what.planes) f(one);
  } else if constexpr (std::is_same_v<T, StoreBox>) {
    all(what.place, what.x, what.y);
    if (!what.inside) all(what.pointer, what.columns, what.rows, what.stride);
    for (auto& one : what.planes) f(one);
  } else if constexpr (std::is_same_v<T, Combine>) {
    for (auto& one : what.registers) f(one);
  }
}

/// Calls f(expression) for each expression of the statement itself, that of its condition first.
template <class S, class F>
void for_each_expression(S& statement, F&& f) {
  if (statement.when) f(*statement.when);
  std::visit([&](auto& held) { for_each_expression_of(unboxed(held), f); }, statement.what);
}

/// Calls f(expression) for each expression that names registers which the statement itself writes; what it declares has none.
template <class S, class F>
void for_each_target(S& statement, F&& f) {
  std::visit(
      [&](auto& held) {
        auto& what = unboxed(held);
        using T = std::remove_const_t<std::remove_reference_t<decltype(what)>>;
        if constexpr (std::is_same_v<T, Assign> || std::is_same_v<T, LoadWide> || std::is_same_v<T, Philox> || std::is_same_v<T, Shuffle> ||
                      std::is_same_v<T, ReadMatrices> || std::is_same_v<T, PackFragment>)
          f(what.target);
        else if constexpr (std::is_same_v<T, MultiplyFragments> || std::is_same_v<T, MultiplyTile>) f(what.upper), f(what.lower);
        else if constexpr (std::is_same_v<T, Atomic>) {
          if (what.target) f(*what.target);
        } else if constexpr (std::is_same_v<T, Combine>) {
          for (auto& one : what.registers) f(one);
        }
      },
      statement.what);
}

/// Calls f(part) for the expression and all parts of it, the whole first.
template <class E, class F>
void for_each_part(E& expression, F&& f) {
  f(expression);
  for (auto& operand : expression.operands) for_each_part(operand, f);
}

}  // namespace tegula::simt
