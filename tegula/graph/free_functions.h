#pragma once
// PyTorch's tensor methods that are free functions here. The methods below cannot be called: the compiler's message names
// the function to use.

#include <cstdint>
#include <initializer_list>

namespace tegula {

class Tensor;

namespace detail {
template <class...>
inline constexpr bool kIsMethod = false;
}

/// An empty base of Tensor and Variable.
class FreeFunctions {
 public:
  template <class T = Tensor, class I>
  T operator[](const I&) const {
    static_assert(
        detail::kIsMethod<T, I>,
        "tegula: tensors have no [ ]: write select(x, axis, index), or slice(x, axis, {begin, end}); x.to_host()[i] for a number");
    return T();
  }
#define TEGULA_IS_FREE(method, instead)                                                                                       \
  template <class T = Tensor, class... A>                                                                                     \
  T method(const A&...) const {                                                                                               \
    static_assert(detail::kIsMethod<T, A...>, "tegula: ops are free functions, tensors have no such method: write " instead); \
    return T();                                                                                                               \
  }                                                                                                                           \
  template <class T = Tensor, class... A>                                                                                     \
  T method(std::initializer_list<std::int64_t>, const A&...) const {                                                          \
    static_assert(detail::kIsMethod<T, A...>, "tegula: ops are free functions, tensors have no such method: write " instead); \
    return T();                                                                                                               \
  }
  // clang-format off: one method a line
  TEGULA_IS_FREE(backward, "auto gradients = grad(loss, parameters(net)); gradients are values, and an optimiser's step takes them")
  TEGULA_IS_FREE(detach, "stop_gradient(x)")
  TEGULA_IS_FREE(requires_grad_, "grad(y, x): every tensor may be asked about")
  TEGULA_IS_FREE(to, "cast(x, f64); tensors follow set_default_device(cuda())")
  TEGULA_IS_FREE(cuda, "set_default_device(cuda()), once: tensors follow")
  TEGULA_IS_FREE(cpu, "set_default_device(cpu()), once: tensors follow; x.to_host() copies")
  TEGULA_IS_FREE(numpy, "x.to_array() or x.to_host()")
  TEGULA_IS_FREE(tolist, "x.to_host()")
  TEGULA_IS_FREE(clone, "y = x: tensors never change")
  TEGULA_IS_FREE(contiguous, "x itself: strides are no concern of yours")
  TEGULA_IS_FREE(dim, "x.rank()")
  TEGULA_IS_FREE(view, "reshape(x, {2, -1})")
  TEGULA_IS_FREE(reshape, "reshape(x, {2, -1})")
  TEGULA_IS_FREE(flatten, "flatten(x, 1)")
  TEGULA_IS_FREE(squeeze, "squeeze(x, 1)")
  TEGULA_IS_FREE(unsqueeze, "unsqueeze(x, 0)")
  TEGULA_IS_FREE(permute, "permute(x, {2, 0, 1})")
  TEGULA_IS_FREE(transpose, "transpose(x, 0, 1)")
  TEGULA_IS_FREE(t, "transpose(x)")
  TEGULA_IS_FREE(expand, "expand(x, {3, 4})")
  TEGULA_IS_FREE(repeat, "repeat(x, {2, 1})")
  TEGULA_IS_FREE(sum, "sum(x, 1)")
  TEGULA_IS_FREE(mean, "mean(x, 1)")
  TEGULA_IS_FREE(max, "max(x, 1)")
  TEGULA_IS_FREE(min, "min(x, 1)")
  TEGULA_IS_FREE(argmax, "argmax(x, 1)")
  TEGULA_IS_FREE(norm, "norm(x)")
  TEGULA_IS_FREE(var, "var(x, 1)")
  TEGULA_IS_FREE(softmax, "softmax(x, 1)")
  TEGULA_IS_FREE(matmul, "matmul(x, y)")
  TEGULA_IS_FREE(relu, "relu(x)")
  TEGULA_IS_FREE(sigmoid, "sigmoid(x)")
  TEGULA_IS_FREE(tanh, "tanh(x)")
  TEGULA_IS_FREE(exp, "exp(x)")
  TEGULA_IS_FREE(log, "log(x)")
  TEGULA_IS_FREE(sqrt, "sqrt(x)")
  TEGULA_IS_FREE(abs, "abs(x)")
  TEGULA_IS_FREE(pow, "pow(x, 2)")
  TEGULA_IS_FREE(clamp, "clamp(x, -1, 1)")
  // clang-format on
#undef TEGULA_IS_FREE
};

}  // namespace tegula
