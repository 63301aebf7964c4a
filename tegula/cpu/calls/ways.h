#pragma once
// The ways in which the CPU computes a call, as a table: the first that suits is taken.

#include <memory>
#include <span>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/runtime/device.h"

namespace tegula::host {

template <class Description>
struct Way {
  bool (*suits)(const Description&);
  std::unique_ptr<runtime::Call> (*make)(const Description&);
  /// The forms in which the way would have the call, the best first; null: as it is described.
  std::vector<runtime::Candidate> (*forms)(const Description&) = nullptr;
};

template <class Description>
const Way<Description>& first_way(std::span<const Way<Description>> ways, const Description& description) {
  for (const Way<Description>& way : ways) {
    if (way.suits(description)) return way;
  }
  throw Error({.op = "cpu",
               .got = "a call that none of its ways suits",
               .expected = "a last way that suits all",
               .advice = "this is a bug in Tegula"});
}

template <class Description>
std::unique_ptr<runtime::Call> make_first(std::span<const Way<Description>> ways, const Description& description) {
  return first_way(ways, description).make(description);
}
/// The candidates of Device::candidates, from the first way that takes the description.
template <class Description>
std::vector<runtime::Candidate> forms_of_first(std::span<const Way<Description>> ways, const Description& description) {
  const Way<Description>& way = first_way(ways, description);
  return way.forms ? way.forms(description) : std::vector<runtime::Candidate>{{description}};
}

/// The answers to a question for any blocks: the call with its weight in the blocks of weight_blocks, if there are any, and without blocks.
template <class Description>
std::vector<runtime::Candidate> with_blocks(Description d, runtime::Operand Description::* weight) {
  (d.*weight).blocks = {};
  Description packed = d;
  (packed.*weight).blocks = weight_blocks(d);
  if ((packed.*weight).blocks) return {{packed}, {d}};
  return {{d}};
}

}  // namespace tegula::host
