#pragma once
// Faults put into kernels, which the verifier or the machine must find.

#include <functional>

#include "tegula/simt/kernel/visit.h"

namespace tegula::test {

using simt::Expression;
using simt::Statement;

/// Takes out a statement, by making it a note.
template <class T>
std::function<bool(Statement&)> without() {
  return [](Statement& one) {
    if (!one.as<T>()) return false;
    one = simt::Note{"taken out"};
    return true;
  };
}
template <class T>
std::function<bool(Statement&)> changed(std::function<bool(T&)> change) {
  return [change](Statement& one) {
    auto* const what = one.as<T>();
    return what != nullptr && change(*what);
  };
}
/// Replaces the first part of the expression that is such a one.
inline bool replaced(Expression& whole, const std::function<bool(const Expression&)>& is,
                     const std::function<Expression(const Expression&)>& by) {
  bool found = false;
  simt::for_each_part(whole, [&](Expression& e) {
    if (found || !is(e)) return;
    found = true;
    e = by(Expression(e));
  });
  return found;
}
inline std::function<bool(const Expression&)> named(const char* name) {
  return [name](const Expression& e) { return e.is_name(name); };
}
inline std::function<bool(const Expression&)> operation(const char* sign) {
  return [sign](const Expression& e) { return e.kind == Expression::Kind::Binary && e.name == sign; };
}

}  // namespace tegula::test
