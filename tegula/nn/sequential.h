#pragma once
// Layers one after the other, and around a shortcut.

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/nn/linear.h"
#include "tegula/nn/module.h"

namespace tegula::nn {

/// Anything that maps a tensor to a tensor: a layer, a struct of the user's, a function, a lambda without captures. A copy holds copies.
class Layer {
 public:
  /// Not a template, so that overloaded names (relu, tanh) find their meaning.
  Layer(Tensor (*function)(Arg)) : Layer(Function{function}) {}
  template <class F>
  requires(!std::is_same_v<F, Layer> && (std::is_invocable_r_v<Tensor, F&, Arg> || std::is_invocable_r_v<Tensor, F&, Tensor>))
  Layer(F layer) : held_(std::make_unique<Holds<F>>(std::move(layer))) {
    static_assert(kFindable<F>,
                  "tegula: this layer is a lambda with captures, which hides the layers it holds: make it a struct with a call operator "
                  "(or it is a class whose fields are not listed: see tegula/nn/module.h)");
  }
  Layer(const Layer& other) : held_(other.held().clone()) {}
  Layer(Layer&& other) noexcept = default;
  Layer& operator=(const Layer& other) {
    held_ = other.held().clone();
    return *this;
  }
  Layer& operator=(Layer&& other) noexcept = default;
  ~Layer() = default;

  Tensor operator()(Arg x) { return held().call(x); }
  void visit(Visitor& visitor, const Path& path) { held().visit(visitor, path); }

 private:
  friend class Sequential;
  struct Held {
    virtual ~Held() = default;
    virtual Tensor call(const Arg& x) = 0;
    virtual std::unique_ptr<Held> clone() const = 0;
    virtual void visit(Visitor& visitor, const Path& path) = 0;
  };
  struct Function {
    Tensor (*f)(Arg);
    Tensor operator()(Arg x) const { return f(x); }
    void visit(Visitor&, const Path&) {}
  };
  template <class F>
  struct Holds final : Held {
    explicit Holds(F layer) : f(std::move(layer)) {}
    Tensor call(const Arg& x) override {
      if constexpr (std::is_invocable_r_v<Tensor, F&, Arg>) return f(x);
      else return f(x.tensor("Sequential"));
    }
    std::unique_ptr<Held> clone() const override {
      if constexpr (std::is_copy_constructible_v<F>) return std::make_unique<Holds>(f);
      else throw_not_copyable();
    }
    void visit(Visitor& visitor, const Path& path) override { nn::visit(f, visitor, path); }
    F f;
  };
  explicit Layer(std::unique_ptr<Held> held) : held_(std::move(held)) {}
  [[noreturn]] static void throw_not_copyable();
  /// Throws Error when the layer was moved away.
  Held& held() const;

  mutable std::unique_ptr<Held> held_;  // mutable: Sequential takes it out of its initializer_list
};

/// nn::Sequential{nn::Linear{784, 128}, relu, nn::Linear{128, 10}}: each layer gets the result of the one before. Names are "0.weight", "0.bias",
/// "2.weight", …
class Sequential {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<Layer> layers);

  Tensor operator()(Arg x);
  void visit(Visitor& visitor, const Path& path);

  void push_back(Layer layer) { layers_.push_back(std::move(layer)); }
  std::size_t size() const { return layers_.size(); }
  bool empty() const { return layers_.empty(); }
  Layer& operator[](std::size_t i) { return layers_[i]; }
  auto begin() { return layers_.begin(); }
  auto end() { return layers_.end(); }

 private:
  std::vector<Layer> layers_;
};

/// body(x) + shortcut(x) (He et al., 2016): nn::Residual{nn::Sequential{…}}, or with a projection instead of x itself,
/// nn::Residual{nn::Sequential{…}, nn::Conv2d{…}}.
class Residual {
 public:
  explicit Residual(Layer body, Layer shortcut = Identity{}) : body(std::move(body)), shortcut(std::move(shortcut)) {}
  Tensor operator()(Arg x);
  void visit(Visitor& visitor, const Path& path);

  Layer body;
  Layer shortcut;
};

}  // namespace tegula::nn
