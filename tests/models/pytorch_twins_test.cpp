// DLRM, NeuMF and WaveNet before and after a step of training, for scripts/differential_recommendation.py, which does the same in PyTorch.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tegula/io/npy.h"
#include "tegula/models.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

namespace fs = std::filesystem;

/// A folder with before.pt, the inputs as x0.npy …, labels.npy, scores.npy, loss.npy, and after.pt behind a step of plain SGD with a rate of 0.5.
template <class Net, class Scores, class Loss>
void write(const fs::path& place, Net net, const Scores& scores_of, const std::vector<Tensor>& x, const Tensor& labels,
           const Loss& loss_of) {
  fs::create_directories(place);
  save(net, place / "before.pt");
  for (std::size_t i = 0; i < x.size(); ++i) io::write_npy(place / ("x" + std::to_string(i) + ".npy"), x[i].to_array());
  io::write_npy(place / "labels.npy", labels.to_array());
  const Tensor scores = scores_of(net, x), loss = loss_of(scores, labels);
  io::write_npy(place / "scores.npy", scores.to_array());
  io::write_npy(place / "loss.npy", loss.to_array());
  optim::SGD sgd(parameters(net), {.lr = 0.5});
  sgd.step(grad(loss, parameters(net)));
  save(net, place / "after.pt");
}

TEST(PyTorchTwins, OfAFolderAreWritten) {
  const char* const folder = std::getenv("TEGULA_TWINS");
  if (!folder) GTEST_SKIP() << "skipped: no TEGULA_TWINS";
  manual_seed(11);
  const auto binary = [](const Tensor& scores, const Tensor& labels) { return binary_cross_entropy_with_logits(scores, labels); };
  const auto labels = [](std::int64_t n) { return cast(randint(0, 2, {n}), f32); };
  const auto write_here = [&](const char* name, auto net, const auto& scores, std::vector<Tensor> x, const Tensor& y, const auto& loss) {
    eval(x);
    eval(y);
    write(fs::path(folder) / name, std::move(net), scores, x, y, loss);
  };
  const auto of_two = [](auto& net, const std::vector<Tensor>& x) { return net(x[0], x[1]); };
  const auto of_one = [](auto& net, const std::vector<Tensor>& x) { return net(x[0]); };
  write_here("dlrm", models::Dlrm({.dense = 13, .tables = {50, 7, 300}, .width = 16, .bottom = {64, 32}, .top = {64, 32}}), of_two,
             {normal({128, 13}), randint(0, 7, {128, 3})}, labels(128), binary);
  write_here("neumf", models::NeuMf({.users = 100, .items = 60}), of_two, {randint(0, 100, {256}), randint(0, 60, {256})}, labels(256),
             binary);
  write_here("wavenet", models::WaveNet({.classes = 32, .layers = 5, .stacks = 2, .width = 16, .skip = 24}), of_one,
             {randint(0, 32, {3, 100})}, randint(0, 32, {3, 100}), [](const Tensor& scores, const Tensor& classes) {
               return cross_entropy(reshape(permute(scores, {0, 2, 1}), {-1, 32}), reshape(classes, {-1}));
             });
}

}  // namespace
}  // namespace tegula
