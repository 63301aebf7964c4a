#include <gtest/gtest.h>

#include <tegula/tegula.h>

#include "tests/io/files.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

struct Net {
  nn::Linear fc{2, 3};
  nn::BatchNorm1d norm{3};
};

std::vector<float> all_values(const Net& net) {
  std::vector<float> values;
  for (const auto& [name, value] : state_dict(net))
    for (float number : value.to_host()) values.push_back(number);
  return values;
}

TEST(State, AFileRestoresEverything) {
  Net net, other;
  net.norm(net.fc(ones({4, 2})) * tensor({1.F, 2.F, 3.F, 4.F}, {4, 1}));
  save(net, "net.safetensors");
  EXPECT_NE(all_values(net), all_values(other));
  const LoadReport report = load(other, "net.safetensors");
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  EXPECT_EQ(all_values(net), all_values(other));
}

TEST(State, AFileHoldsWhatBelongsToTheNet) {
  Net net, other;
  const io::Metadata metadata{{"classes", io::list_text({"cat", "dog"})}, {"trained by", "Ada"}};
  save(net, "annotated.safetensors", metadata);
  EXPECT_EQ(load_metadata("annotated.safetensors"), metadata);
  EXPECT_EQ(io::listed_texts(load_metadata("annotated.safetensors"), "classes"), (std::vector<std::string>{"cat", "dog"}));
  load(other, "annotated.safetensors");
  EXPECT_EQ(all_values(net), all_values(other));
  EXPECT_THROW(io::listed_texts(metadata, "kinds"), Error);
  EXPECT_THROW(io::listed_texts(metadata, "trained by"), Error);
  save(net, "plain.safetensors");
  EXPECT_TRUE(load_metadata("plain.safetensors").empty());
}

TEST(State, AFileForPyTorchRestoresEverything) {
  Net net, other;
  net.norm(net.fc(ones({4, 2})) * tensor({1.F, 2.F, 3.F, 4.F}, {4, 1}));
  save(net, "net.pt");
  load(other, "net.pt");
  EXPECT_EQ(all_values(net), all_values(other));
  EXPECT_ERROR(save(net, "net.pth", {{"unit", "m"}}), "net.pth with texts, expected a .safetensors file");
}

TEST(State, OtherNamesByRules) {
  const StateDict state{{"module.fc.gamma", ones({1})}, {"module.fc.beta", ones({2})}, {"head", ones({3})}};
  const auto names = [&](const std::vector<std::pair<std::string, std::string>>& rules) {
    std::string all;
    for (const NamedTensor& entry : renamed(state, rules)) all += entry.name + " ";
    return all;
  };
  EXPECT_EQ(names({{"module.*", "*"}, {"*.gamma", "*.weight"}, {"fc.beta", "fc.bias"}}), "fc.weight fc.bias head ");
  EXPECT_EQ(names({{"head", "tail"}}), "module.fc.gamma module.fc.beta tail ");
  EXPECT_ERROR(names({{"modul.*", "*"}}), "\"modul.*\", which no name in the state fits");
  EXPECT_ERROR(names({{"module.fc.gamma", "head"}}), "which both become \"head\"");
  EXPECT_ERROR(names({{"*.*", "*"}}), "at most one * in each");
}

TEST(State, ASnapshotDoesNotChange) {
  Net net;
  net.fc.bias = 1.0;
  const StateDict before = state_dict(net);
  net.fc.bias = 2.0;
  load(net, before);
  expect_close(net.fc.bias, {1, 1, 1}, 2e-6);
}

TEST(State, OtherFloatsAreConverted) {
  Net net;
  load(net, {{"fc.bias", tensor({1.5, 2.5, 3.5})}}, Strict::No);
  EXPECT_EQ(net.fc.bias.dtype(), f32);
  expect_close(net.fc.bias, {1.5, 2.5, 3.5}, 2e-6);
}

