#pragma once
// A module that the library calls in the user's name, and its results as a list.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/graph/structure.h"

namespace tegula::nn {

namespace detail {

/// The parameters of a call operator; of none when it is a template or there are several.
template <class Call>
struct CallParameters {
  using Types = std::tuple<>;
};
template <class R, class M, class... P>
struct CallParameters<R (M::*)(P...)> {
  using Types = std::tuple<P...>;
};
template <class R, class M, class... P>
struct CallParameters<R (M::*)(P...) const> {
  using Types = std::tuple<P...>;
};

/// True if parameter I of M's call operator is an Arg, which carries a line. Looks at the declaration alone: no body is compiled for it.
template <class M, std::size_t I>
consteval bool takes_arg() {
  if constexpr (requires { &M::operator(); }) {
    using Types = typename CallParameters<decltype(&M::operator())>::Types;
    if constexpr (I < std::tuple_size_v<Types>) return std::is_same_v<std::remove_cvref_t<std::tuple_element_t<I, Types>>, Arg>;
  }
  return false;
}

template <class M, std::size_t I>
auto argument(const Tensor& x, const Line& where) {
  if constexpr (takes_arg<M, I>()) return Arg(x, where);
  else return x;
}

}  // namespace detail

/// The tensors that a module has given, in order: its result is one, a list, a pair or tuple, or a plain struct of these (nn::Recurrent). Empty ones are left out.
template <class R>
std::vector<Tensor> tensors_of(const R& result) {
  std::vector<Tensor> out;
  graph::walk(
      result,
      [&](const auto& part) {
        if (Tensor tensor = part; tensor.defined()) out.push_back(std::move(tensor));
      },
      [](const auto&) {});
  return out;
}

/// module(x[0], x[1], …), as if the call stood at `where`: a library layer's error about its input names that line.
template <class M, std::size_t... I>
std::vector<Tensor> call_at(const Line& where, M& module, const std::vector<Tensor>& x, std::index_sequence<I...>) {
  return tensors_of(module(detail::argument<M, I>(x[I], where)...));
}

}  // namespace tegula::nn
