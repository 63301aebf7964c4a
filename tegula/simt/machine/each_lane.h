#pragma once
// A function of one lane as a function of a warp's.

#include <cstring>
#include <type_traits>
#include <utility>

#include "tegula/simt/machine/lanes.h"

namespace tegula::simt {

template <class T>
using LaneOf = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>;

template <class T>
constexpr Number number_for() {
  if constexpr (std::is_same_v<T, bool>) return Number::Boolean;
  else if constexpr (std::is_same_v<T, float>) return Number::F32;
  else if constexpr (std::is_same_v<T, double>) return Number::F64;
  else if constexpr (std::is_pointer_v<T>) return Number::Address;
  else if constexpr (std::is_signed_v<T>) return sizeof(T) == 8 ? Number::I64 : Number::I32;
  else return sizeof(T) == 8 ? Number::U64 : Number::U32;
}

template <auto kFunction, class Out, class... In>
struct EachLane {
  static void run(std::byte* out, const std::byte* const* operands) { all(out, operands, std::index_sequence_for<In...>()); }

 private:
  template <std::size_t... kIndex>
  static void all(std::byte* out, const std::byte* const* operands, std::index_sequence<kIndex...>) {
    LaneOf<Out> results[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      results[lane] = static_cast<LaneOf<Out>>(kFunction(static_cast<In>(reinterpret_cast<const LaneOf<In>*>(operands[kIndex])[lane])...));
    std::memcpy(out, results, sizeof results);
  }
};

template <auto kFunction, class Out, class... In>
constexpr Function entry_of(std::string_view name, Out (*)(In...)) {
  Function function{.name = name, .result = number_for<Out>(), .count = sizeof...(In), .run = &EachLane<kFunction, Out, In...>::run};
  int k = 0;
  ((function.operands[k++] = number_for<In>()), ...);
  return function;
}
/// `kFunction`: a lambda without captures.
template <auto kFunction>
constexpr Function entry(std::string_view name) {
  return entry_of<kFunction>(name, +kFunction);
}

}  // namespace tegula::simt
