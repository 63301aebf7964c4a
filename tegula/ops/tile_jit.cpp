#include "tegula/ops/tile_jit.h"

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"

namespace tegula::tile::language {

std::vector<Tensor> with_gradient(const std::string& name, std::vector<Tensor> results, const Arguments& arguments,
                                  const TileGradientFunction& gradient, const Line& where) {
  // Each result is a function of its own to gradients: theirs add up.
  std::vector<Tensor> all = arguments.inputs, differentiable;
  all.insert(all.end(), results.begin(), results.end());
  const std::size_t inputs = arguments.inputs.size();
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!is_float(results[k].dtype())) {
      differentiable.push_back(results[k]);
      continue;
    }
    const auto part = [=](const std::vector<Tensor>& in) { return in[inputs + k]; };
    const auto vjp = [=, launch = arguments.launch](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
      const auto middle = in.begin() + static_cast<std::ptrdiff_t>(inputs);
      const std::vector<Tensor> xs(in.begin(), middle), ys(middle, in.end());
      std::vector<Tensor> dys;
      for (std::size_t i = 0; i < ys.size(); ++i) dys.push_back(i == k ? dy : zeros_like(ys[i]));
      std::vector<Tensor> parts = gradient({xs, ys, dys, launch, where});
      if (parts.size() != inputs) {
        throw Error({.op = name,
                     .got = std::to_string(parts.size()) + " gradients",
                     .expected = std::to_string(inputs) + ", one for each input",
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

TileGradientFunction gradient_by(std::string name, TileKernel kernel, Runner run, int pointers, int results) {
  return [=](const TileGradient& g) {
    const auto refuse = [&](const std::string& what, int got, const std::string& expected) {
      throw Error({.op = name, .got = std::to_string(got) + " " + what, .expected = expected, .where = g.where});
    };
    TileLaunch launch = g.launch;
    launch.outputs.clear();
    for (const Tensor& input : g.inputs)
      if (is_float(input.dtype())) launch.outputs.push_back({input.shape(), input.dtype(), 0});
    const int inputs = static_cast<int>(g.inputs.size()), given = static_cast<int>(g.results.size());
    const bool with_results = pointers == inputs + 2 * given;
    if (!with_results && pointers != inputs + given) {
      refuse("Ptr parameters of a gradient", pointers,
             std::to_string(inputs + given) + ": inputs and gradients of results; or " + std::to_string(inputs + 2 * given) +
                 ", with the results between");
    }
    if (results != static_cast<int>(launch.outputs.size()))
      refuse("Out parameters of a gradient", results, std::to_string(launch.outputs.size()) + ", one for each input of a float dtype");
    std::vector<Tensor> tensors = g.inputs;
    if (with_results) tensors.insert(tensors.end(), g.results.begin(), g.results.end());
    tensors.insert(tensors.end(), g.gradients.begin(), g.gradients.end());
    const std::vector<Tensor> parts =
        runs_at_once() ? run_at_once(name, run, tensors, launch, {}, g.where) : tile_kernel(name, kernel, tensors, launch, g.where);
    std::vector<Tensor> all;
    std::size_t k = 0;
    for (const Tensor& input : g.inputs) all.push_back(is_float(input.dtype()) ? parts[k++] : Tensor());
    return all;
  };
}

}  // namespace tegula::tile::language
