#pragma once
// Modules are plain structs: no base class, no registration. One walk over the fields finds parameters, buffers and flags, with names.
//
//   struct Block {                              // an aggregate: its fields are found by the compiler
//     int in, out;                              // plain values are skipped; later fields see them
//     nn::Conv2d conv1{in, out, 3, {.padding = Same}};
//     std::optional<nn::Conv2d> down;
//     Tensor operator()(Tensor x);
//   };
//   class Net {                                 // with a constructor, a base or private members: the fields are listed, after the members
//     std::vector<Block> blocks_;
//    public:
//     explicit Net(int depth);
//     static constexpr auto fields = nn::fields<&Net::blocks_>;
//   };
//
// Fields may be Variables (trained), nn::Buffers (saved, not trained), nn::NonPersistentBuffers (neither), Flags (train or eval), layers, further structs, and std::vector,
// std::array, std::optional, std::unique_ptr of these. Names are PyTorch's: "blocks.0.conv1.weight"; a trailing underscore is left out.
// A vector of such structs is filled by nn::repeat (below) or a function of yours, std::vector<Block> blocks = stage(64, 3); copies of one
// block would begin with equal weights, and GCC 13.3 (Ubuntu 24.04) fails with an internal error on a default like = {{1, 2}, {2, 3}}.

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/reflect.h"
#include "tegula/dist/parallel/split.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/random.h"
#include "tegula/ops/shape/window.h"

namespace tegula::nn {

/// State that is saved but not trained: running statistics, counters.
class Buffer : public Variable {
 public:
  Buffer() = default;
  Buffer(const Tensor& value, Line where = Line::current()) : Variable(value, where) {}
  Buffer& operator=(const Tensor& value) {
    Variable::operator=(value);
    return *this;
  }
};

/// State that is neither trained nor saved: recomputable values, caches. (A constant is a Tensor field.)
class NonPersistentBuffer : public Variable {
 public:
  NonPersistentBuffer() = default;
  NonPersistentBuffer(const Tensor& value, Line where = Line::current()) : Variable(value, where) {}
  NonPersistentBuffer& operator=(const Tensor& value) {
    Variable::operator=(value);
    return *this;
  }
};

/// The position of the walk: a chain of names up to the root.
struct Path {
  const Path* parent = nullptr;
  std::string_view name = {};  // a field's name; empty for elements of lists
  std::int64_t index = -1;  // the index of a list's element
  /// "blocks.1.conv2.bias"
  std::string text() const;
};

/// A parameter of a layer that ranks can share out: the axes that its columns and its rows lie along, and how many equal blocks its columns fall into.
struct SplitField {
  static constexpr int kNone = -1;  // stays whole
  Variable* field;
  int columns = kNone, rows = kNone;
  std::int64_t blocks = 1;
};

/// The callbacks of a walk.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void parameter(const Path&, Variable&) {}
  virtual void buffer(const Path&, Variable&) {}
  virtual void non_persistent_buffer(const Path&, Variable&) {}
  virtual void flag(const Path&, Flag&) {}
  /// The ranks over whose rows a layer takes its statistics while it trains (BatchNorm).
  virtual void statistics(const Path&, dist::Group&) {}
  /// Ahead of the parameters of a layer that ranks can share out.
  virtual void split(const Path&, dist::Split&, std::initializer_list<SplitField>) {}
};

/// The listed fields of a class: static constexpr auto fields = nn::fields<&Net::conv1, &Net::head>;
template <auto... Members>
struct Fields {};
template <auto... Members>
inline constexpr Fields<Members...> fields{};

namespace detail {
template <class T>
consteval bool is_module_pointer();
}

