// Six nets of full size with random weights, for scripts/differential_models.py, which runs them in onnxruntime and PyTorch.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tegula/io/npy.h"
#include "tegula/models.h"
#include "tegula/models/text/bert.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/onnx.h"
#include "tegula/tegula.h"

namespace tegula::testing {
namespace {

namespace fs = std::filesystem;

/// Statistics as after a training, and no parameters of zeros: those of a new net hide what they are used for.
void fill(const Parameters& state) {
  for (const Parameter& one : state) {
    if (one.name.ends_with("num_batches_tracked")) continue;
    const Shape shape = one.whole_shape();
    if (one.name.ends_with("running_mean")) one.assign(normal(shape) * 0.1);
    else if (one.name.ends_with("running_var")) one.assign(uniform(shape) + 0.5);
    else if (max(abs(one.read())).item() == 0) one.assign(normal(shape) * 0.02);
  }
}

/// Calls f(name, net, argument) for each net in turn.
template <class F>
void each_net(const F& f) {
  const Tensor tokens = randint(0, 30000, {2, 24});
  f("ResNet-50", models::ResNet50{}, normal({2, 3, 96, 96}));
  f("MobileNetV2", models::MobileNetV2{}, normal({2, 3, 96, 96}));
  f("ViT-B16", models::VisionTransformer{}, normal({1, 3, 224, 224}));
  f("BERT-base", models::Bert{{.dropout = 0}, models::Bert::Pooling::No}, tokens);
  f("GPT-2", models::Gpt2{}, tokens);
  f("U-Net", models::UNet{.width = 32, .depth = 3}, normal({1, 3, 64, 64}));
}

/// Each net gets a folder with model.onnx, model.pt, input.npy and output.npy. If PyTorch wrote a back.pt there, it is read into a new net, whose answer
/// becomes back.npy.
TEST(OnnxWholeModels, OfAFolderAreWrittenAndReadBack) {
  const char* const folder = std::getenv("TEGULA_WHOLE_MODELS");
  if (!folder) GTEST_SKIP() << "skipped: no TEGULA_WHOLE_MODELS";
  manual_seed(7);
  each_net([&](const std::string& name, auto net, const Tensor& x) {
    const fs::path place = fs::path(folder) / name;
    eval(net);
    if (fs::exists(place / "back.pt")) {
      const StateDict state = load_state(place / "back.pt");
      const LoadReport report = load(net, name == "GPT-2" ? models::gpt2_state(state) : state);
      std::printf("%s: %zu names were others\n", name.c_str(), report.renamed.size());
      io::write_npy(place / "back.npy", net(from_array(io::read_npy(place / "input.npy"))).to_array());
      return;
    }
    fs::create_directories(place);
    fill(nn::state(net));
    onnx::save((place / "model.onnx").string(), {.names = nn::state(net)}, [&](const Tensor& in) { return net(in); }, x);
    save(net, place / "model.pt");
    io::write_npy(place / "input.npy", x.to_array());
    io::write_npy(place / "output.npy", net(x).to_array());
  });
}

}  // namespace
}  // namespace tegula::testing
