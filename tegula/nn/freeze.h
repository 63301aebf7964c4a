#pragma once
// Parts of a network that training leaves as they are: freeze(net.features), freeze(net, "features.*").

#include <cstdint>
#include <string_view>

#include "tegula/nn/module.h"

namespace tegula {

namespace nn::detail {
/// True if the pattern matches the name, or a module that contains it; the empty pattern matches all.
bool fits_within(std::string_view name, std::string_view pattern);
std::int64_t set_frozen(const AnyModule& module, std::string_view pattern, bool frozen, const Line& where);
}  // namespace nn::detail

/// From now on training does not change the module, whoever has its parameters: their gradients (grad with respect to parameters(net)) are zeros that nothing
/// is computed for, optimisers neither update them nor their moments, and BatchNorm normalises by its running statistics, which stay, as in evaluation. Dropout goes on.
/// A jit-ed function is traced once more for each set of frozen parameters. Returns how many parameters it found. In a trace it is an error.
/// Keras: layer.trainable = False; PyTorch: requires_grad_(False), and eval() of its norms.
template <nn::Module T>
std::int64_t freeze(T& module, Line where = Line::current()) {
  return nn::detail::set_frozen(module, "", true, where);
}
/// The same for parameters that match `pattern`: names as parameters(net) has them, "features.0.weight", where * stands for anything and ? for a character; the name of a
/// module is everything within it. Throws Error when nothing matches.
template <nn::Module T>
std::int64_t freeze(T& module, std::string_view pattern, Line where = Line::current()) {
  return nn::detail::set_frozen(module, pattern, true, where);
}

/// Trains again what freeze() stopped. Moments go on from where they were.
template <nn::Module T>
std::int64_t unfreeze(T& module, Line where = Line::current()) {
  return nn::detail::set_frozen(module, "", false, where);
}
template <nn::Module T>
std::int64_t unfreeze(T& module, std::string_view pattern, Line where = Line::current()) {
  return nn::detail::set_frozen(module, pattern, false, where);
}

/// The parameters that are not frozen, for an optimiser that needs no moments of the others: optim::Adam adam(trainable(parameters(net))).
Parameters trainable(const Parameters& parameters);

}  // namespace tegula