/// Types that hold nothing to be found. Specialise for types of your own that a module carries along: template <> inline constexpr bool
/// tegula::nn::kPlain<Clock> = true; also for a pointer to a module that somebody else owns, which is refused otherwise.
template <class T>
inline constexpr bool kPlain =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_empty_v<T> || (std::is_pointer_v<T> && !detail::is_module_pointer<T>());
template <>
inline constexpr bool kPlain<std::string> = true;
template <>
inline constexpr bool kPlain<std::string_view> = true;
template <>
inline constexpr bool kPlain<Tensor> = true;  // a constant
template <>
inline constexpr bool kPlain<Dims> = true;
template <>
inline constexpr bool kPlain<PerAxis> = true;
template <>
inline constexpr bool kPlain<Padding> = true;
template <>
inline constexpr bool kPlain<Generator*> = true;  // a layer that drops or draws refers to it; its owner saves it

/// Library layers and containers list their state themselves.
template <class T>
concept Visitable = requires(T& x, Visitor& visitor, const Path& path) { x.visit(visitor, path); };

namespace detail {

inline void visit_leaf(Variable& x, Visitor& visitor, const Path& path) {
  if (x.defined()) visitor.parameter(path, x);
}
inline void visit_leaf(Buffer& x, Visitor& visitor, const Path& path) {
  if (x.defined()) visitor.buffer(path, x);
}
inline void visit_leaf(NonPersistentBuffer& x, Visitor& visitor, const Path& path) {
  if (x.defined()) visitor.non_persistent_buffer(path, x);
}
inline void visit_leaf(Flag& x, Visitor& visitor, const Path& path) { visitor.flag(path, x); }
void visit_leaf(Generator& x, Visitor& visitor, const Path& path);  // "seed" and "counter" are buffers

template <class T>
inline constexpr bool kLeaf = false;
template <>
inline constexpr bool kLeaf<Variable> = true;
template <>
inline constexpr bool kLeaf<Buffer> = true;
template <>
inline constexpr bool kLeaf<NonPersistentBuffer> = true;
template <>
inline constexpr bool kLeaf<Flag> = true;
template <>
inline constexpr bool kLeaf<Generator> = true;

template <class T>
inline constexpr bool kList = false;
template <class T, class A>
inline constexpr bool kList<std::vector<T, A>> = true;
template <class T, std::size_t N>
inline constexpr bool kList<std::array<T, N>> = true;

template <class T>
concept MapLike = requires { typename T::mapped_type; };
/// A map whose values are modules; one of plain values is skipped by kPlain, if its type says so.
template <class T>
inline constexpr bool kMap = false;
template <MapLike T>
inline constexpr bool kMap<T> = true;

template <class T>
inline constexpr bool kMaybe = false;
template <class T>
inline constexpr bool kMaybe<std::optional<T>> = true;
template <class T, class D>
inline constexpr bool kMaybe<std::unique_ptr<T, D>> = true;

/// True if F holds state by itself, independently of its fields.
template <class F>
inline constexpr bool kStateful = kLeaf<F> || Visitable<F> || requires { F::fields; };
template <class T, std::size_t... I>
consteval bool any_stateful(std::index_sequence<I...>) {
  using Fields = decltype(reflect::tie<sizeof...(I)>(std::declval<T&>()));
  return (kStateful<std::remove_pointer_t<std::tuple_element_t<I, Fields>>> || ...);
}
/// True for a pointer to a layer, a Variable, or a plain struct with one of these as a field. The fields of an incomplete type are unknown.
template <class T>
consteval bool is_module_pointer() {
  using To = std::remove_const_t<std::remove_pointer_t<T>>;
  if constexpr (requires { sizeof(To); }) {
    if constexpr (kStateful<To>) return true;
    else if constexpr (std::is_class_v<To> && std::is_aggregate_v<To> && !std::is_empty_v<To>) {
      if constexpr (constexpr int n = reflect::count<To>(); n > 0 && !reflect::HasBase<To>)
        return any_stateful<To>(std::make_index_sequence<n>());
    }
  }
  return false;
}

constexpr std::string_view without_underscore(std::string_view name) {
  if (name.size() > 1 && name.back() == '_') name.remove_suffix(1);
  return name;
}

}  // namespace detail

