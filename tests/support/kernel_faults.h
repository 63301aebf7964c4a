#pragma once
// Faults put into kernels, which the verifier or the machine must find.

#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/verify.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {

using simt::Statement;

struct Fault {
  std::string name;
  std::function<bool(Statement&)> put;  // into the statement; false where it is none of its places
  std::size_t place = 0;  // which of the places; all from there on if `all`
  bool all = false;
};
template <class T>
std::function<bool(Statement&)> without() {
  return [](Statement& one) { return one.as<T>() != nullptr && (one = simt::Note{"taken out"}, true); };
}
template <class T>
std::function<bool(Statement&)> changed(std::function<void(T&)> change) {
  return [change](Statement& one) {
    auto* const what = one.as<T>();
    return what != nullptr && (change(*what), true);
  };
}
/// The variable does not change.
inline std::function<bool(Statement&)> stays(const char* name) {
  return [name](Statement& one) {
    auto* const assign = one.as<simt::Assign>();
    return assign != nullptr && assign->target.is_name(name) && (assign->value = simt::Expression(name), true);
  };
}

/// Each of the faults, in the kernel of the sample: by the verifier, or by the machine at an even pace, with the first warp ahead or the last, or at an uneven one.
inline void expect_found(const std::vector<Fault>& faults, const Sample& sample) {
  for (const Fault& fault : faults) {
    std::size_t places = 0;
    std::vector<std::string> verified;
    const auto put = [&](simt::Kernel& kernel) {
      places = 0;
      for (simt::Block* const block : {&kernel.begin, &kernel.body}) {
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
    for (const Pace pace : {Pace::Even, Pace::Even, Pace::Uneven, Pace::Uneven}) {
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
