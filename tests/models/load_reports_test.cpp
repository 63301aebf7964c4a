// Reports of load about files of every format: missing, unexpected, mismatched, renamed, transposed; nothing is half loaded.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tegula/io/gzip.h"
#include "tegula/io/npy.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"
#include "tests/models/gguf_writer.h"

namespace tegula {
namespace {

using testing::TemporaryFolder;
using Names = std::vector<std::string>;

std::vector<float> values_of(const Parameters& cells) {
  std::vector<float> all;
  for (const Parameter& one : cells)
    for (const float value : one.read().to_host()) all.push_back(value);
  return all;
}

/// The net throws for the state without a change, strict or not, with every name of the report in the message.
template <class Net>
void expect_nothing_loaded(Net& net, const StateDict& state, const LoadReport& report, const std::string& what) {
  const std::vector<float> before = values_of(nn::state(net));
  const std::string message = testing::message_of([&] { load(net, state); });
  for (const Names& names : {report.missing, report.unexpected, report.mismatched})
    for (const std::string& name : names) EXPECT_NE(message.find(name), std::string::npos) << what << ": " << message;
  EXPECT_ERROR(load(net, state, Strict::No), report.mismatched.at(0));
  EXPECT_EQ(values_of(nn::state(net)), before) << what;
}

struct Net {
  nn::Linear fc{3, 2};
  nn::LayerNorm norm{2};
};

/// A state that has nothing for fc.bias, another shape for fc.weight, an old name for norm.bias and a head that the net has not.
StateDict other_state() {
  return {{"fc.weight", ones({2, 4})}, {"norm.weight", ones({2})}, {"old.bias", ones({2})}, {"head.weight", ones({5, 2})}};
}

void write(const StateDict& state, const std::string& path) {
  if (path.ends_with(".npz")) {
    io::write_npz(path, to_arrays(state));
  } else if (path.ends_with(".gguf")) {
    testing::GgufWriter out;
    for (const auto& [name, value] : state) out.tensor(name, value);
    out.write(path);
  } else {
    save_state(state, path);
  }
}

class PlainFormats : public ::testing::TestWithParam<const char*> {};

TEST_P(PlainFormats, WhatDoesNotFitIsListed) {
  const TemporaryFolder folder;
  const std::string path = folder / (std::string("w.") + GetParam());
  write(other_state(), path);
  const StateDict state = renamed(load_state(path), {{"old.*", "norm.*"}});
  Net net;
  const LoadReport report = load_report(net, state);
  EXPECT_EQ(report.missing, Names{"fc.bias"});
  EXPECT_EQ(report.unexpected, Names{"head.weight"});
  EXPECT_EQ(report.mismatched, Names{"fc.weight (2, 4) for (2, 3)"});
  EXPECT_EQ(report.renamed, Names{"norm.bias from old.bias"});
  EXPECT_TRUE(report.transposed.empty());
  expect_nothing_loaded(net, state, report, path);
}

TEST_P(PlainFormats, AllIsFoundInAFileOfTheNet) {
  const TemporaryFolder folder;
  const std::string path = folder / (std::string("w.") + GetParam());
  Net from, to;
  write(state_dict(from), path);
  EXPECT_EQ(load(to, path).text(), "all names were found");
  EXPECT_EQ(values_of(nn::state(to)), values_of(nn::state(from)));
}

INSTANTIATE_TEST_SUITE_P(LoadReports, PlainFormats, ::testing::Values("safetensors", "pt", "pth", "npz", "gguf"));

/// The net of tests/golden/keras with another last layer, and one that the files have not.
struct OtherCnn {
  nn::Conv2d conv1{2, 3, 3};
  nn::BatchNorm2d bn{3};
  nn::Linear fc1{2 * 2 * 4, 5}, fc2{5, 4}, head{4, 2};
};

struct KerasForm {
  const char* name;  // in tests/golden/keras
  const char* path;  // as it is given to load_keras
  const char* kernel;  // the name of conv1's kernel in the file
};

void PrintTo(const KerasForm& form, std::ostream* out) { *out << form.path; }

class KerasFormats : public ::testing::TestWithParam<KerasForm> {};

TEST_P(KerasFormats, WhatDoesNotFitIsListed) {
  const TemporaryFolder folder;
  const std::string golden = source_folder() + "/tests/golden/keras/" + GetParam().name;
  if (io::is_folder(golden)) {
    std::filesystem::copy(golden, folder / GetParam().name, std::filesystem::copy_options::recursive);
  } else {
    io::write_atomically(folder / GetParam().name, io::gunzip(io::read_file(golden + ".gz"), golden));
  }
  const StateDict state = load_keras(folder / GetParam().path, {.flattened = {{"fc1", 4}}});
  OtherCnn net;
  const LoadReport report = load_report(net, state);
  EXPECT_EQ(report.missing, (Names{"head.weight", "head.bias"}));
  EXPECT_EQ(report.mismatched, (Names{"fc2.weight (3, 5) for (4, 5)", "fc2.bias (3,) for (4,)"}));
  Names unexpected = report.unexpected;
  std::ranges::sort(unexpected);
  EXPECT_EQ(unexpected, (Names{"conv2.bias", "conv2.weight"}));
  EXPECT_EQ(report.transposed.size(), 3u);
  EXPECT_EQ(report.transposed.at(0), "conv1.weight (H, W, in, out) to (out, in, H, W)");
  EXPECT_EQ(report.renamed.at(0), std::string("conv1.weight from ") + GetParam().kernel);
  expect_nothing_loaded(net, state, report, GetParam().path);
  EXPECT_ERROR(load(net, folder / "nothing.keras"), "load: got " + (folder / "nothing.keras") + ": No such file or directory");
}

constexpr const char* kSaved = "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE";
INSTANTIATE_TEST_SUITE_P(LoadReports, KerasFormats,
                         ::testing::Values(KerasForm{"cnn3.h5", "cnn3.h5", "model_weights/conv1/cnn/conv1/kernel"},
                                           KerasForm{"cnn3.keras", "cnn3.keras", "layers/conv2d/vars/0"},
                                           KerasForm{"cnn3.weights.h5", "cnn3.weights.h5", "layers/conv2d/vars/0"},
                                           KerasForm{"cnn2_saved", "cnn2_saved", kSaved},
                                           KerasForm{"cnn3_saved", "cnn3_saved", "_all_variables/4/.ATTRIBUTES/VARIABLE_VALUE"},
                                           KerasForm{"cnn2_saved", "cnn2_saved/variables/variables.index", kSaved},
                                           KerasForm{"cnn2_saved", "cnn2_saved/variables/variables", kSaved}));

TEST(LoadReports, AFileThatIsNotThereIsNamedByNoFormat) {
  Net net;
  for (const char* name : {"gone.pt", "gone.h5", "gone.safetensors", "gone.gguf", "gone"})
    EXPECT_ERROR(load(net, name), std::string("load: got ") + name + ": No such file or directory");
}

}  // namespace
}  // namespace tegula
