#pragma once
// The ways in which the CPU computes a call, as a table: the first that suits is taken.

#include <memory>
#include <span>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"

namespace tegula::host {

template <class Description>
struct Way {
  bool (*suits)(const Description&);
  std::unique_ptr<runtime::Call> (*make)(const Description&);
};

template <class Description>
std::unique_ptr<runtime::Call> make_first(std::span<const Way<Description>> ways, const Description& description) {
  for (const Way<Description>& way : ways) {
    if (way.suits(description)) return way.make(description);
  }
  throw Error({.op = "cpu", .got = "a call that none of its ways suits", .expected = "a last way that suits all", .advice = "this is a bug in Tegula"});
}

}  // namespace tegula::host
