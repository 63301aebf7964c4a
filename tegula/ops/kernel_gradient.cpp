#include "tegula/ops/kernel_gradient.h"

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"

namespace tegula {

std::vector<Tensor> with_kernel_gradient(const std::string& name, const std::vector<Tensor>& results, const std::vector<Tensor>& inputs,
                                         const KernelGradient& gradient, const Line& where) {
  // Each result is a function of its own to gradients: theirs add up.
  std::vector<Tensor> all = inputs, differentiable;
  all.insert(all.end(), results.begin(), results.end());
  const std::size_t count = inputs.size();
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!is_float(results[k].dtype())) {
      differentiable.push_back(results[k]);
      continue;
    }
    const auto part = [=](const std::vector<Tensor>& in) { return in[count + k]; };
    const auto vjp = [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
      const auto middle = in.begin() + static_cast<std::ptrdiff_t>(count);
      const std::vector<Tensor> xs(in.begin(), middle), ys(middle, in.end());
      std::vector<Tensor> dys;
      for (std::size_t i = 0; i < ys.size(); ++i) dys.push_back(i == k ? dy : zeros_like(ys[i]));
      std::vector<Tensor> parts = gradient(xs, ys, dys);
      if (parts.size() != count) {
        throw Error({.op = name,
                     .got = std::to_string(parts.size()) + " gradients",
                     .expected = std::to_string(count) + ", one for each input",
                     .advice = "an empty Tensor means none flows",
                     .where = where});
      }
      parts.resize(in.size());
      return parts;
    };
    differentiable.push_back(custom_function(name, part, vjp, all, where));
  }
  return differentiable;
}

}  // namespace tegula
