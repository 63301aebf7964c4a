// Nets of PyTorch, trained further: gradients and a step for scripts/differential_onnx_gradients.py, which compares them with PyTorch's.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tegula/io/npy.h"
#include "tegula/onnx.h"
#include "tegula/tegula.h"

namespace tegula::testing {
namespace {

namespace fs = std::filesystem;

/// Each folder has model.onnx, input0.npy … and seed.npy, of the shape of the first result. Written are output.npy, gradients.safetensors by parameter, and loss.npy: the
/// sum of the result times the seed before and after a step of gradient descent with the rate in rate.npy.
TEST(OnnxGradients, OfTheModelsOfAFolderAreWritten) {
  const char* folder = std::getenv("TEGULA_ONNX_GRADIENTS");
  if (!folder) GTEST_SKIP() << "skipped: no TEGULA_ONNX_GRADIENTS";
  const auto read = [](const fs::path& path) { return from_array(io::read_npy(path.string())); };
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& place = entry.path();
    onnx::Model model = onnx::load(place / "model.onnx");
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; fs::exists(place / ("input" + std::to_string(i) + ".npy")); ++i)
      inputs.push_back(read(place / ("input" + std::to_string(i) + ".npy")));
    const Tensor seed = read(place / "seed.npy"), rate = read(place / "rate.npy");
    const auto loss = [&] { return sum(model(inputs)[0] * seed); };
    const Parameters all = parameters(model);
    const Tensor before = loss();
    const std::vector<Tensor> gradients = grad(before, all);
    io::write_npy(place / "output.npy", model(inputs)[0].to_array());
    StateDict state;
    for (std::size_t i = 0; i < all.size(); ++i) state.push_back({all[i].name, gradients[i]});
    save_state(state, place / "gradients.safetensors");
    const float first = before.item<float>();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].assign(all[i].read() - gradients[i] * rate);
    io::write_npy(place / "loss.npy", tensor({first, loss().item<float>()}).to_array());
    std::printf("%s: %zu parameters\n", place.filename().c_str(), all.size());
  }
}

}  // namespace
}  // namespace tegula::testing
