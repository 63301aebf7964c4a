#include "tegula/ops/tile_jit.h"

#include "tegula/core/error.h"
#include "tegula/ops/kernel_gradient.h"

namespace tegula::tile::language {

std::vector<Tensor> with_gradient(const std::string& name, std::vector<Tensor> results, const Arguments& arguments,
                                  const TileGradientFunction& gradient, const Line& where) {
  const TileLaunch& launch = arguments.launch;
  return with_kernel_gradient(
      name, results, arguments.inputs,
      [gradient, launch, where](const std::vector<Tensor>& xs, const std::vector<Tensor>& ys, const std::vector<Tensor>& dys) {
        return gradient({xs, ys, dys, launch, where});
      },
      where);
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
