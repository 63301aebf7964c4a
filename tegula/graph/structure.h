#pragma once
// Structures of tensors (JAX calls them pytrees): a Tensor, and a list, array, pair, tuple or plain struct of structures, taken apart into a flat
// list and put together again.

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/reflect.h"
#include "tegula/graph/attributes.h"
#include "tegula/graph/tensor.h"

namespace tegula::graph {

/// Calls leaf(x) for each value within `structure` that is a Tensor or converts to one, in order, and list(xs) for each list before its elements.
template <class T, class Leaf, class List>
void walk(T& structure, Leaf&& leaf, List&& list) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_convertible_v<const T&, Tensor>) {
    leaf(structure);
  } else if constexpr (requires { std::tuple_size<Plain>::value; }) {
    std::apply([&](auto&... parts) { (walk(parts, leaf, list), ...); }, structure);
  } else if constexpr (requires { structure.begin() != structure.end(); }) {
    list(structure);
    for (auto& part : structure) walk(part, leaf, list);
  } else if constexpr (!std::is_enum_v<Plain>) {
    static_assert(std::is_aggregate_v<Plain> && reflect::count<Plain>() > 0,
                  "tegula: expected a Tensor, a list, an array, a pair or tuple of Tensors, or a plain struct of these");
    std::apply([&](auto*... fields) { (walk(*fields, leaf, list), ...); }, reflect::tie<reflect::count<Plain>()>(structure));
  }
}

template <class T>
inline constexpr bool kVector = false;
template <class T>
inline constexpr bool kVector<std::vector<T>> = true;

template <class T>
consteval bool is_structure();
template <class... T>
consteval bool are_structures(std::tuple<T*...>*) {
  return (is_structure<T>() && ...);
}
/// True if T can be taken apart and put together again: it consists of Tensors alone, and its lists are std::vectors.
template <class T>
consteval bool is_structure() {
  if constexpr (std::is_same_v<T, Tensor>) {
    return true;
  } else if constexpr (kVector<T>) {
    return is_structure<typename T::value_type>();
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_structure<std::tuple_element_t<I, T>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    if constexpr (reflect::count<T>() > 0 && !reflect::HasBase<T>)
      return are_structures(static_cast<decltype(reflect::tie<reflect::count<T>()>(std::declval<T&>()))*>(nullptr));
    else return false;
  } else {
    return false;
  }
}

/// A structure taken apart: its tensors, and its form, which is the length of each list and for each Tensor whether there is one: empty ones stay empty.
struct Flat {
  std::vector<Tensor> tensors;
  Words form;
  void add(const Tensor& tensor);
  void add_list(std::size_t length);
};

template <class T>
Flat flatten_structure(const T& structure) {
  Flat flat;
  walk(structure, [&](const Tensor& tensor) { flat.add(tensor); }, [&](const auto& list) { flat.add_list(list.size()); });
  return flat;
}

/// A T built from the tensors and the words of its form; takes the tensors out of `next` unless that is const.
template <class T, class Source>
T build_structure(Source* next, const std::uint64_t* word) {
  T structure{};
  walk(
      structure,
      [&](Tensor& tensor) {
        if (*word++) tensor = std::move(*next++);
      },
      [&](auto& list) { list.resize(*word++); });
  return structure;
}

}  // namespace tegula::graph