/// True if the fields of T can be found, as far as that is known without looking at them.
template <class T>
inline constexpr bool kFindable = kPlain<T> || detail::kLeaf<T> || Visitable<T> || detail::kMaybe<T> || detail::kList<T> ||
                                  requires { T::fields; } || (std::is_class_v<T> && std::is_aggregate_v<T>);

/// Walks over x, which may be a module, a container of modules or a single Variable.
template <class T>
void visit(T& x, Visitor& visitor, const Path& path = {});

namespace detail {

template <class T, auto... Members>
void visit_members(T& x, Fields<Members...>, Visitor& visitor, const Path& path) {
  (nn::visit(x.*Members, visitor, Path{&path, without_underscore(reflect::member_name<Members>())}), ...);
}

/// `field` points to it, for compilers show the arguments of templates: &fake.value.activation.
template <class Struct, reflect::Pointer field, class Field>
void field_that_cannot_be_walked() {
  static_assert(
      !std::is_pointer_v<Field>,
      "tegula: this field is a plain pointer to a module, which is not walked. Hold the module by value, or in a std::unique_ptr; if "
      "somebody else owns it and lists its parameters, say so: template <> inline constexpr bool tegula::nn::kPlain<Net*> = true;");
  static_assert(std::is_pointer_v<Field>,
                "tegula: this field cannot be walked, because its type has a constructor or private members, or virtual functions, "
                "or a base class with one of these, or is a lambda with captures (which hides the layers it holds: make it a struct). "
                "List the fields of its type, after the members: "
                "static constexpr auto fields = tegula::nn::fields<&Net::a, &Net::b>; or, if it holds no layers, say so: "
                "template <> inline constexpr bool tegula::nn::kPlain<Type> = true;");
}

template <class T, int Count, std::size_t I, class Field>
void visit_field(Field& field, Visitor& visitor, const Path& path) {
  if constexpr (kFindable<Field> || kMap<Field>) nn::visit(field, visitor, Path{&path, without_underscore(reflect::kNames<T, Count>[I])});
  else field_that_cannot_be_walked<T, reflect::field<T, Count, I>(), Field>();
}

template <class T>
void visit_aggregate(T& x, Visitor& visitor, const Path& path) {
  constexpr int n = reflect::count<T>();
  static_assert(n > 0 || !reflect::has_reference<T>(),
                "tegula: a field of this struct is a reference or an array, which cannot be walked, or copied with the module. Hold the "
                "layer by value "
                "or in a std::unique_ptr, use std::array; of a layer that somebody else owns, list the other fields: "
                "static constexpr auto fields = tegula::nn::fields<&Net::a, &Net::b>;");
  static_assert(
      n > 0 || reflect::has_reference<T>(),
      "tegula: the fields of this struct cannot be counted, because it has too many of them, an array among them (use std::array), or a "
      "reference. List those that matter, after the members: static constexpr auto fields = tegula::nn::fields<&Net::a, &Net::b>;");
  if constexpr (n > 0) {
    auto fields = reflect::tie<n>(x);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit_field<T, n, I>(*std::get<I>(fields), visitor, path), ...);
    }(std::make_index_sequence<n>{});
  }
}

}  // namespace detail

