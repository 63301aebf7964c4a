#pragma once
// The losses and metrics of a Trainer, and the call of models with several inputs and outputs.

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/nn/call.h"
#include "tegula/ops/rows/loss.h"

namespace tegula {

/// A number for a batch: a mean over its rows. Made of a loss of the library, Loss(cross_entropy), or of a function of
///   (Tensor output, Tensor targets), (Tensor output, std::vector<Tensor> targets), or (std::vector<Tensor> outputs, std::vector<Tensor> targets),
/// where targets are the tensors of the batch behind the model's inputs.
class Loss {
 public:
  using Tensors = std::vector<Tensor>;

  Loss() = default;
  template <class Options>
  Loss(Tensor (*loss)(Arg, Arg, const Options&))
      : f_([loss](const Tensors& outputs, const Tensors& targets, const Line& where) {
          require_one(outputs, targets, where);
          return loss(Arg(outputs[0], where), Arg(targets[0], where), Options{});
        }),
        of_library_(true) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>
  Loss(F f)
      : f_([f = std::move(f)](const Tensors& outputs, const Tensors& targets, const Line& where) mutable -> Tensor {
          require_one(outputs, targets, where);
          return f(outputs[0], targets[0]);
        }) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensors&> &&
           !std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>)
  Loss(F f)
      : f_([f = std::move(f)](const Tensors& outputs, const Tensors& targets, const Line& where) mutable -> Tensor {
          require_one(outputs, {Tensor()}, where);
          return f(outputs[0], targets);
        }) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F&, const Tensors&, const Tensors&> &&
           !std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&> &&
           !std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensors&>)
  Loss(F f)
      : f_([f = std::move(f)](const Tensors& outputs, const Tensors& targets, const Line&) mutable -> Tensor {
          return f(outputs, targets);
        }) {}

  /// The compiler's message for a function that is no loss.
  template <class F>
  requires(std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); }) &&
          (!std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>) &&
          (!std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensors&>) &&
          (!std::is_invocable_r_v<Tensor, F&, const Tensors&, const Tensors&>) && (!std::is_same_v<F, Loss>)
  Loss(F) {
    static_assert(
        std::is_same_v<F, Loss>,
        "tegula: a loss is a function of two: Tensor (Tensor output, Tensor target), or with std::vector<Tensor> for several of them, and "
        "gives a Tensor");
  }

  /// The same of a name.
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view>
  Loss(const Text&) {
    static_assert(std::is_same_v<Text, Loss>,
                  "tegula: a loss is a function, not its name: cross_entropy, mse_loss, binary_cross_entropy_with_logits");
  }

  explicit operator bool() const { return static_cast<bool>(f_); }
  /// Throws Error at `where` when the function takes one output or target and there are others, and when the result is no number.
  Tensor operator()(const Tensors& outputs, const Tensors& targets, Line where = Line::current()) const;

 private:
  static void require_one(const Tensors& outputs, const Tensors& targets, const Line& where);
  std::function<Tensor(const Tensors&, const Tensors&, const Line&)> f_;
  bool of_library_ = false;  // its ops have the line `where`; those of a user's function their own
};

/// Something to measure beside the loss: {"mae", l1_loss}.
struct Metric {
  std::string name;
  Loss value;
};

/// A model as the functions of train/ call it: with the first tensors of a batch, as many as it takes.
struct Forward {
  std::size_t inputs = 1;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> call;
};

namespace train_detail {

template <std::size_t>
using TensorOf = const Tensor&;
template <class Model, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<Model&, TensorOf<I>...>;
}
[[noreturn]] void throw_inputs(std::size_t inputs, const Line& where);

}  // namespace train_detail

/// `inputs`: how many tensors of a batch the model gets; 0: as few as it takes. `where`: the user's line, which a layer of the library as the model names.
template <class Model>
Forward forward_of(Model& model, std::size_t inputs, const Line& where) {
  constexpr std::size_t kMost = 6;
  Forward out{inputs, {}};
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    const auto consider = [&]<std::size_t Count>(std::integral_constant<std::size_t, Count>) {
      if constexpr (train_detail::takes<Model>(std::make_index_sequence<Count>())) {
        if (out.call || (inputs != 0 && inputs != Count)) return;
        out.inputs = Count;
        out.call = [&model, where](const std::vector<Tensor>& x) {
          return nn::call_at(where, model, x, std::make_index_sequence<Count>());
        };
      }
    };
    (consider(std::integral_constant<std::size_t, N + 1>()), ...);
    static_assert((train_detail::takes<Model>(std::make_index_sequence<N + 1>()) || ...),
                  "tegula: the model must be callable with one to six Tensors: Tensor operator()(Tensor x)");
  }(std::make_index_sequence<kMost>());
  if (!out.call) train_detail::throw_inputs(inputs, where);
  return out;
}

}  // namespace tegula
