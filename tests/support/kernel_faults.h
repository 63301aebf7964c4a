#pragma once
// Faults put into kernels, which the verifier or the machine must find.

#include <functional>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/verify.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {

using simt::Expression;
using simt::Statement;

struct Fault {
  std::string name;
  std::function<bool(Statement&)> put;  // into the statement; false where it is none of its places
  std::size_t place = 0;  // which of the places; all from there on if `all`
  bool all = false;
};

/// Takes out a statement, by making it a note.
template <class T>
std::function<bool(Statement&)> without() {
  return [](Statement& one) { return one.as<T>() != nullptr && (one = simt::Note{"taken out"}, true); };
}
/// `change` of the statement; where it returns a bool, false says that this is none of the fault's places.
template <class T, class F>
std::function<bool(Statement&)> changed(F change) {
  return [change](Statement& one) {
    auto* const what = one.as<T>();
    if constexpr (std::is_void_v<std::invoke_result_t<F, T&>>) return what != nullptr && (change(*what), true);
    else return what != nullptr && change(*what);
  };
}
/// The variable does not change.
inline std::function<bool(Statement&)> stays(const char* name) {
  return [name](Statement& one) {
    auto* const assign = one.as<simt::Assign>();
    return assign != nullptr && assign->target.is_name(name) && (assign->value = simt::Expression(name), true);
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

/// Each of the faults is found in the kernel of the sample: by the verifier, or by the machine at one of the paces, with the first warp ahead or the last.
inline void expect_found(const std::vector<Fault>& faults, const Sample& sample,
                         const std::vector<Pace>& paces = {Pace::Even, Pace::Even, Pace::Uneven, Pace::Uneven}) {
  for (const Fault& fault : faults) {
    std::size_t places = 0;
    std::vector<std::string> verified;
    const auto put = [&](simt::Kernel& kernel) {
      places = 0;
      for (simt::Block* const block : {&kernel.begin, &kernel.body, &kernel.end}) {
        simt::for_each_statement(*block, [&](Statement& statement) {
          Statement changed = statement;
          if (!fault.put(changed)) return;
          const std::size_t place = places++;
          if (place == fault.place || (fault.all && place >= fault.place)) statement = std::move(changed);
        });
      }
      verified = simt::faults(kernel);
    };
    bool shows = false;
    for (const Pace pace : paces) {
      if (shows) break;
      try {
        shows = shows || !emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace, .change_kernel = put});
      } catch (const Error&) { shows = true; }
    }
    EXPECT_GT(places, fault.place) << fault.name;
    EXPECT_TRUE(shows || !verified.empty()) << fault.name;
    std::cout << fault.name << ": " << (verified.empty() ? "" : "verifier ") << (shows ? "machine" : "") << "\n";
  }
}

}  // namespace tegula::gpu