template <class T>
void visit(T& x, Visitor& visitor, const Path& path) {
  if constexpr (kPlain<T>) {
  } else if constexpr (detail::kLeaf<T>) {
    detail::visit_leaf(x, visitor, path);
  } else if constexpr (Visitable<T>) {
    x.visit(visitor, path);
  } else if constexpr (detail::kMaybe<T>) {
    if (x) nn::visit(*x, visitor, path);
  } else if constexpr (detail::kList<T>) {
    if constexpr (!kPlain<typename T::value_type>) {
      std::int64_t i = 0;
      for (auto& element : x) nn::visit(element, visitor, Path{&path, {}, i++});
    }
  } else if constexpr (detail::kMap<T>) {
    static_assert(
        !detail::kMap<T>,
        "tegula: a map of layers cannot be walked: the names of parameters are those of fields. Use a struct with a field for each "
        "layer, or a std::vector of layers with a map from names to positions beside it");
  } else if constexpr (requires { T::fields; }) {
    detail::visit_members(x, T::fields, visitor, path);
  } else {
    static_assert(kFindable<T>,
                  "tegula: the fields of this type cannot be found, because it has a constructor or private members, or virtual functions, "
                  "or a base class with one of these, or is a lambda with captures (which hides the layers it holds: make it a struct). "
                  "List the fields, after the members: "
                  "static constexpr auto fields = tegula::nn::fields<&Net::a, &Net::b>; or, if it holds no layers, say so: "
                  "template <> inline constexpr bool tegula::nn::kPlain<Type> = true;");
    if constexpr (kFindable<T>) {
      static_assert(!reflect::HasBase<T>,
                    "tegula: the fields of this type cannot be found, because it has a base class. List them, after the members: "
                    "static constexpr auto fields = tegula::nn::fields<&Net::a, &Net::b>;");
      if constexpr (!reflect::HasBase<T>) detail::visit_aggregate(x, visitor, path);
    }
  }
}

/// n modules, each made by a call of its own and so with weights of its own:
///   std::vector<Block> blocks = nn::repeat(n, [&] { return Block{width, heads}; });   // make may take the number, from 0
/// std::vector<Block>(n, Block{width, heads}) makes one block and copies it: all begin with equal weights.
template <class Make>
auto repeat(std::int64_t n, Make make) {
  const auto one = [&](std::int64_t i) {
    if constexpr (std::is_invocable_v<Make&, std::int64_t>) return make(i);
    else return static_cast<void>(i), make();
  };
  std::vector<decltype(one(0))> modules;
  modules.reserve(n > 0 ? static_cast<std::size_t>(n) : 0);
  for (std::int64_t i = 0; i < n; ++i) modules.push_back(one(i));
  return modules;
}

/// The argument type of the walks below: anything but a tensor.
template <class T>
concept Module = !std::is_convertible_v<T&, Tensor>;

/// A module behind a pointer, so that functions over it compile once.
class AnyModule {
 public:
  template <Module T>
  AnyModule(const T& module)  // constness is shallow: cells are handles
      : object_(const_cast<T*>(&module)),
        visit_([](void* object, Visitor& visitor) { nn::visit(*static_cast<T*>(object), visitor); }) {}
  void visit(Visitor& visitor) const { visit_(object_, visitor); }

 private:
  void* object_;
  void (*visit_)(void*, Visitor&);
};

/// Everything a checkpoint of the module holds: parameters and buffers, in the order of the fields.
Parameters state(const AnyModule& module);

namespace detail {
Parameters parameters(const AnyModule& module);
void set_training(const AnyModule& module, bool training);
std::int64_t num_parameters(const AnyModule& module);
}  // namespace detail
}  // namespace tegula::nn

namespace tegula {

/// The trained state with names, in the order of the fields: "conv1.weight", "conv1.bias", … Handles to the cells, not copies.
/// Throws Error when the same cell appears under two names (tie weights by using one of them twice).
template <nn::Module T>
Parameters parameters(const T& module) {
  return nn::detail::parameters(module);
}
/// Switches the layers that behave differently in training (Dropout, BatchNorm): new modules are in training mode. A jit-ed function
/// that reads the mode is traced once for each.
template <nn::Module T>
void train(T& module) {
  nn::detail::set_training(module, true);
}
template <nn::Module T>
void eval(T& module) {
  nn::detail::set_training(module, false);
}
/// The number of trained numbers.
template <nn::Module T>
std::int64_t num_parameters(const T& module) {
  return nn::detail::num_parameters(module);
}

}  // namespace tegula