TEST(State, NothingChangesWhenSomethingDoesNotFit) {
  Net net;
  const std::vector<float> before = all_values(net);
  StateDict state = state_dict(net);
  state[0].value = ones({3, 2});
  state[1].value = ones({4});
  EXPECT_THROW(load(net, state), Error);
  EXPECT_THROW(load(net, state, Strict::No), Error);
  state.pop_back();
  EXPECT_THROW(load(net, state), Error);
  EXPECT_EQ(all_values(net), before);
}

TEST(State, NotStrictReportsWhatDidNotMatch) {
  Net net;
  const LoadReport report = load(net, {{"fc.bias", ones({3})}, {"head.bias", ones({3})}}, Strict::No);
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"head.bias"}));
  EXPECT_EQ(report.missing.size(), 6U);
  EXPECT_EQ(report.missing[0], "fc.weight");
  expect_close(net.fc.bias, {1, 1, 1}, 2e-6);
}

TEST(State, WithoutLeavesOutWhatThePatternsFit) {
  const StateDict state{{"conv.weight", ones({1})}, {"fc.weight", ones({2})}, {"fc.bias", ones({3})}, {"fc2.bias", ones({4})}};
  const auto names = [&](const std::vector<std::string>& patterns) {
    std::string all;
    for (const NamedTensor& entry : without(state, patterns)) all += entry.name + " ";
    return all;
  };
  EXPECT_EQ(names({"fc"}), "conv.weight fc2.bias ");  // a module is all within it
  EXPECT_EQ(names({"fc*.bias", "conv.*"}), "fc.weight ");
  EXPECT_EQ(names({}), "conv.weight fc.weight fc.bias fc2.bias ");
  EXPECT_ERROR(without(state, {"fc", "head.*"}), "\"head.*\", which no name in the state fits");
  EXPECT_ERROR(without(state, {""}), "\"\", which no name");
}

TEST(State, AReportOfLoadingIsReadable) {
  EXPECT_EQ(LoadReport{}.text(), "all names were found");
  EXPECT_EQ((LoadReport{.missing = {"a", "b"}, .unexpected = {"c"}}.text()), "missing: a, b; unexpected: c");
  EXPECT_EQ((LoadReport{.missing = {}, .unexpected = {"c"}}.text()), "unexpected: c");
}

TEST(State, AListOfParametersIsAState) {
  Net net;
  auto adam = optim::Adam(parameters(net));
  const StateDict state = state_dict(adam.state());
  EXPECT_EQ(state[0].name, "lr");
  load(adam.state(), state);
}

TEST(State, AReportSaysWhatLoadWouldFind) {
  Net net;
  const std::vector<float> before = all_values(net);
  StateDict state = state_dict(Net());
  state[0].value = zeros({2, 2});  // fc.weight
  state.erase(state.begin() + 1);  // fc.bias
  state.push_back({"head.weight", ones({1})});
  state.push_back({.name = "norm.scale", .value = ones({3})});
  StateDict other = renamed(without(state, {"norm.weight"}), {{"norm.scale", "norm.weight"}});
  other.back().change = "(C) to (C)";
  const LoadReport report = load_report(net, other);
  EXPECT_EQ(report.mismatched, std::vector<std::string>{"fc.weight (2, 2) for (3, 2)"});
  EXPECT_EQ(report.missing, std::vector<std::string>{"fc.bias"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"head.weight"});
  EXPECT_EQ(report.renamed, std::vector<std::string>{"norm.weight from norm.scale"});
  EXPECT_EQ(report.transposed, std::vector<std::string>{"norm.weight (C) to (C)"});
  EXPECT_EQ(report.text(),
            "missing: fc.bias; unexpected: head.weight; other shapes: fc.weight (2, 2) for (3, 2); renamed: norm.weight from norm.scale; "
            "transposed: norm.weight (C) to (C)");
  // Another shape is no matter of strictness, and nothing is half loaded.
  EXPECT_ERROR(load(net, other, Strict::No), "fc.weight (2, 2) for (3, 2)");
  EXPECT_EQ(all_values(net), before);
  EXPECT_EQ(load_report(net, state_dict(net)).text(), "all names were found");
}

}  // namespace
}  // namespace tegula
