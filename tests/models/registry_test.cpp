#include "tegula/models/registry.h"

#include <gtest/gtest.h>

#include "tegula/graph/evaluate.h"
#include "tegula/nn/module.h"
#include "tegula/ops/creation.h"
#include "tests/io/files.h"

namespace tegula::models {
namespace {

using tegula::testing::TemporaryFolder;

TEST(Models, MapImagesToScoresWithAllTheirOptions) {
  for (const Entry& entry : all()) {
    for (const bool batch_norm : {false, true}) {
      for (const double dropout : {0.0, 0.5}) {
        Model model = make(entry.name, {.classes = 7, .dropout = dropout, .batch_norm = batch_norm});
        Shape shape = model.input;
        shape.insert(0, 3);
        EXPECT_EQ(model.net(ones(shape)).shape(), (Shape{3, 7})) << entry.name;
        eval(model.net);
        EXPECT_EQ(model.net(ones(shape)).to_host().size(), 21u);
      }
    }
  }
}

TEST(Models, HaveTheSizesOfTheirSources) {
  EXPECT_EQ(num_parameters(make("mnist-mlp").net), 784 * 128 + 128 + 128 * 10 + 10);
  EXPECT_EQ(num_parameters(make("mnist-cnn").net),
            (9 * 12 + 12) + (36 * 12 * 24 + 24) + (36 * 24 * 32 + 32) + (1568 * 200 + 200) + (200 * 10 + 10));
  EXPECT_EQ(num_parameters(make("lenet5").net), 61706);
}

TEST(Models, AreNamedAsInPyTorch) {
  std::vector<std::string> names;
  for (const auto& p : parameters(make("mnist-mlp").net)) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.weight", "hidden.bias", "head.weight", "head.bias"}));
}

TEST(Models, ComeBackFromAFile) {
  const TemporaryFolder folder;
  Model model = make("lenet5", {.classes = 4, .dropout = 0.25, .batch_norm = true});
  save(folder / "model", model);
  Model loaded = load(folder / "model");
  EXPECT_EQ(loaded.name, "lenet5");
  EXPECT_EQ(loaded.options.classes, 4);
  EXPECT_EQ(loaded.options.dropout, 0.25);
  EXPECT_TRUE(loaded.options.batch_norm);
  eval(model.net);
  eval(loaded.net);
  const Tensor x = ones({2, 1, 28, 28});
  EXPECT_EQ(loaded.net(x).to_host(), model.net(x).to_host());
}

TEST(Models, RefuseWhatTheyDoNotKnow) {
  const TemporaryFolder folder;
  EXPECT_ERROR(make("resnet"), "the name \"resnet\", expected one of mnist-mlp, mnist-cnn, lenet5");
  EXPECT_ERROR(make("mnist-mlp", {.dropout = 1}), "dropout 1");
  EXPECT_ERROR(load(folder / "nothing"), "nothing");
  io::write_safetensors(folder / "other", {}, {});
  EXPECT_ERROR(load(folder / "other"), "no entry tegula.model");
  io::write_safetensors(folder / "other", {}, {{"tegula.model", "mnist-mlp"}, {"tegula.classes", "ten"}});
  EXPECT_ERROR(load(folder / "other"), "tegula.classes \"ten\", expected a number");
  for (const char* classes : {"nan", "10.5", "-1", "1e300", "inf"}) {
    io::write_safetensors(folder / "other", {}, {{"tegula.model", "mnist-mlp"}, {"tegula.classes", classes}});
    EXPECT_ERROR(load(folder / "other"), "expected a whole number from 0 to 1e+06");
  }
}

}  // namespace
}  // namespace tegula::models
